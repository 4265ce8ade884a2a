package client

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
)

// A ReachError says that nothing was played: there is no server at the URL, or none
// that opens a session.
type ReachError struct {
	// Status is that of the response to the first message, zero where none came from
	// the server, and Location what it points to.
	Status   int
	Location string
	// Err says in words what happened. It may hold what the server sent, as it is.
	Err error
}

// Error implements error.
func (e *ReachError) Error() string { return e.Err.Error() }

// Unwrap returns what happened.
func (e *ReachError) Unwrap() error { return e.Err }

// A refused is a response of HTTP that brings no message to who asked for one.
type refused struct {
	status   int
	location string
	text     string
}

func (e *refused) Error() string { return e.text }

// refusal is the error for a response that is none to the message. Words say what is
// wrong with it, "" for its status alone.
func refusal(res *http.Response, words string, body []byte) error {
	const most = 200
	text := "HTTP " + res.Status
	if words != "" {
		text += " " + words
	}
	if said := strings.TrimSpace(string(body[:min(len(body), most)])); said != "" {
		text += ": " + said
	}
	return &refused{res.StatusCode, res.Header.Get("Location"), text}
}

// An unreachable is the news of the tap in front of the server that it could not
// reach it.
type unreachable struct{ text string }

func (e *unreachable) Error() string { return e.text }

// ownAnswer returns what the tap says of a server that it could not reach, nil for
// any other response, whose body is as it was.
func ownAnswer(res *http.Response) error {
	if res.StatusCode != http.StatusBadGateway {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	text, own := strings.CutPrefix(strings.TrimSpace(string(said)), "mcptap: ")
	if own && strings.Contains(text, " could not be reached: ") {
		return &unreachable{text}
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(said), res.Body), res.Body}
	return nil
}

// asReachError turns what kept a connection from being opened into a [ReachError],
// if it is about the server.
func asReachError(err error) error {
	var no *refused
	var none *unreachable
	switch {
	case errors.As(err, &no):
		return &ReachError{Status: no.status, Location: no.location, Err: err}
	case errors.As(err, &none):
		return &ReachError{Err: err}
	}
	return err
}
