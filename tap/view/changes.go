package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// A Change is one difference between two JSON texts.
type Change struct {
	// Path is the path to it, such as $.result.content[0].text. In a text of several
	// lines " line 3" follows, and " moved" if an element has another index.
	Path string
	// Old and New are the values as JSON, shortened; one of them is "" if there is none.
	Old, New string
}

// maxShown is the approximate number of bytes of a value in a Change.
const maxShown = 120

// Changes compares two JSON texts by value: see [jsontree.Compare]. It returns the first
// changes, at most the given number, and how many more there are. A text that cannot be
// read as JSON is one change as a whole.
func Changes(before, after []byte, most int) (changes []Change, more int) {
	d := changeList{most: most}
	a, errA := jsontree.Parse(before)
	b, errB := jsontree.Parse(after)
	if errA != nil || errB != nil {
		if !bytes.Equal(before, after) {
			d.add("", short(string(before)), short(string(after)))
		}
		return d.changes, d.more
	}
	jsontree.Compare(a, b, nil, func(c *jsontree.Change) bool {
		d.change(c)
		return true
	})
	return d.changes, d.more
}

// A changeList collects changes.
type changeList struct {
	changes []Change
	more    int
	most    int
}

func (d *changeList) add(path, before, after string) {
	if len(d.changes) == d.most {
		d.more++
		return
	}
	d.changes = append(d.changes, Change{path, before, after})
}

func (d *changeList) change(c *jsontree.Change) {
	if len(d.changes) == d.most && c.Kind != jsontree.Changed { // no text is needed
		if c.Kind != jsontree.Respelled {
			d.more++
		}
		return
	}
	switch path := c.Path.String(); c.Kind {
	case jsontree.Respelled:
	case jsontree.Moved:
		d.add(path+" moved", fmt.Sprintf("[%d]", c.Path[len(c.Path)-1].Index), fmt.Sprintf("[%d]", c.To))
	case jsontree.Changed:
		if c.A.Kind() == jsontree.String && c.B.Kind() == jsontree.String {
			d.texts(path, c.A.Text(), c.B.Text())
			return
		}
		d.add(path, spelled(c.A), spelled(c.B))
	default:
		before, after := spelled(c.A), spelled(c.B)
		if before == after { // a name occurs twice in one of two objects that are otherwise equal
			path += " twice"
		}
		d.add(path, before, after)
	}
}

// texts compares two texts, by lines if there are several.
func (d *changeList) texts(path, a, b string) {
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
			d.add(at, quotedText(x[i]), "")
		case i >= len(x):
			d.add(at, "", quotedText(y[i]))
		case x[i] != y[i]:
			before, after := around(x[i], y[i])
			d.add(at, before, after)
		}
	}
}

// around returns two texts that differ as JSON. Of long ones it leaves out most of the common
// beginning and end.
func around(a, b string) (before, after string) {
	if len(a) <= maxShown && len(b) <= maxShown {
		return quotedText(a), quotedText(b)
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
		text := quotedText(s[from : len(s)-end])
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

// spelled returns a value as JSON, shortened, "" for none. Numbers stay as recorded.
func spelled(v jsontree.Value) string {
	switch {
	case !v.Exists():
		return ""
	case v.Kind() == jsontree.String:
		return quotedText(v.Text())
	}
	var b bytes.Buffer
	if err := json.Compact(&b, v.Raw()); err != nil {
		return short(string(v.Raw()))
	}
	return short(b.String())
}

// quotedText returns a string as JSON, shortened.
func quotedText(s string) string {
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

func short(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}
