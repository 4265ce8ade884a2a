package bundle

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

func (s *summary) write(w io.Writer, about *About) error {
	m := &markdown{w: w}
	m.printf("## Summary of a recorded MCP session\n\n")
	s.writeHead(m, about)
	s.writeFailed(m)
	s.writeUnanswered(m, about)
	s.writeCancelled(m)
	s.writeNextPages(m)
	s.writeInvalid(m)
	s.writeFindings(m)
	s.writeSlowest(m)
	s.writeStderr(m)
	writeCommands(m, about)
	return m.err
}

func (s *summary) writeHead(m *markdown, about *About) {
	item := func(name, value string) {
		if value != "" {
			m.printf("- %s: %s\n", name, value)
		}
	}
	h := &about.Header
	started := "started " + h.Start.UTC().Format(time.DateTime) + " UTC"
	item("Recording", view.JoinWords(", ", span(h.Label), span(h.ID), started))
	s.writeSessions(m)
	item("Transport", view.JoinWords(", ", span(h.Transport), span(h.Upstream)))
	item("Server's command", span(strings.Join(h.Command, " ")))
	item("Platform", span(h.Platform))
	item("Recorded by", cmp.Or(span(h.Program), "an unknown program")+", summarized by "+span(about.Program))
	item("How it ended", s.ending(about))
	top, nested := s.stats.Total(false), s.stats.Total(true)
	calls := top.Statuses
	for i, n := range nested.Statuses {
		calls[i] += n
	}
	item("Calls", fmt.Sprintf("%d (%d failed, %d cancelled, %d without a response); %s in %s",
		calls.Calls(), calls.Errors(), calls.Cancelled(), calls.Unanswered(), count(s.frames, "frame"), view.Took(about.Duration)))
	for _, g := range about.Gaps[:min(len(about.Gaps), maxGaps)] {
		item("Missing", fmt.Sprintf("frames %d to %d crossed unrecorded", g.From, g.To))
	}
	if len(about.Gaps) > maxGaps {
		item("Missing", "further frames")
	}
	if about.Secrets {
		item("Secrets", "**left as they are**")
	} else {
		item("Secrets", count(about.Replaced, "value")+" replaced by pseudonyms")
	}
	m.printf("\n")
}

// writeSessions writes the client, server and revision of each session.
func (s *summary) writeSessions(m *markdown) {
	sessions := &s.tracker.Sessions
	n := sessions.Count()
	for i := 1; i <= min(n, maxSessions); i++ {
		one, ok := sessions.Session(i)
		if !ok {
			continue
		}
		name := ""
		if n > 1 {
			name = fmt.Sprintf(" of session %d", i)
		}
		f := &one.Facts
		m.printf("- Client%s: %s\n", name, party(f.Client))
		m.printf("- Server%s: %s\n", name, party(f.Server))
		m.printf("- Revision%s: %s\n", name, revision(f))
	}
	if n > maxSessions {
		m.printf("- Sessions: %d\n", n)
	}
}

func party(p session.Party) string {
	return cmp.Or(view.JoinWords(" ", span(p.Name), span(p.Version)), "unknown")
}

func revision(f *session.Facts) string {
	agreed, requested := span(string(f.Revision)), ""
	switch {
	case f.Dialect != "":
		agreed = view.JoinWords(", ", agreed, "in the dialect "+span(f.Dialect))
	case agreed == "":
		agreed = "none was agreed on"
	}
	if f.Requested != "" && f.Requested != f.Revision {
		requested = "the client requested " + span(string(f.Requested))
	}
	return view.JoinWords("; ", agreed, requested)
}

// ending describes the end of the run.
func (s *summary) ending(about *About) string {
	var words []string
	for i := range s.broken {
		words = append(words, fmt.Sprintf("the receiver of %s went away", span(s.broken[i].Lane)))
	}
	switch e := s.end; {
	case e == nil:
	case e.Name == tap.EventSpawnFailed:
		words = append(words, "the server could not be started: "+span(e.Error))
	case e.Signal != "":
		words = append(words, "the server was ended by "+span(e.Signal))
	case e.Code != nil:
		words = append(words, fmt.Sprintf("the server exited with code %d", *e.Code))
	default:
		words = append(words, "the server exited")
	}
	switch {
	case about.Status == "live":
		words = append(words, "it was still running when this was written")
	case about.Status == "cut":
		words = append(words, "its end was not recorded: the tap may have been killed, or the machine stopped")
	case len(words) == 0:
		words = append(words, "the tap was ended")
	}
	return strings.Join(words, "; ")
}

