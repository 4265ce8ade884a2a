package streamable

import (
	"encoding/json"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// rewrote records that the tap changed what it forwards: before is what came,
// after what went on.
func (tr *traffic) rewrote(ex *exchange, what, before, after string) {
	tr.rec.Event(ex.n, tap.Event{Name: tap.EventRewrite, What: what, By: byTap,
		Before: toText(before), After: toText(after)})
}

// requestEdits is what is changed in a request's head: where it names the tap,
// the upstream is named instead.
func (tr *traffic) requestEdits(ex *exchange, h *head, line requestLine) []edit {
	var edits []edit
	name := tr.hosts.upstreamName
	if authority, rest, ok := absoluteTarget(line.target); ok && tr.hosts.isOwn(authority, tr.local) {
		target := tr.hosts.upstreamURL + rest
		from := len(line.method) + 1
		edits = append(edits, edit{from, from + len(line.target), target})
		before, _ := tr.mask.url(line.target)
		after, _ := tr.mask.url(target)
		tr.rewrote(ex, "target", before, after)
	}
	for f := range h.all("Host") {
		if tr.hosts.isOwn(f.value, tr.local) && f.value != name {
			edits = append(edits, edit{f.from, f.to, name})
			tr.rewrote(ex, "header Host", f.value, name)
		}
	}
	return edits
}

// responseEdits is what is changed in a response's head: URLs on the upstream's
// origin that the client will follow become the tap's.
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
			tr.rewrote(ex, "header "+f.name, tr.mask.field(f.name, f.value), tr.mask.field(f.name, after))
		}
	}
	return edits
}

// swapMetadata swaps the origin of resource_metadata in a challenge (RFC 9728,
// 5.1).
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

// swapResource swaps the origin of resource in an answer that describes a
// protected resource (RFC 9728, 2). Everything else of it stays byte for byte.
func (tr *traffic) swapResource(doc []byte, to string) (swapped []byte, before, after string) {
	from, end := topString(doc, "resource")
	if end == 0 {
		return doc, "", ""
	}
	before = plainString(doc[from:end])
	after, ok := swapOrigin(before, tr.hosts.upstream, to)
	if !ok {
		return doc, "", ""
	}
	quoted, _ := json.Marshal(after) // a string always can be
	out := make([]byte, 0, len(doc)+len(quoted))
	out = append(out, doc[:from]...)
	out = append(out, quoted...)
	return append(out, doc[end:]...), before, after
}

// topString finds the string behind a name in the outermost object of a JSON
// document: doc[from:to], quotes included.
func topString(doc []byte, name string) (from, to int) {
	depth := 0
	for i := 0; i < len(doc); {
		switch doc[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := stringEnd(doc, i)
			colon := skipSpace(doc, end)
			isName := depth == 1 && colon < len(doc) && doc[colon] == ':' && plainString(doc[i:end]) == name
			i = end
			if !isName {
				continue
			}
			if from = skipSpace(doc, colon+1); from < len(doc) && doc[from] == '"' {
				return from, stringEnd(doc, from)
			}
			continue
		}
		i++
	}
	return 0, 0
}
