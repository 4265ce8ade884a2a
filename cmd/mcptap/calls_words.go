package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/term"

	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A callMark shows the state of a call as a sign, a word and a style.
type callMark struct {
	sign, word string
	style      term.Style
}

// markOf returns the mark of a call; live reports whether the recording is live.
func markOf(c *session.Call, live bool) callMark {
	switch {
	case c.Notes&session.NoteChallenged != 0 && c.Status == session.CallError:
		return callMark{"?", "challenged", term.BoldCyan}
	case c.Notes&session.NoteRefused != 0 && c.Status == session.CallError:
		return callMark{"✗", "refused", term.BoldRed}
	case c.Notes&session.NoteStreamEnded != 0 && !c.Status.Settled() && c.End != 0:
		return callMark{"✗", "unanswered", term.BoldRed}
	case c.TooLate():
		return callMark{"⊘", "too late", term.Magenta}
	}
	switch c.Status {
	case session.CallDone:
		if c.Notes&session.NoteCutOff != 0 {
			return callMark{"✗", "cut off", term.BoldRed}
		}
		return callMark{"✓", "done", term.Green}
	case session.CallError:
		return callMark{"✗", "error", term.BoldRed}
	case session.CallToolError:
		return callMark{"✗", "failed", term.BoldRed}
	case session.CallCancelled:
		return callMark{"⊘", "cancelled", term.Magenta}
	case session.CallCancelledLate:
		return callMark{"⊘", "too late", term.Magenta}
	case session.CallInputRequired:
		return callMark{"?", "needs input", term.BoldCyan}
	case session.CallWorking:
		return callMark{"…", "working", term.BoldCyan}
	case session.CallListening:
		return callMark{"»", "listening", term.Cyan}
	}
	if live {
		return callMark{"…", "pending", term.BoldCyan}
	}
	return callMark{"…", "unanswered", term.BoldRed}
}

// markWidth is the width of the widest word, with the sign.
const markWidth = len("x needs input")

// callTook returns how long a call took or, after a >, how long it had waited at the
// end of the recording.
func callTook(c *session.Call, end time.Duration) string {
	if c.Status.Settled() {
		return view.Took(c.End - c.At)
	}
	if c.End != 0 { // the response was lost at c.End
		end = c.End
	}
	return ">" + view.Took(max(end-c.At, 0))
}

// callTitle returns the title of a call; nested reports whether it is printed below its
// parent.
func callTitle(n *view.Node, nested bool) title {
	t := newTitle(n.Title())
	t.style, t.fault = term.Bold, callFault(n, nested)
	return t
}

// callFault describes the failure and the anomalies of a call, escaped; nested reports
// whether the call is printed below its parent.
func callFault(n *view.Node, nested bool) string {
	c := n.Call
	var words []string
	if failure := view.JoinWords(" ", c.ErrorCode, c.ErrorText); failure != "" {
		words = append(words, failure)
	}
	if c.Cancel != (session.Ref{}) {
		words = append(words, cancelWords(c))
	}
	if c.Parent != (session.Ref{}) && !nested {
		words = append(words, fmt.Sprintf("within #%d", c.Parent.Seq))
		if c.Guess {
			words = append(words, "probably")
		}
	} else if c.Parent != (session.Ref{}) && c.Guess {
		words = append(words, "position guessed")
	}
	if n.Row.Part.Clash != (session.Ref{}) {
		words = append(words, fmt.Sprintf("id in use by #%d", n.Row.Part.Clash.Seq))
	}
	for i, text := range noteWords {
		if c.Notes>>i&1 == 1 && text != "" {
			words = append(words, text)
		}
	}
	if c.Notes&session.NoteStreamEnded != 0 {
		words = append(words, view.StreamEndWords(&c.StreamEnd, c.At))
	}
	if n.Row.Truncated {
		words = append(words, "truncated: bytes are missing")
	}
	return safe.String(strings.Join(words, ", "))
}