func (s *summary) writeFailed(m *markdown) {
	if s.failures == 0 {
		return
	}
	m.printf("### Failed calls\n\n")
	m.room = roomFailed
	for i := range s.failed {
		blocks := 2 * (len(s.failed) - i) // at most, from here on
		if left := s.failures - len(s.failed); left > 0 && i == maxFailed/2 {
			m.printf("%s left out here.\n\n", count(uint64(left), "call"))
		}
		f := &s.failed[i]
		m.printf("**%s**: %s\n\nSent by the %s after %s, in frame %d; failed after %s.\n\n", f.title,
			cmp.Or(f.fault, "failed"), sender(f.lane), view.Took(f.at), f.request.Seq, view.Took(f.took))
		s.quote(m, "Request", f.request.Seq, m.room/blocks)
		s.writeResponse(m, f, m.room/(blocks-1))
	}
}

// writeResponse quotes the response of a failed call: a message, or an HTTP response without one.
func (s *summary) writeResponse(m *markdown, f *failure, room int) {
	if f.response.Seq == 0 {
		return
	}
	last, err := s.src.Frame(f.response.Seq)
	if err != nil {
		m.fail(err)
		return
	}
	if last.Lane != tap.Lifecycle {
		s.quote(m, "Response", f.response.Seq, room)
		return
	}
	found := false
	for g, err := range s.src.Frames(f.request.Seq) {
		if err != nil {
			m.fail(err)
			return
		}
		if g.Exchange != f.exchange || g.Exchange == 0 {
			continue
		}
		if found && g.Lane == tap.ToClient {
			s.quote(m, "Its body", g.Seq, room)
			return
		}
		e, _ := tap.ParseEvent(g.Raw)
		if g.Lane == tap.Lifecycle && e.Name == tap.EventResponse && e.Status >= 200 {
			m.printf("Response, frame %d: %s\n\n", g.Seq, span(view.JoinWords(" ", fmt.Sprintf("HTTP %d", e.Status), e.Reason)))
			found = true
		}
		if g.Lane == tap.Lifecycle && e.Name == tap.EventEnd {
			break
		}
	}
	if !found { // no body was recorded
		s.quote(m, "End of the exchange", f.response.Seq, room)
	}
}

// quote writes the payload of a frame, as much as there is room for.
func (s *summary) quote(m *markdown, title string, seq uint64, room int) {
	f, err := s.src.Frame(seq)
	if err != nil {
		m.fail(err)
		return
	}
	raw, size := f.Raw, f.Size
	if f.Whole() {
		raw = jsonrpc.Payload(&f)
		size = int64(len(raw))
	}
	m.printf("%s, frame %d, %s:\n\n", title, seq, view.Size(f.Size))
	m.block(recorded(raw, size, min(room, maxBlock)))
}

func (s *summary) writeUnanswered(m *markdown, about *About) {
	requests, more := s.tracker.Unanswered()
	if len(requests) == 0 {
		return
	}
	m.printf("### Requests without a response\n\n")
	for i := range requests {
		q := &requests[i]
		if i == maxUnanswered {
			m.printf("- and %d more\n", uint64(len(requests)-i)+more)
			break
		}
		how := "waited " + view.Took(max(about.Duration-q.At, 0))
		if q.Lost {
			how = view.StreamEndWords(&q.StreamEnd, q.At)
			if q.StreamEnd.Error != "" {
				how = span(how)
			}
		} else if q.ErrorText != "" {
			how = span(q.ErrorText) + ", " + how
		}
		m.printf("- %s, sent by the %s after %s, in frame %d: %s\n",
			title(q.Method, q.Subject, view.Arguments(s.src.Frame, q.Ref)), sender(q.Lane), view.Took(q.At), q.Ref.Seq, how)
	}
	m.printf("\n")
}

func (s *summary) writeCancelled(m *markdown) {
	if s.cancelleds == 0 {
		return
	}
	m.printf("### Cancelled requests\n\n")
	slices.SortFunc(s.cancelled, func(a, b session.Call) int { return a.Ref.Compare(b.Ref) })
	for i := range s.cancelled {
		c := &s.cancelled[i]
		how := "cancelled by the " + sender(c.CancelledBy) + " after " + view.Took(c.End-c.At)
		if c.Status == session.CallCancelledLate {
			how = "cancelled by the " + sender(c.CancelledBy) + ", and the response came too late"
		}
		if c.Notes&session.NoteStreamEnded != 0 {
			how = span(view.StreamEndWords(&c.StreamEnd, c.At)) + ", " + how
		}
		m.printf("- %s, sent by the %s after %s, in frame %d: %s\n", title(c.Method, c.Subject, view.Arguments(s.src.Frame, c.Ref)), sender(c.Lane), view.Took(c.At), c.Ref.Seq,
			view.JoinWords(": ", how, span(c.CancelReason)))
	}
	if left := s.cancelleds - len(s.cancelled); left > 0 {
		m.printf("- and %d more\n", left)
	}
	m.printf("\n")
}

