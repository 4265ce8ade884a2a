package view

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A NextPage is a page of a list that the client has not requested (server/utilities/pagination).
type NextPage struct {
	List   session.Ref // the request for the page before it
	Method string
	cursor string
}

// NextPages finds such pages. The zero value is ready.
type NextPages struct {
	// Open are those of the lists so far, in order.
	Open      []NextPage
	requested map[string]bool // by session, method and cursor
}

// maxPages limits the pages and cursors that are held.
const maxPages = 1000

// Add adds the messages of the next frame.
func (p *NextPages) Add(e *session.Entry) {
	for i := range e.Parts {
		part, m := &e.Parts[i], e.Of(i)
		if !strings.HasSuffix(part.Method, "/list") {
			continue
		}
		list := strconv.Itoa(e.Session) + " " + part.Method + " "
		switch {
		case part.Lane == tap.ToServer && m.Kind == jsonrpc.Request:
			cursor := list + jsonrpc.Value(m.Params).Get("cursor").Decoded()
			p.Open = slices.DeleteFunc(p.Open, func(n NextPage) bool { return n.cursor == cursor })
			if p.requested == nil {
				p.requested = map[string]bool{}
			}
			if len(p.requested) < maxPages {
				p.requested[cursor] = true
			}
		case part.Lane == tap.ToClient && part.Role == session.RoleResponse:
			next := jsonrpc.Value(m.Result).Get("nextCursor").Decoded()
			if cursor := list + next; next != "" && !p.requested[cursor] && len(p.Open) < maxPages {
				p.Open = append(p.Open, NextPage{part.Request, part.Method, cursor})
			}
		}
	}
}
