package tap_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// fill sets every field of an event to something, of which strings are s.
func fill(e *tap.Event, s string, n int64) {
	v := reflect.ValueOf(e).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case string:
			f.SetString(s)
		case []string:
			f.Set(reflect.ValueOf([]string{s, "", s}))
		case [][2]string:
			f.Set(reflect.ValueOf([][2]string{{s, ""}, {"", s}}))
		case *int:
			code := int(int32(n))
			f.Set(reflect.ValueOf(&code))
		case bool:
			f.SetBool(n%2 == 0)
		case uint64:
			f.SetUint(uint64(n))
		default:
			f.SetInt(n)
		}
	}
}

// sameAsMarshal compares with what encoding/json makes of the event.
func sameAsMarshal(t *testing.T, e tap.Event) {
	t.Helper()
	want, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Encode(); !bytes.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	const before = "what was there"
	if got := e.AppendJSON([]byte(before)); string(got) != before+string(want) {
		t.Errorf("appended: got %q", got)
	}
}

// Every character that can stand in a string, and what is none.
var oddStrings = []string{
	"", "plain", `"\/`, "<a href='x'>&", "\x00\x01\b\t\n\v\f\r\x1b\x1f \x7f", "é…👩‍🚀", "\u2027\u2028\u2029\u202a", "\ufffd\ufeff\ufffe\uffff",
	"\xff", "a\xc3", "\xc3\x28", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", "\xf0\x9f\x8c", "\U0010ffff", strings.Repeat("x\n", 5000),
}

// The encoding by hand is that of encoding/json, whichever fields are set.
func TestEventEncode(t *testing.T) {
	sameAsMarshal(t, tap.Event{})
	for _, s := range oddStrings {
		for _, n := range []int64{0, 1, -1, 200, math.MaxInt64, math.MinInt64} {
			var all tap.Event
			fill(&all, s, n)
			sameAsMarshal(t, all)
			v := reflect.ValueOf(&all).Elem()
			for i := range v.NumField() { // each field alone
				var one tap.Event
				reflect.ValueOf(&one).Elem().Field(i).Set(v.Field(i))
				sameAsMarshal(t, one)
			}
		}
	}
	sameAsMarshal(t, tap.Event{Command: []string{}, Header: [][2]string{}, Masked: []string{}})
}

// What was encoded is read back.
func TestEventParse(t *testing.T) {
	for _, s := range []string{"", "plain", "<\u2028\"\n>"} {
		var want tap.Event
		fill(&want, s, 7)
		got, err := tap.ParseEvent(want.Encode())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v became %+v, %v", want, got, err)
		}
	}
	if _, err := tap.ParseEvent([]byte(`{"event":1}`)); err == nil {
		t.Error("an event without a name was read")
	}
}

func FuzzEventEncode(f *testing.F) {
	for _, s := range oddStrings {
		f.Add(s, int64(len(s)))
	}
	f.Fuzz(func(t *testing.T, s string, n int64) {
		var e tap.Event
		fill(&e, s, n)
		sameAsMarshal(t, e)
	})
}

func BenchmarkEventEncode(b *testing.B) {
	e := tap.Event{Name: tap.EventRequest, Conn: 1, Method: "POST", Target: "/mcp", Proto: "HTTP/1.1", Masked: []string{"Authorization"},
		Header: [][2]string{{"Host", "127.0.0.1:40123"}, {"Authorization", "Bearer masked:1a2b3c4d5e6f"}, {"Content-Type", "application/json"},
			{"Accept", "application/json, text/event-stream"}, {"Content-Length", "500"}}}
	b.Run("by hand", func(b *testing.B) {
		var buf []byte
		b.ReportAllocs()
		for b.Loop() {
			buf = e.AppendJSON(buf[:0])
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(e); err != nil {
				b.Fatal(err)
			}
		}
	})
}
