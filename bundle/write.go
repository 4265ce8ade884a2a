package bundle

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// write writes the summary.
func (x *facts) write(w io.Writer, about *About) error {
	m := &markdown{w: w}
	m.printf("## What a client and a server said over MCP\n\n")
	x.writeHead(m, about)
	if err := x.writeFailed(m); err != nil {
		return err
	}
	x.writeWaiting(m, about)
	if err := x.writeOdd(m); err != nil {
		return err
	}
	x.writeTimes(m)
	x.writeStderr(m)
	writeCommands(m, about)
	return m.err
}

func (x *facts) writeHead(m *markdown, about *About) {
	item := func(name, value string) {
		if value != "" {
			m.printf("- %s: %s\n", name, value)
		}
	}
	h := &about.Header
	item("Recording", join(", ", span(h.Label), span(h.ID), "begun "+h.Start.UTC().Format(time.DateTime)+" UTC"))
	x.writeSessions(m)
	item("Transport", join(", ", span(h.Transport), span(h.Upstream)))
	item("Server's command", span(strings.Join(h.Command, " ")))
	item("Platform", span(h.Platform))
	item("Recorded by", or(span(h.Program), "a program that does not say its name")+", summed up by "+span(about.Program))
	item("How it ended", x.ending(about))
	var calls, failed, cancelled, open uint64
	for _, nested := range []bool{false, true} {
		total := x.stats.Total(nested)
		s := &total.Statuses
		calls, failed = calls+s.Calls(), failed+s.Errors()
		cancelled, open = cancelled+s.Cancelled(), open+s.Unanswered()
	}
	item("Calls", fmt.Sprintf("%d, of them %d failed, %d cancelled, %d without a response; %d frames in %s",
		calls, failed, cancelled, open, x.frames, view.Took(about.Duration)))
	for i, g := range about.Gaps {
		if i == maxOdd {
			item("Missing", "more than that")
			break
		}
		item("Missing", fmt.Sprintf("frames %d to %d crossed and were not recorded", g.From, g.To))
	}
	if about.Secrets {
		item("Secrets", "**left as they are**")
	} else {
		item("Secrets", fmt.Sprintf("pseudonyms in the place of %s", count(about.Replaced, "value", "values")))
	}
	m.printf("\n")
}

// writeSessions says who talked to whom.
func (x *facts) writeSessions(m *markdown) {
	sessions := &x.tracker.Sessions
	n := sessions.Count()
	for i := 1; i <= min(n, maxSessions); i++ {
		s, ok := sessions.Session(i)
		if !ok {
			continue
		}
		name := ""
		if n > 1 {
			name = fmt.Sprintf(" of session %d", i)
		}
		f := &s.Facts
		m.printf("- Client%s: %s\n", name, party(f.Client))
		m.printf("- Server%s: %s\n", name, party(f.Server))
		m.printf("- Revision%s: %s\n", name, revision(f))
	}
	if n > maxSessions {
		m.printf("- Sessions: %d\n", n)
	}
}

func party(p session.Party) string {
	if s := join(" ", span(p.Name), span(p.Version)); s != "" {
		return s
	}
	return "did not say its name"
}

func revision(f *session.Facts) string {
	asked := ""
	if f.Requested != "" && f.Requested != f.Revision {
		asked = "the client asked for " + span(string(f.Requested))
	}
	agreed := span(string(f.Revision))
	switch {
	case f.Dialect != "":
		agreed = join(", ", agreed, "in the dialect "+span(f.Dialect))
	case agreed == "":
		agreed = "none was agreed on"
	}
	return join("; ", agreed, asked)
}

