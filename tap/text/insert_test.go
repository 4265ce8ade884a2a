package text

import (
	"fmt"
	"strings"
	"testing"
)

// TestInsertedFrames checks that frames without a number may be inserted into an exported
// transcript, also where others were deleted.
func TestInsertedFrames(t *testing.T) {
	_, frames, err := Parse([]byte(`-- 0001 to_server +1ms --
{"a":1}
-- to_client --
{"new":1}
-- to_server +2ms --
{"new":2}
-- 0002 to_client +3ms --
{"b":1}
-- 0005 to_server +4ms --
{"c":1}
-- to_client --
{"new":3}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range frames {
		got = append(got, fmt.Sprintf("%d %v %s", f.Seq, f.At, strings.TrimSpace(string(f.Raw))))
	}
	want := `1 1ms {"a":1}|2 1ms {"new":1}|3 2ms {"new":2}|4 3ms {"b":1}|5 4ms {"c":1}|6 4ms {"new":3}`
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
}
