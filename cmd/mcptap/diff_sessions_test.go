package main

import (
	"strings"
	"testing"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/tap"
)

// What is too much to be held in memory is refused, with a way out.
func TestDiffOfTooManyRequests(t *testing.T) {
	r := &sessionReader{compared: &compared{name: "x"}, made: map[int]*diff.Session{}, held: frameCache{first: map[uint64]tap.Frame{}}, requests: maxDiffRequests - 2}
	raw := []byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`)
	f := tap.Frame{Seq: 1, Lane: tap.ToServer, Raw: raw, Size: int64(len(raw))}
	if err := r.add(&f); err != nil {
		t.Fatal(err)
	}
	f.Seq++
	if err := r.add(&f); err == nil || !strings.Contains(err.Error(), "more than 400000 requests") {
		t.Error(err)
	}
}
