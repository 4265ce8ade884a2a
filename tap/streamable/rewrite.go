package streamable

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcptap/mcptap/tap"
)

// rewrote records a change of the forwarded bytes from before to after.
func (tr *traffic) rewrote(ex *exchange, what, before, after string) {
	tr.rec.Event(ex.n, tap.Event{Name: tap.EventRewrite, What: what, By: byTap,
		Before: toText(before), After: toText(after)})
}

// requestEdits returns the changes of a request head: the name of the tap is replaced by
// that of the upstream.
func (tr *traffic) requestEdits(ex *exchange, h *head, line requestLine) []edit {
	var edits []edit
	name := tr.hosts.upstream.authority()
	if authority, rest, ok := absoluteTarget(line.target); ok && tr.hosts.isOwn(authority, tr.local) {
		target := tr.hosts.upstream.String() + rest
		from := len(line.method) + 1
		edits = append(edits, edit{from, from + len(line.target), target})
		tr.rewrote(ex, "target", line.target, target)
	}
	for f := range h.all("Host") {
		if tr.hosts.isOwn(f.value, tr.local) && f.value != name {
			edits = append(edits, edit{f.from, f.to, name})
			tr.rewrote(ex, "header Host", f.value, name)
		}
	}
	return edits
}

// responseEdits returns the changes of a response head: the origin of the upstream in URLs
// that the client will use is replaced by that of the tap.
func (tr *traffic) responseEdits(ex *exchange, h *head) []edit {
	var edits []edit
	for i := range h.fields {
		f := &h.fields[i]
		var after string
		ok := false
		switch {
		case f.to == 0:
		case strings.EqualFold(f.name, "Location"):
			after, ok = swapOrigin(f.value, tr.hosts.upstream, ex.origin)
		case tr.rewriteAuth && strings.EqualFold(f.name, "WWW-Authenticate"):
			after, ok = tr.swapMetadata(f.value, ex.origin)
		}
		if ok && after != f.value {
			edits = append(edits, edit{f.from, f.to, after})
			tr.rewrote(ex, "header "+f.name, f.value, after)
		}
	}
	return edits
}

// swapMetadata replaces the origin of resource_metadata in a challenge (RFC 9728, 5.1).
func (tr *traffic) swapMetadata(challenge, to string) (string, bool) {
	const name = "resource_metadata="
	at := strings.Index(strings.ToLower(challenge), name)
	if at < 0 {
		return challenge, false
	}
	at += len(name)
	end := len(challenge)
	if strings.HasPrefix(challenge[at:], `"`) {
		at++
		if i := strings.IndexByte(challenge[at:], '"'); i >= 0 {
			end = at + i
		}
	} else if i := strings.IndexAny(challenge[at:], ", \t"); i >= 0 {
		end = at + i
	}
	url, ok := swapOrigin(challenge[at:end], tr.hosts.upstream, to)
	return challenge[:at] + url + challenge[end:], ok
}

// swapResource replaces the origin of resource in the description of a protected resource
// (RFC 9728, 2). The rest is kept byte for byte.
func (tr *traffic) swapResource(doc []byte, to string) (swapped []byte, before, after string) {
	resource := gjson.GetBytes(doc, "resource")
	if resource.Type != gjson.String || !gjson.ValidBytes(doc) {
		return doc, "", ""
	}
	before = resource.String()
	after, ok := swapOrigin(before, tr.hosts.upstream, to)
	if !ok {
		return doc, "", ""
	}
	quoted, _ := json.Marshal(after) // cannot fail for a string
	return slices.Concat(doc[:resource.Index], quoted, doc[resource.Index+len(resource.Raw):]), before, after
}
