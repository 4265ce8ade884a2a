package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Change is one place at which two JSON texts differ.
type Change struct {
	// Path leads there from the top, such as result.content[0].text; in a text
	// of several lines " line 3" follows it.
	Path string
	// Old and New are the values as JSON, shortened; one of them is "" where there
	// is none.
	Old, New string
}

const (
	// maxShown is about how many bytes of a value a Change has.
	maxShown = 120
	// alignDepth is the depth down to which arrays are aligned: their beginnings
	// and ends are compared first, so that one more element in the middle is one
	// change. Below that it would take too long.
	alignDepth = 12
	// maxTree is how deep values are compared.
	maxTree = 1000
)

// Changes compares two JSON texts by value: objects by their members, numbers
// by their exact decimal value, whatever their spelling. It returns the first
// changes, at most the given number, and how many more there are. A text that is not
// JSON is one change as a whole.
func Changes(before, after []byte, most int) (changes []Change, more int) {
	a, errA := decode(before)
	b, errB := decode(after)
	d := differ{most: most}
	if errA != nil || errB != nil {
		if !bytes.Equal(before, after) {
			d.add("", short(string(before)), short(string(after)))
		}
		return d.changes, d.more
	}
	d.compare("", a, b, 0)
	return d.changes, d.more
}

// decode reads JSON without any loss in its numbers.
func decode(text []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

type differ struct {
	changes []Change
	more    int
	most    int
}

func (d *differ) add(path, before, after string) {
	if len(d.changes) == d.most {
		d.more++
		return
	}
	d.changes = append(d.changes, Change{strings.TrimPrefix(path, "."), before, after})
}

// set notes a value that is only there before or after.
func (d *differ) set(path string, v any, after bool) {
	if len(d.changes) == d.most { // without spelling it out
		d.more++
	} else if after {
		d.add(path, "", spelled(v))
	} else {
		d.add(path, spelled(v), "")
	}
}

func (d *differ) compare(path string, a, b any, depth int) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok && depth < maxTree {
			d.objects(path, a, b, depth)
			return
		}
	case []any:
		if b, ok := b.([]any); ok && depth < maxTree {
			d.arrays(path, a, b, depth)
			return
		}
	case string:
		if b, ok := b.(string); ok {
			d.texts(path, a, b)
			return
		}
	}
	if !equal(a, b) {
		d.add(path, spelled(a), spelled(b))
	}
}

func (d *differ) objects(path string, a, b map[string]any, depth int) {
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		before, inA := a[name]
		after, inB := b[name]
		switch at := path + step(name); {
		case !inB:
			d.set(at, before, false)
		case !inA:
			d.set(at, after, true)
		default:
			d.compare(at, before, after, depth+1)
		}
	}
}

func (d *differ) arrays(path string, a, b []any, depth int) {
	from, same := 0, min(len(a), len(b))
	if len(a) != len(b) && depth < alignDepth {
		for from < same && equal(a[from], b[from]) {
			from++
		}
		end := 0
		for end < same-from && equal(a[len(a)-1-end], b[len(b)-1-end]) {
			end++
		}
		a, b, same = a[:len(a)-end], b[:len(b)-end], same-end
	}
	for i := from; i < same; i++ {
		d.compare(fmt.Sprintf("%s[%d]", path, i), a[i], b[i], depth+1)
	}
	for i := same; i < len(a); i++ {
		d.set(fmt.Sprintf("%s[%d]", path, i), a[i], false)
	}
	for i := same; i < len(b); i++ {
		d.set(fmt.Sprintf("%s[%d]", path, i), b[i], true)
	}
}

// texts compares by lines where there are several, and leaves out what long
// ones have in common.
func (d *differ) texts(path, a, b string) {
	if a == b {
		return
	}
	if !strings.Contains(a, "\n") && !strings.Contains(b, "\n") {
		before, after := around(a, b)
		d.add(path, before, after)
		return
	}
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	from := 0
	for from < len(x) && from < len(y) && x[from] == y[from] {
		from++
	}
	for len(x) > from && len(y) > from && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	for i := from; i < max(len(x), len(y)); i++ {
		at := fmt.Sprintf("%s line %d", path, i+1)
		switch {
		case i >= len(y):
			d.set(at, x[i], false)
		case i >= len(x):
			d.set(at, y[i], true)
		case x[i] != y[i]:
			before, after := around(x[i], y[i])
			d.add(at, before, after)
		}
	}
}

// around spells out two texts that differ. Of long ones it leaves out most of
// what they have in common at both ends.
func around(a, b string) (before, after string) {
	if len(a) <= maxShown && len(b) <= maxShown {
		return spelled(a), spelled(b)
	}
	const context = 20
	from, same := 0, min(len(a), len(b))
	for from < same && a[from] == b[from] {
		from++
	}
	end := 0
	for end < same-from && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	from, end = max(0, from-context), max(0, end-context)
	for from > 0 && !utf8.RuneStart(a[from]) {
		from--
	}
	for end > 0 && (!utf8.RuneStart(a[len(a)-end]) || !utf8.RuneStart(b[len(b)-end])) {
		end--
	}
	cut := func(s string) string {
		text := spelled(s[from : len(s)-end])
		if from > 0 {
			text = "…" + text
		}
		if end > 0 {
			text += "…"
		}
		return text
	}
	return cut(a), cut(b)
}

// step is a member's name as a part of a path.
func step(name string) string {
	if name != "" && len(name) <= maxShown && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$") == "" {
		return "." + name
	}
	return "[" + spelled(name) + "]"
}

// equal compares two values.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, ok := b[name]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || bytes.Equal(jsonrpc.AppendNumber(nil, []byte(a)), jsonrpc.AppendNumber(nil, []byte(b))))
	}
	return a == b
}

// spelled is a value as JSON, shortened. Numbers stay as they are written.
func spelled(v any) string {
	text, isText := v.(string)
	if isText && len(text) > maxShown {
		v = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "?" // cannot happen with what decode returns
	}
	s := strings.TrimSuffix(b.String(), "\n")
	if isText {
		return s
	}
	return short(s)
}

func short(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}
