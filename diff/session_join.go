package diff

import (
	"slices"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// join makes one call of those that are one for the person: the pages of a list,
// and a call with the one that repeats it when the user has done what its error
// asked for. It also takes the opening out of the list.
func (s *Session) join() {
	s.opening.settle()
	for _, u := range s.opening.handshakes() {
		if u != nil {
			u.joined = true
		}
	}
	s.joinPages()
	s.joinElicited()
	s.units = slices.DeleteFunc(s.units, func(u *unit) bool { return u.joined })
}

// joinPages joins a list with the pages that it was asked for with the cursors
// it gave. That wires cursors up without comparing them.
func (s *Session) joinPages() {
	waiting := map[uint64]*unit{}
	for _, u := range s.units {
		of := jsontree.HashString(u.method)
		head := u
		if u.cursor != 0 && u.worked() {
			if first := waiting[jsontree.Mix(of, u.cursor)]; first != nil {
				delete(waiting, jsontree.Mix(of, u.cursor))
				first.absorb(u)
				first.pages = append(first.pages, u.answer)
				first.own += u.own
				first.next = u.next
				head = first
			}
		}
		if head.next != 0 && head.worked() {
			waiting[jsontree.Mix(of, head.next)] = head
		}
	}
}

// joinElicited joins a call that was refused until the user visits a page with
// the next one that asks for the same (2025-11-25 client/elicitation): in
// 2026-07-28 the two are one chain.
func (s *Session) joinElicited() {
	waiting := map[uint64]*unit{}
	for _, u := range s.units {
		if first := waiting[u.key]; first != nil && !u.joined && u.at >= first.end {
			delete(waiting, u.key)
			first.absorb(u)
			first.asked = append(first.asked, u.asked...)
			first.answer, first.answerKind, first.code, first.failed = u.answer, u.answerKind, u.code, u.failed
			first.status, first.http, first.end = u.status, u.http, u.end
			first.own += u.own
			if first.code == "-32042" {
				waiting[u.key] = first
			}
			continue
		}
		if u.code == "-32042" && u.answerKind == jsonrpc.ErrorResponse && !u.joined {
			waiting[u.key] = u
		}
	}
}

// absorb takes over what belongs to another call.
func (u *unit) absorb(other *unit) {
	u.notes = append(u.notes, other.notes...)
	u.repeats = append(u.repeats, other.repeats...)
	u.marked = u.marked || other.marked
	other.joined = true
}
