package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// A page that no request asks for is named with the list before it.
func TestNextPages(t *testing.T) {
	ask := func(id int, cursor string) string {
		return fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{%s}}`, id, cursor)
	}
	page := func(id int, next string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"tools":[]%s}}`, id, next)
	}
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{ask(1, ""), page(1, "")}, "[]"},
		{[]string{ask(1, ""), page(1, `,"nextCursor":""`)}, "[]"},
		{[]string{ask(1, ""), page(1, `,"nextCursor":"a"`)}, "[1]"},
		{[]string{ask(1, ""), page(1, `,"nextCursor":"a"`), ask(2, `"cursor":"a"`), page(2, "")}, "[]"},
		{[]string{ask(1, ""), page(1, `,"nextCursor":"a"`), ask(2, `"cursor":"a"`), page(2, `,"nextCursor":"b"`)}, "[3]"},
		// The page was requested after an earlier list.
		{[]string{ask(1, ""), page(1, `,"nextCursor":"a"`), ask(2, `"cursor":"a"`), page(2, ""), ask(3, ""), page(3, `,"nextCursor":"a"`)}, "[]"},
		{[]string{ask(1, ""), page(1, `,"nextCursor":"a"`), strings.ReplaceAll(ask(2, `"cursor":"a"`), "tools", "prompts")}, "[1]"},
	} {
		l := NewListing(Selection{Span: Whole}, Options{})
		for i, line := range c.lines {
			f := tap.Frame{Seq: uint64(i + 1), Lane: tap.ToClient, Raw: []byte(line)}
			if raw, ok := strings.CutPrefix(line, ">"); ok {
				f.Lane, f.Raw = tap.ToServer, []byte(raw)
			}
			f.Size = int64(len(f.Raw))
			l.Add(&f)
		}
		var got []uint64
		for _, p := range l.Summary().NextPages {
			got = append(got, p.List.Seq)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v: %v, want %s", c.lines, got, c.want)
		}
	}
}