func (s *summary) writeNextPages(m *markdown) {
	all := s.pages.Open
	if len(all) == 0 {
		return
	}
	m.printf("### Lists of which the client did not request the next page\n\n")
	for _, p := range all[:min(len(all), maxPages)] {
		m.printf("- %s, in frame %d\n", span(p.Method), p.List.Seq)
	}
	if left := len(all) - maxPages; left > 0 {
		m.printf("- and %d more\n", left)
	}
	m.printf("\n")
}

func (s *summary) writeInvalid(m *markdown) {
	if s.invalids == 0 {
		return
	}
	m.printf("### Frames that are not messages\n\n")
	m.room = roomInvalid
	for i, seq := range s.invalid {
		f, err := s.src.Frame(seq)
		if err != nil {
			m.fail(err)
			return
		}
		s.quote(m, "From the "+sender(f.Lane), seq, m.room/(len(s.invalid)-i))
	}
	if left := s.invalids - len(s.invalid); left > 0 {
		m.printf("And %d more.\n\n", left)
	}
}

// writeFindings writes what violates the specification or breaks clients, worst first.
func (s *summary) writeFindings(m *markdown) {
	if len(s.findings) == 0 {
		return
	}
	m.printf("### Findings of `mcptap check`\n\n")
	for i, f := range s.findings {
		if i == maxFindings {
			m.printf("- and %d more\n", len(s.findings)-i)
			break
		}
		m.printf("- %s, %s, frame %d%s: %s. %s\n", f.Class, f.Rule.ID, f.Frames[0], times(f.Count), span(f.Fault()), strings.ReplaceAll(f.Rule.Text, "<", "&lt;"))
	}
	m.printf("\n")
}

// times returns how many more times a finding occurred, "" for none.
func times(n uint64) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n-1)
}

func (s *summary) writeSlowest(m *markdown) {
	slowest := s.stats.Slowest()
	if len(slowest) == 0 {
		return
	}
	m.printf("### The slowest calls\n\n")
	for i := range slowest {
		c := &slowest[i]
		m.printf("- %s: %s, sent by the %s in frame %d, %s\n", view.Took(c.Took), title(c.Method, c.Subject), sender(c.Lane), c.Ref.Seq, c.State)
	}
	m.printf("\n")
}

func (s *summary) writeStderr(m *markdown) {
	pieces := s.stderr.pieces()
	if len(pieces) == 0 {
		return
	}
	title := "The end of the server's stderr"
	if len(s.stderr.around) > 0 {
		title = "The server's stderr around the last failure, and its end"
	}
	m.printf("### %s\n\n", title)
	var out strings.Builder
	for _, p := range pieces {
		for line := range strings.Lines(p.text) {
			fmt.Fprintf(&out, "%d  %s\n", p.seq, escape.String(strings.TrimRight(line, "\r\n")))
		}
	}
	text := out.String()
	if len(text) > roomStderr { // keep the end, in whole lines
		text = text[len(text)-roomStderr:]
		text = "…\n" + text[strings.IndexByte(text, '\n')+1:]
	}
	m.block("text", text)
}

// commands are the commands to suggest for the recording of an unpacked bundle.
const commands = "mcptap show " + Recording + " --calls\n" +
	"mcptap stats " + Recording + "\n" +
	"mcptap mock " + Recording + "    # a server that responds as the recorded one did\n"

// writeCommands writes how to use the bundle.
func writeCommands(m *markdown, about *About) {
	if about.Bundle == "" {
		return
	}
	m.printf("### How to open it\n\n")
	m.printf("%s in the bundle is a self-contained page. With [mcptap](https://github.com/mcptap/mcptap):\n\n", span(Page))
	m.block("sh", "mcptap web "+shellQuote(about.Bundle)+" --open    # shows it in a browser\n"+commands)
}

// shellQuote quotes a file name for a shell.
func shellQuote(name string) string {
	name = escape.String(name)
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	if strings.Trim(name, plain) == "" && !strings.HasPrefix(name, "-") {
		return name
	}
	return "'./" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// WriteReadme writes the description of a bundle.
func WriteReadme(w io.Writer, secrets bool) error {
	note := "Values that look like secrets have pseudonyms in all of them. Some may have been missed.\n"
	if secrets {
		note = "All of them contain the complete messages, secrets included.\n"
	}
	_, err := io.WriteString(w, `Messages between a client and a server of the Model Context Protocol, recorded by mcptap
(https://github.com/mcptap/mcptap).

`+Summary+`         a summary of the failures, for an issue tracker
`+Page+`          a self-contained page, for a browser; it loads nothing from the network
`+Recording+`   the recording

`+note+`
    `+strings.ReplaceAll(strings.TrimSpace(commands), "\n", "\n    ")+"\n")
	return err
}

// title returns the title of a call, from recorded words.
func title(words ...string) string {
	return cmp.Or(span(view.JoinWords(" ", words...)), "a request")
}

// sender names the side that sends on a lane.
func sender(l tap.Lane) string {
	if l == tap.ToClient {
		return "server"
	}
	return "client"
}

func count(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
