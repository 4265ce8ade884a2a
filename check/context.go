package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"hash/maphash"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// TokenMethod describes how [Size] estimates tokens.
const TokenMethod = "one token for 4 bytes of ASCII and one for each other character, ignoring white space in JSON; tokenizers differ by about 30 %"

// A Size is the size of a text that a model reads.
type Size struct {
	Bytes, Tokens int
}

func (s *Size) add(other Size) {
	s.Bytes += other.Bytes
	s.Tokens += other.Tokens
}

// compact returns a value without white space between tokens.
func compact(v jsonrpc.Value) []byte {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return v
	}
	return b.Bytes()
}

// sizeOf returns the size of a value, which may be nil, without white space between tokens.
func sizeOf(v jsonrpc.Value) Size {
	text, ascii := compact(v), 0
	for _, c := range text {
		if c < utf8.RuneSelf {
			ascii++
		}
	}
	return Size{len(text), (ascii+3)/4 + utf8.RuneCount(text) - ascii}
}

// A Definition is the size of a tool definition, and of its parts description and inputSchema.
type Definition struct {
	Name                       string
	Whole, Description, Schema Size
}

// A ToolList is what a server's tools/list adds to the context of a model: all pages of the
// list that was requested last.
type ToolList struct {
	Server       string
	Whole        Size
	Instructions Size
	// Tools are the definitions, largest first.
	Tools []Definition
	// Requested counts the requests of the list, and Different the lists that differed from
	// the previous one.
	Requested, Different int
	// Partial reports that the client did not read the list to its end.
	Partial bool

	hash, last uint64 // of the current list, and of the last complete one
}

// A ResultSize is the size of the results of a tool. Quantiles are in bytes.
type ResultSize struct {
	Name    string
	sizes   session.Latencies // of bytes, as durations
	Largest Size
	frame   uint64
}

// Count returns the number of results.
func (r *ResultSize) Count() uint64 { return r.sizes.Count() }

// Quantile returns the size in bytes that this share of the results, in thousandths, does not
// exceed.
func (r *ResultSize) Quantile(thousandths int) int { return int(r.sizes.Quantile(thousandths)) }

// Frame returns the number of the frame with the largest result.
func (r *ResultSize) Frame() uint64 { return r.frame }

const (
	// maxTools limits the tools that are measured.
	maxTools = 10_000
	// maxServers limits the servers, and maxLists the open list requests.
	maxServers = 1000
	maxLists   = 1000
)

// A Context measures how much of a model's context a server uses. The zero value is ready to
// use. Add the frames of one recording after the other.
type Context struct {
	lists   map[string]*ToolList
	results map[string]*ResultSize
	pages   bounded.Map[session.Ref, bool] // requests of further pages
}

// Add adds a frame. The frames of a recording are added in order.
func (c *Context) Add(e *session.Entry) {
	if c.lists == nil {
		c.lists, c.results = map[string]*ToolList{}, map[string]*ResultSize{}
		c.pages.Max = maxLists
	}
	for i := range e.Parts {
		m, p := e.Of(i), &e.Parts[i]
		switch {
		case m.Kind == jsonrpc.Request && m.Method == "tools/list" && jsonrpc.Value(m.Params).Get("cursor") != nil:
			c.pages.Put(p.Message, true)
		case m.Kind != jsonrpc.Response || e.Frame.Lane != tap.ToClient || m.Unread || p.Request == (session.Ref{}):
		case p.Method == "tools/list":
			_, further := c.pages.Get(p.Request)
			c.list(e, jsonrpc.Value(m.Result), further)
			c.pages.Delete(p.Request)
		case p.Method == "initialize" || p.Method == "server/discover":
			if l := c.of(e); l != nil {
				l.Instructions = sizeOf(jsonrpc.Value(m.Result).Get("instructions"))
			}
		case p.Method == "tools/call":
			c.result(e, p.Subject, jsonrpc.Value(m.Result))
		}
	}
}

// of returns the list of the server that a frame belongs to, or nil if there are too many.
func (c *Context) of(e *session.Entry) *ToolList {
	name := ""
	if e.Facts != nil {
		name = e.Facts.Server.Name
	}
	l := c.lists[name]
	if l == nil && len(c.lists) < maxServers {
		l = &ToolList{Server: name}
		c.lists[name] = l
	}
	return l
}

// list adds a page of a list; further reports whether it is not the first.
func (c *Context) list(e *session.Entry, result jsonrpc.Value, further bool) {
	l := c.of(e)
	if l == nil {
		return
	}
	if !further {
		l.Whole, l.Tools, l.hash = Size{}, nil, 1
		l.Requested++
	}
	l.hash = l.hash*31 + maphash.Bytes(seed, compact(result.Get("tools")))
	for _, tool := range result.Get("tools").Each {
		d := Definition{jsonrpc.Bound(tool.Get("name").Decoded()), sizeOf(tool), sizeOf(tool.Get("description")), sizeOf(tool.Get("inputSchema"))}
		l.Whole.add(d.Whole)
		if len(l.Tools) < maxTools {
			l.Tools = append(l.Tools, d)
		}
	}
	next := result.Get("nextCursor")
	if l.Partial = next != nil && !isNull(next); !l.Partial {
		if l.last != 0 && l.last != l.hash {
			l.Different++
		}
		l.last = l.hash
	}
}

// result adds the result of a tool.
func (c *Context) result(e *session.Entry, tool string, result jsonrpc.Value) {
	r := c.results[tool]
	if r == nil {
		if len(c.results) == maxTools {
			return
		}
		r = &ResultSize{Name: tool}
		c.results[tool] = r
	}
	size := sizeOf(result)
	r.sizes.Add(time.Duration(size.Bytes))
	if size.Bytes > r.Largest.Bytes {
		r.Largest, r.frame = size, e.Frame.Seq
	}
}

// Lists returns the lists of tools, largest first.
func (c *Context) Lists() []*ToolList {
	for _, l := range c.lists {
		slices.SortStableFunc(l.Tools, func(a, b Definition) int {
			return cmp.Or(cmp.Compare(b.Whole.Bytes, a.Whole.Bytes), cmp.Compare(a.Name, b.Name))
		})
	}
	return slices.SortedFunc(maps.Values(c.lists), func(a, b *ToolList) int {
		return cmp.Or(cmp.Compare(b.Whole.Bytes, a.Whole.Bytes), cmp.Compare(a.Server, b.Server))
	})
}

// Results returns the sizes of results by tool, largest result first.
func (c *Context) Results() []*ResultSize {
	return slices.SortedFunc(maps.Values(c.results), func(a, b *ResultSize) int {
		return cmp.Or(cmp.Compare(b.Largest.Bytes, a.Largest.Bytes), cmp.Compare(a.Name, b.Name))
	})
}