// noteWords describes the notes of a call, in the order of their bits; "" marks a note
// that is shown elsewhere.
var noteWords = []string{
	"",
	"progress token in use",
	"duplicate member",
	"id or method truncated",
	"response without an id",
	"a probe",
	"requestState lost",
	"cancellation refused",
	"no longer tracked",
	"", // the status of the response shows it
	"asks for authorization",
	"", // see cancelWords
	"", // see view.StreamEndWords
	"", // the mark shows it
}

// cancelWords describes which side cancelled a call, and the reason. The mark usually
// shows the cancellation itself.
func cancelWords(c *session.Call) string {
	if c.Notes&session.NoteHungUp != 0 {
		return view.StreamEndWords(&c.StreamEnd, c.At)
	}
	text := "by " + map[tap.Lane]string{tap.ToServer: "the client", tap.ToClient: "the server"}[c.CancelledBy]
	if c.Status != session.CallCancelled && c.Status != session.CallCancelledLate {
		text = "cancelled " + text
	}
	return view.JoinWords(": ", text, c.CancelReason)
}

// partTitle returns the title of a message below a call, with its anomalies.
func partTitle(l *view.Row) title {
	p := &l.Part
	var t title
	switch p.Role {
	case session.RoleProgress:
		t.name, t.args = "progress", l.Preview
	case session.RoleCancel:
		t.name, t.args = "cancelled", l.Preview
	case session.RoleInterim, session.RoleResponse, session.RoleLate, session.RoleRepeat:
		t.name, t.result = responseNames[p.Role], l.Preview
	default:
		t = newTitle(l.Title())
		t.method = ""
	}
	t.args, t.result, t.faultStyle = safe.String(t.args), safe.String(t.result), term.Red
	var words []string
	if l.Failed && l.Fault != "" {
		words = append(words, l.Fault)
	}
	if p.Late && p.Role != session.RoleLate && p.Role != session.RoleRepeat {
		words = append(words, "after the end")
	}
	if p.Guess && p.Request == (session.Ref{}) {
		words = append(words, "position guessed")
	}
	if p.Clash != (session.Ref{}) {
		words = append(words, fmt.Sprintf("id in use by #%d", p.Clash.Seq))
	}
	if l.Truncated {
		words = append(words, "truncated: bytes are missing")
	}
	t.fault = safe.String(strings.Join(words, ", "))
	return t
}

// responseNames names the responses below a call.
var responseNames = map[session.Role]string{
	session.RoleInterim: "interim response", session.RoleResponse: "response", session.RoleLate: "late response",
	session.RoleRepeat: "another response",
}

// askedWords describes a request embedded in a result.
func askedWords(e *session.EmbeddedRequest) string {
	response := "no response"
	if e.Response != (session.Ref{}) {
		response = view.JoinWords(" ", fmt.Sprintf("response in #%d", e.Response.Seq), e.Answer)
	}
	return safe.String(view.JoinWords(" ", "asks", e.Method, e.Subject) + ": " + response)
}

// skippedWords describes the entries omitted at one point.
func skippedWords(e *view.Entry) string {
	var words []string
	if e.Roles != nil {
		for role, n := range e.Roles {
			if n > 0 {
				words = append(words, fmt.Sprintf("%d more %s", n, skippedRoles[role]))
			}
		}
	}
	if e.Calls > 0 {
		words = append(words, fmt.Sprintf("%d more calls", e.Calls))
	}
	return "… " + strings.Join(words, ", ")
}

// skippedRoles names the roles in counts of omitted entries.
var skippedRoles = [session.Roles]string{
	session.RoleInvalid: "invalid", session.RoleRequest: "request", session.RoleRetry: "requests",
	session.RoleCancel: "cancel", session.RoleProgress: "progress", session.RoleLog: "log",
	session.RoleNotification: "notifications", session.RoleInterim: "interim responses",
	session.RoleResponse: "responses", session.RoleLate: "late responses",
	session.RoleRepeat: "other responses", session.RoleOrphan: "orphans",
	session.RoleUnmatched: "unmatched", session.RoleUnsolicited: "unsolicited", session.RoleUnread: "unread",
	session.RoleReplay: "sent again",
}
