package record

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// A kept is a recorder that keeps what it is given, as one text.
type kept struct {
	mu  sync.Mutex
	all strings.Builder
}

func (k *kept) add(s string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all.WriteString(s)
}

// Chunk implements [tap.Recorder].
func (k *kept) Chunk(_ tap.Lane, p []byte) { k.add(string(p)) }

// Piece implements [tap.Recorder].
func (k *kept) Piece(_ uint64, _ tap.Lane, _ tap.Form, p []byte, _ bool) { k.add(string(p)) }

// Event implements [tap.Recorder].
func (k *kept) Event(_ uint64, e tap.Event) { k.add(string(e.Encode())) }

// The Masker does not see the fields that the tap adds itself, so it never forgets their
// values, however many others it learns.
func TestKnownFieldsAreNotForgotten(t *testing.T) {
	var got kept
	m := NewMasker([]byte("a key"), [][2]string{{"Authorization", "Bearer s3cret-of-the-tap"}}, &got)
	for i := range 1000 {
		m.Event(1, tap.Event{Name: tap.EventResponse, Header: [][2]string{{"Set-Cookie", fmt.Sprintf("id=c00kie-%d", i)}}})
	}
	m.Piece(2, tap.ToClient, tap.FormBody, []byte("bad token s3cret-of-the-tap, bad id c00kie-999"), true)
	if s := got.all.String(); strings.Contains(s, "s3cret-of-the-tap") || strings.Contains(s, "c00kie-999") {
		t.Errorf("recorded: %s", s[strings.LastIndex(s, "}"):])
	}
}

// A body that may hold tokens is not recorded if none of it can be decoded.
func TestUndecodedFromTheStart(t *testing.T) {
	var got kept
	m := NewMasker([]byte("a key"), nil, &got)
	m.Event(1, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/token"})
	m.Event(1, tap.Event{Name: tap.EventResponse, Header: [][2]string{{"Content-Type", "application/json"}, {"Content-Encoding", "gzip"}}})
	m.Piece(1, tap.ToClient, tap.FormBytes, []byte(`{"access_token":"s3cret"}`), true)
	m.Event(1, tap.Event{Name: tap.EventEnd})
	if s := got.all.String(); strings.Contains(s, "s3cret") || !strings.Contains(s, "not recorded") {
		t.Errorf("recorded: %s", s)
	}
}

// Some servers send tokens as text.
func TestTokensAsText(t *testing.T) {
	for _, media := range []string{"text/plain", "text/json; charset=utf-8", ""} {
		var got kept
		m := NewMasker([]byte("a key"), nil, &got)
		m.Event(1, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/token"})
		m.Event(1, tap.Event{Name: tap.EventResponse, Header: [][2]string{{"Content-Type", media}}})
		m.Piece(1, tap.ToClient, tap.FormBody, []byte(`{"access_token":"s3cret"}`), true)
		if s := got.all.String(); strings.Contains(s, "s3cret") {
			t.Errorf("%s: recorded %s", media, s)
		}
	}
}
