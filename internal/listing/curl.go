package listing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// MaxCurlBody is the largest body included in the command. Linux limits one argument to
// 128 KiB.
const MaxCurlBody = 64 << 10

// curlSkips are header fields that curl sets itself, or that belong to one connection.
var curlSkips = []string{"Host", "Content-Length", "Connection", "Keep-Alive", "Transfer-Encoding", "Accept-Encoding",
	"Te", "Trailer", "Upgrade", "Expect"}

// Curl prints a curl command that repeats the HTTP request of a frame, which may be any frame of the
// exchange. The command goes to the server, not to the tap. arg names the recording in commands, and
// dirArg follows it.
func Curl(ctx context.Context, w io.Writer, rec *store.Recording, number uint64, arg, dirArg string) error {
	info, err := rec.Info()
	if err != nil {
		return err
	}
	f, err := rec.Frame(number)
	if err != nil {
		return err
	}
	fail := func(cause, wayOut string) error {
		return hint.With(fmt.Errorf("--curl: frame #%d %s", number, cause), wayOut)
	}
	if f.Exchange == 0 {
		return fail("was not sent over HTTP",
			fmt.Sprintf("`mcptap replay %s --only '#%d'%s -- CMD` sends it to a server on stdio", term.ShellQuote(arg), number,
				dirArg))
	}
	var head tap.Event
	var body bytes.Buffer
	bodySeq := uint64(0)
	for f2, err := range recording.Read(ctx, rec, 0, false) {
		if err != nil {
			return err
		}
		if f2.Exchange != f.Exchange {
			continue
		}
		switch {
		case f2.Form == tap.FormText || f2.Form == tap.FormBinary:
			return fail("is a WebSocket message, which curl cannot send",
				fmt.Sprintf("`mcptap replay %s --only '#%d'%s --to URL` sends it", term.ShellQuote(arg), number, dirArg))
		case f2.Lane == tap.Lifecycle:
			e, err := tap.ParseEvent(f2.Raw)
			if err != nil {
				return fmt.Errorf("--curl: the head in frame #%d: %w", f2.Seq, err)
			}
			switch e.Name {
			case tap.EventRequest:
				head = e
				continue
			case tap.EventEnd:
			default:
				continue
			}
		case f2.Lane == tap.ToServer:
			bodySeq = f2.Seq
			if err := rec.WriteRaw(&body, f2); err != nil {
				return err
			}
			continue
		default:
			continue
		}
		break // the end of the exchange
	}
	if head.Method == "" {
		return fail("belongs to an HTTP request without a head", "`mcptap show REC --http` lists what was recorded of it")
	}
	return PrintCurl(w, info.Header.Upstream+head.Target, &head, body.Bytes(),
		fmt.Sprintf("mcptap show %s %d --raw%s", term.ShellQuote(arg), bodySeq, dirArg))
}

// PrintCurl writes the command. A body that is large, or not text, is read from the standard output
// of bodyCommand.
func PrintCurl(w io.Writer, url string, head *tap.Event, body []byte, bodyCommand string) error {
	var b strings.Builder
	piped := len(body) > MaxCurlBody || !plainText(string(body))
	if piped {
		b.WriteString(bodyCommand + " | ")
	}
	b.WriteString("curl -sSgN --path-as-is ")
	if head.Method != "POST" || len(body) == 0 {
		b.WriteString("-X " + term.ShellQuote(head.Method) + " ")
	}
	b.WriteString(term.ShellQuote(url))
	var notes []string
	for _, h := range head.Header {
		name, value := h[0], h[1]
		field := name + ": " + value
		if value == "" {
			field = name + ";"
		}
		switch {
		case slices.ContainsFunc(curlSkips, func(skip string) bool { return strings.EqualFold(skip, name) }):
		case !plainText(field):
			notes = append(notes, "header "+safe.String(name)+" is left out: it is not plain text")
		default:
			b.WriteString(" \\\n  -H " + term.ShellQuote(field))
		}
	}
	switch {
	case piped:
		b.WriteString(" \\\n  --data-binary @-")
	case len(body) > 0:
		b.WriteString(" \\\n  --data-raw " + term.ShellQuote(string(body)))
	}
	b.WriteString("\n")
	for _, name := range head.Masked {
		notes = append(notes, safe.String(name)+" was masked in the recording: put the real value in its place")
	}
	for _, n := range notes {
		b.WriteString("# " + n + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// plainText reports whether text can be put in single quotes in any shell, and printed on any
// terminal, as it is.
func plainText(text string) bool { return utf8.ValidString(text) && safe.String(text) == text }
