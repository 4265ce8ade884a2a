package mock

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// The extended recording plays the recorded and the added messages, and the ends of the lanes stay
// at the end.
func TestExtended(t *testing.T) {
	recorded := lines(recordedPart)
	for _, e := range []tap.Event{{Name: tap.EventEOF, Lane: "to_server"}, {Name: tap.EventExit}} {
		raw := e.Encode()
		recorded = append(recorded, tap.Frame{Seq: uint64(len(recorded) + 1), At: time.Minute, Lane: tap.Lifecycle, Raw: raw, Size: int64(len(raw))})
	}
	live := newFakeLive(map[string][]string{`"initialize"`: {`{"jsonrpc":"2.0","id":0,"result":{}}`}, `"new"`: {`{"jsonrpc":"2.0","id":6,"result":{"content":["live"]}}`}})
	k := newDialogue(t, recordedPart, func() (io.ReadWriteCloser, error) { return live, nil })
	k.say(liveInitialize, liveReady, liveNew)
	k.hear("serverInfo")
	k.hear("live")
	if added := k.end(); len(added) != 2 {
		t.Fatal(added)
	}
	var all []tap.Frame
	for f, err := range Extended(each(recorded), k.l.Added()) {
		if err != nil {
			t.Fatal(err)
		}
		if n := len(all); n > 0 && (f.Seq != all[n-1].Seq+1 || f.At < all[n-1].At) {
			t.Errorf("frame %d at %v follows %d at %v", f.Seq, f.At, all[n-1].Seq, all[n-1].At)
		}
		all = append(all, f)
	}
	if n := len(all); n != len(recorded)+2 || all[n-1].Lane != tap.Lifecycle || all[n-3].Lane != tap.ToClient {
		t.Fatalf("%d frames", n)
	}
	rec := loaded(t, all, replay.Options{Pace: replay.Instant})
	got, err := play(all, rec, nil)
	if err != nil || string(got) != string(serverHalf(all)) {
		t.Errorf("%v\n%s", err, got)
	}
}

// An added id that an open recorded request has is replaced wherever it occurs. Errors are passed on.
func TestExtendedIDs(t *testing.T) {
	recorded := lines(`>{"id":"a","method":"never/answered"}
>{"id":7,"method":"never/answered"}
>{"id":8,"method":"answered"}
{"id":8,"result":{}}
`)
	added := lines(`>{"id":"a","method":"x"}
{"id":"a","method":"of the server"}
>{"id":"a","result":1}
{"id":"a","result":{}}
>{"id":7,"method":"x"}
>{"method":"notifications/cancelled","params":{"requestId":7}}
>{"id":8,"method":"x"}
{"id":8,"result":{}}
`)
	var got []string
	for f, err := range Extended(each(recorded), added) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimSpace(string(f.Raw)))
	}
	wantLines(t, "added", got[len(recorded):],
		`{"id":"a-1","method":"x"}`, `{"id":"a","method":"of the server"}`, `{"id":"a","result":1}`, `{"id":"a-1","result":{}}`,
		`{"id":1099511627777,"method":"x"}`, `{"method":"notifications/cancelled","params":{"requestId":1099511627777}}`,
		`{"id":8,"method":"x"}`, `{"id":8,"result":{}}`)
	broken := errors.New("broken")
	var last error
	for _, err := range Extended(func(yield func(tap.Frame, error) bool) { yield(tap.Frame{}, broken) }, added) {
		last = err
	}
	if last != broken {
		t.Error(last)
	}
	for range Extended(each(recorded), added) {
		break // no further frames may be read
	}
}
