package main

import (
	"bytes"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

// httpRecording has every hostile frame in every form, with exchange events in between.
func httpRecording(t *testing.T) string {
	t.Helper()
	h := tap.Header{ID: "0badcafe", Label: "http", Start: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Transport: "http",
		Upstream: "https://example.com:8443/\u202emcp?x=\"1\"", Program: "mcptap test"}
	path := filepath.Join(t.TempDir(), "http"+store.Ext)
	w, err := store.NewWriter(path, h)
	if err != nil {
		t.Fatal(err)
	}
	f := tap.Frame{}
	add := func(lane tap.Lane, exchange uint64, form tap.Form, raw string) {
		f.Seq++
		f.At += 3 * time.Microsecond
		f.Took = f.At / 3 * time.Duration(f.Seq%2)
		f.Lane, f.Exchange, f.Form, f.Truncated = lane, exchange, form, f.Seq%50 == 0
		f.Raw, f.Size = []byte(raw), int64(len(raw))
		if err := w.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	raws := append(slices.Clone(hostile), "event: message\r\ndata: {}\r\n\r\n", "data: a\n\n", "-- x --", ": \x1b[2J\n\n")
	for i, raw := range raws {
		exchange := uint64(i)<<30 + 1
		add(tap.Lifecycle, exchange, tap.FormLine, string(tap.Event{Name: tap.EventRequest, Method: "POST", Target: raw,
			Header: [][2]string{{"X", raw}}, Masked: []string{"X"}}.Encode()))
		for form := range tap.Forms {
			add(tap.ToServer+tap.Lane(i%2), exchange, form, raw)
		}
		code := 3
		add(tap.Lifecycle, exchange, tap.FormLine, string(tap.Event{Name: tap.EventEnd, By: "client", Code: &code, Trailer: [][2]string{{raw, ""}}}.Encode()))
	}
	add(tap.ToClient, 1<<62, tap.FormBody, strings.Repeat("a page\n", 500_000)) // goes through WriteRaw
	if err := w.Close(store.End{At: f.At + 5}); err != nil {
		t.Fatal(err)
	}
	return path
}

// An HTTP recording is the same after export and import, in either format.
func TestHTTPRoundTrip(t *testing.T) {
	path := httpRecording(t)
	for _, format := range []string{"ndjson", "txtar"} {
		text := export(t, path, format)
		back := importFrom(t, bytes.NewReader(text))
		if again := export(t, back, format); !bytes.Equal(again, text) {
			t.Errorf("%s: export of the import differs:\n%s", format, firstDifference(again, text))
		}
		a, b := framesOf(t, path), framesOf(t, back)
		if len(a) != len(b) {
			t.Fatalf("%s: %d frames became %d", format, len(a), len(b))
		}
		for i := range a {
			x, y := a[i], b[i]
			if format == "txtar" { // it rounds times
				x.At, x.Took, y.At, y.Took = 0, 0, 0, 0
			}
			if !reflect.DeepEqual(x, y) {
				t.Errorf("%s: frame %d: %+v became %+v", format, i, x, y)
			}
		}
		was, is := store.Stat(path), store.Stat(back)
		if !reflect.DeepEqual(was.Header, is.Header) {
			t.Errorf("%s: header %+v became %+v", format, was.Header, is.Header)
		}
		if was.Tally.Errors != is.Tally.Errors || was.Tally.Bytes != is.Tally.Bytes {
			t.Errorf("%s: tally %+v became %+v", format, was.Tally, is.Tally)
		}
	}
}

func TestImportOfUnknownForm(t *testing.T) {
	for _, in := range []string{
		`{"v":1,"type":"recording","id":"00000001"}` + "\n" + `{"v":1,"type":"frame","seq":1,"at_ns":0,"lane":"to_server","form":"poem","raw":"x"}` + "\n",
		"-- to_server +1ms form=poem --\nx\n",
	} {
		r, err := text.NewReader(strings.NewReader(in))
		if err == nil {
			_, err = r.Next()
		}
		if err == nil || !strings.Contains(err.Error(), `unknown form "poem"`) {
			t.Errorf("%q: %v", in, err)
		}
	}
}
