package text

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

const head = `{"v":1,"type":"recording","id":"0123abcd","label":"l","transport":"stdio","command":["a","b"],"status":"ended","gaps":[{"From":2,"To":3}]}` + "\n"

func read(text string) (Reader, []tap.Frame, error) {
	r, err := newNDJSONReader(strings.NewReader(text), 1)
	if err != nil {
		return nil, nil, err
	}
	var all []tap.Frame
	for {
		f, err := r.Next()
		if err == io.EOF {
			return r, all, nil
		}
		if err != nil {
			return r, all, err
		}
		all = append(all, f)
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	r, all, err := read("\n" + head + `{"v":1,"type":"frame","seq":1,"at_ns":5,"took_ns":4,"lane":"to_server","raw":"a\n"}` + "\r\n \n" +
		`{"v":1,"type":"frame","seq":4,"at_ns":7,"lane":"to_client","exchange":2,"form":"event","torn":true,"raw_base64":"AP8=","unknown":1}` + "\n" +
		`{"v":1,"type":"frame","seq":5,"at_ns":8,"lane":"stderr","raw":"` + long + `"}` + "\n" +
		`{"v":1,"type":"end","at_ns":9,"status":"cut","frames":3}`)
	if err != nil || len(all) != 3 {
		t.Fatal(len(all), err)
	}
	if h := r.Head().Header; h.ID != "0123abcd" || h.Label != "l" || len(h.Command) != 2 || len(r.Head().Gaps) != 1 {
		t.Errorf("%+v", h)
	}
	if r.Head().End != 9 || r.Head().Status != "cut" {
		t.Errorf("%+v", r.Head())
	}
	for i, want := range []string{
		`1 5ns 4ns to_server 0 line false "a\n"`, `4 7ns 0s to_client 2 event true "\x00\xff"`, `5 8ns 0s stderr 0 line false "` + long + `"`,
	} {
		f := all[i]
		if got := fmt.Sprintf("%d %v %v %v %d %v %v %q", f.Seq, f.At, f.Took, f.Lane, f.Exchange, f.Form, f.Truncated, f.Raw); got != want || f.Size != int64(len(f.Raw)) {
			t.Errorf("got  %.200s\nwant %.200s", got, want)
		}
	}
}

func TestReaderErrors(t *testing.T) {
	frame := `{"v":1,"type":"frame","seq":1,"at_ns":5,"lane":"to_server","raw":"a"}` + "\n"
	for text, want := range map[string]string{
		"":                       "line 1: unexpected end",
		"x":                      "line 1: invalid character",
		"{}":                     `line 1: not the first line of an export: the type is "", not recording`,
		`{"resourceSpans":[]}`:   "OpenTelemetry traces cannot be read",
		frame:                    `the type is "frame", not recording`,
		head:                     "it ends without an end line",
		head + "{":               "it ends within line 2: the rest is missing",
		head + "{\n":             "line 2: ",
		head + `{"type":"poem"}`: `line 2: unknown type "poem"`,
		head + `{"type":"frame","lane":"up","raw":"a"}`:                           "line 2: ",
		head + `{"type":"frame","lane":"life"}`:                                   "a frame must have raw or raw_base64",
		head + `{"type":"frame","lane":"life","raw":"\ud800"}`:                    "half a surrogate pair",
		head + `{"type":"frame","lane":"life","raw_base64":"?"}`:                  "line 2: illegal base64",
		head + `{"type":"frame","lane":"life","form":"poem","raw":""}`:            `unknown form "poem"`,
		head + frame + `{"type":"end","status":"ended","frames":2}`:               "line 3: frames is 2, but there are 1",
		head + `{"type":"end","status":"asleep"}`:                                 `line 2: unknown status "asleep"`,
		head + `{"type":"end","status":"ended"}` + "\n" + frame:                   "line 3: data follows the end line",
		strings.Replace(head, `"recording"`, `"`+strings.Repeat("y", 500)+`"`, 1): "…",
	} {
		if _, _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100q: %v, want %s", text, err, want)
		}
	}
	if _, _, err := read(strings.Replace(head, `"v":1`, `"v":2`, 1)); !errors.Is(err, ErrNewer) || err.Error() != "line 1: version 2 is newer than this mcptap" {
		t.Error(err)
	}
	if _, err := NewReader(strings.NewReader("\n \n" + frame)); err == nil || !strings.HasPrefix(err.Error(), "line 3: ") {
		t.Error(err)
	}
}