// ending says what became of the run.
func (x *facts) ending(about *About) string {
	var words []string
	for i := range x.broken {
		e := &x.broken[i]
		words = append(words, fmt.Sprintf("the receiver of %s went away", span(e.Lane)))
	}
	switch e := x.end; {
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
	switch about.Status {
	case "live":
		words = append(words, "it was still running when this was written")
	case "cut":
		words = append(words, "the tap was killed, or the machine stopped")
	default:
		if len(words) == 0 {
			words = append(words, "the tap was ended")
		}
	}
	return strings.Join(words, "; ")
}

func (x *facts) writeFailed(m *markdown) error {
	if x.failures == 0 {
		return nil
	}
	m.printf("### Calls that failed\n\n")
	m.room = roomFailed
	for i := range x.failed {
		blocks := 2 * (len(x.failed) - i) // that are still to come, at most
		if left := x.failures - len(x.failed); left > 0 && i == maxFailed/2 {
			m.printf("%s are left out here.\n\n", count(uint64(left), "call", "calls"))
		}
		f := &x.failed[i]
		m.printf("**%s**: %s\n\nAsked by the %s after %s, in frame %d; failed after %s.\n\n",
			or(f.title, "a request"), or(f.fault, "it failed"), asker(f.lane), view.Took(f.at), f.request.Seq, view.Took(f.took))
		if err := x.quote(m, "Request", f.request.Seq, m.room/blocks); err != nil {
			return err
		}
		if f.answer.Seq != 0 {
			if err := x.quote(m, "Answer", f.answer.Seq, m.room/(blocks-1)); err != nil {
				return err
			}
		}
	}
	return nil
}

// quote writes what a frame holds, or as much of it as there is room.
func (x *facts) quote(m *markdown, title string, seq uint64, room int) error {
	f, err := x.src.Frame(seq)
	if err != nil {
		return err
	}
	raw, size := f.Raw, f.Size
	if f.Whole() {
		raw = jsonrpc.Payload(&f)
		size = int64(len(raw))
	}
	m.printf("%s, frame %d, %s:\n\n", title, seq, view.Size(f.Size))
	m.block(recorded(raw, size, min(room, maxBlock)))
	return nil
}

func (x *facts) writeWaiting(m *markdown, about *About) {
	waiting, more := x.tracker.Unanswered()
	if len(waiting) == 0 {
		return
	}
	m.printf("### What never got a response\n\n")
	for i := range waiting {
		q := &waiting[i]
		if i == maxWaiting {
			m.printf("- and %d more\n", uint64(len(waiting)-i)+more)
			break
		}
		how := "waited " + view.Took(max(about.Duration-q.At, 0))
		switch {
		case q.Lost:
			how = "the stream for the response ended"
		}
		m.printf("- %s, asked by the %s after %s, in frame %d: %s\n",
			or(span(join(" ", q.Method, q.Subject, x.arguments(q.Ref))), "a request"), asker(q.Lane), view.Took(q.At), q.Ref.Seq, how)
	}
	m.printf("\n")
}

// arguments shows those of a request, "" if it cannot be read.
func (x *facts) arguments(ref session.Ref) string {
	f, err := x.src.Frame(ref.Seq)
	if err != nil {
		return ""
	}
	m := jsonrpc.PeekFrame(&f)
	if ref.Index > 0 && ref.Index < len(m.Batch) {
		m = m.Batch[ref.Index]
	}
	return jsonrpc.Preview(m)
}

func (x *facts) writeOdd(m *markdown) error {
	if x.odds == 0 {
		return nil
	}
	m.printf("### What is no message\n\n")
	m.room = roomOdd
	for i, seq := range x.odd {
		f, err := x.src.Frame(seq)
		if err != nil {
			return err
		}
		if err := x.quote(m, "From the "+asker(f.Lane), seq, m.room/(len(x.odd)-i)); err != nil {
			return err
		}
	}
	if left := x.odds - len(x.odd); left > 0 {
		m.printf("And %s more.\n\n", count(uint64(left), "frame", "frames"))
	}
	return nil
}

func (x *facts) writeTimes(m *markdown) {
	slowest := x.stats.Slowest()
	if len(slowest) == 0 {
		return
	}
	m.printf("### The slowest calls\n\n")
	for i := range slowest {
		c := &slowest[i]
		m.printf("- %s: %s, asked by the %s in frame %d, %s\n", view.Took(c.Took), or(span(join(" ", c.Method, c.Subject)), "a request"),
			asker(c.Lane), c.Ref.Seq, strings.ReplaceAll(c.Status.String(), "_", " "))
	}
	m.printf("\n")
}

func (x *facts) writeStderr(m *markdown) {
	pieces := x.stderr.lines()
	if len(pieces) == 0 {
		return
	}
	title := "The end of the server's stderr"
	if len(x.stderr.around) > 0 {
		title = "The server's stderr around the last failure, and its end"
	}
	m.printf("### %s\n\n", title)
	var out strings.Builder
	for _, p := range pieces {
		for line := range strings.Lines(p.text) {
			fmt.Fprintf(&out, "%d  %s\n", p.seq, escape.Escape(strings.TrimRight(line, "\r\n")))
		}
	}
	m.block("text", lastLines(out.String(), roomStderr))
}

// lastLines is as much of the end of a text as there is room for, in whole lines.
func lastLines(text string, room int) string {
	if len(text) <= room {
		return text
	}
	text = text[len(text)-room:]
	return "…\n" + text[strings.IndexByte(text, '\n')+1:]
}

// writeCommands says what to do with the bundle.
func writeCommands(m *markdown, about *About) {
	if about.Bundle == "" {
		return
	}
	m.printf("### To look at it\n\n")
	m.printf("%s in the bundle needs nothing but a browser. With [mcptap](https://github.com/mcptap/mcptap):\n\n", span(Page))
	m.block("sh", "mcptap web "+quoted(about.Bundle)+" --open    # shows it in a browser\n"+commands())
}

// quoted is a file's name as a shell takes it for one word and no command.
func quoted(name string) string {
	name = escape.Escape(name)
	if strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == "" && !strings.HasPrefix(name, "-") {
		return name
	}
	return "'./" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// commands are for the recording in an unpacked bundle.
func commands() string {
	return "mcptap show " + Recording + " --calls\n" +
		"mcptap stats " + Recording + "\n" +
		"mcptap mock " + Recording + "    # a server that answers as the recorded one did\n"
}

// WriteReadme writes what a bundle says of itself.
func WriteReadme(w io.Writer, secrets bool) error {
	kept := "Values that look like secrets have pseudonyms, in all of them. Nobody can promise\nthat all were found.\n"
	if secrets {
		kept = "The recording and what is made of it hold all that was said, secrets too.\n"
	}
	_, err := io.WriteString(w, `What a client and a server said over the Model Context Protocol, recorded by mcptap
(https://github.com/mcptap/mcptap).

`+Summary+`         what went wrong, for an issue tracker
`+Page+`          a self-contained page, for a browser; it loads nothing from the network
`+Recording+`   the recording

`+kept+`
    `+strings.ReplaceAll(strings.TrimSpace(commands()), "\n", "\n    ")+"\n")
	return err
}

// asker says who sends on a lane.
func asker(l tap.Lane) string {
	if l == tap.ToClient {
		return "server"
	}
	return "client"
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// join puts what is not empty together.
func join(between string, words ...string) string {
	var all []string
	for _, w := range words {
		if w != "" {
			all = append(all, w)
		}
	}
	return strings.Join(all, between)
}

func count(n uint64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
