package config

import (
	"crypto/rand"
	"errors"
	"strings"

	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/redact"
	"github.com/mcptap/mcptap/tap/text"
	"github.com/mcptap/mcptap/wrap"
)

// jsonServer is a server in `wrap --list --json`. The names are stable.
type jsonServer struct {
	V       int    `json:"v"`
	Type    string `json:"type"` // "server"
	Name    string `json:"name"`
	Client  string `json:"client,omitempty"`
	Path    string `json:"path"`
	Section string `json:"section"`
	Kind    string `json:"kind"` // stdio, url or other
	Wrapped bool   `json:"wrapped"`
	// Command starts the server, and URL is its address; both without the tap.
	Command []string `json:"command,omitempty"`
	URL     string   `json:"url,omitempty"`
	Tap     string   `json:"tap,omitempty"`
	Problem string   `json:"problem,omitempty"`
}

// List prints the servers of files, as a table or as JSON, with pseudonyms for the secrets in their
// arguments and URLs. It reports unreadable files, and the absence of servers, with say.
func List(l *term.Printer, files []File, asJSON bool, say func(string)) error {
	cols := []term.Column{
		{Title: "SERVER", Least: 10},
		{Title: "STATE"},
		{Title: "CLIENT", Least: 8},
		{Title: "RUNS", Least: 16, Rank: 1},
		{Title: "FILE", Least: 16, Rank: 2},
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	secrets := redact.New(redact.Options{Key: key})
	var rows [][]term.Cell
	for _, c := range files {
		if c.Err != nil {
			say(c.Err.Error())
			continue
		}
		for _, e := range c.Entries() {
			e.Command = secrets.Args(e.Command)
			if e.URL != "" {
				e.URL = secrets.Args([]string{e.URL})[0]
			}
			if asJSON {
				l.Err = errors.Join(l.Err, term.WriteJSON(l.W, newJSONServer(&c, &e)))
			}
			rows = append(rows, serverRow(&c, &e))
		}
	}
	switch {
	case asJSON:
	case len(rows) == 0:
		say("no servers found in the configuration of any client")
	default:
		l.Table(cols, rows)
	}
	return l.Err
}

func newJSONServer(c *File, e *wrap.Entry) jsonServer {
	return jsonServer{
		V: text.Version, Type: "server", Name: e.Name, Client: c.Place.Client, Path: c.Place.Path, Section: e.Section,
		Kind: e.Kind.String(), Wrapped: e.Wrapped, Command: e.Command, URL: e.URL, Tap: e.Tap, Problem: e.Problem,
	}
}

func serverRow(c *File, e *wrap.Entry) []term.Cell {
	state := term.Cell{Text: "-", Style: term.Dim}
	switch {
	case e.Wrapped:
		state = term.Cell{Text: "wrapped", Style: term.Green}
	case e.Problem != "":
		state = term.Cell{Text: "no", Style: term.Red}
	}
	runs := e.URL
	switch {
	case e.Kind == wrap.Stdio:
		runs = strings.Join(e.Command, " ")
	case e.Kind == wrap.Other:
		runs = e.Problem
	}
	client := c.Place.Title
	if project, ok := strings.CutPrefix(e.Section, "projects/"); ok {
		client += ", " + strings.TrimSuffix(project, "/mcpServers")
	}
	return []term.Cell{{Text: escape.String(e.Name), Style: term.Bold}, state, {Text: escape.String(client), Style: term.Plain}, {Text: escape.String(runs), Style: term.Plain}, {Text: escape.String(c.Place.Path), Style: term.Dim}}
}
