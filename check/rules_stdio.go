package check

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// rulesStdio are about stdio.
var rulesStdio = []Rule{
	{
		ID: "stdio-01", Class: "client-breaking", In: "A-E", Side: "server", Transport: "stdio",
		Text:   "Every line on stdout is one valid MCP message, in 2025-03-26 also a batch: no banners, log lines or headers. A blank line is only an observation.",
		Source: "A-D:basic/transports#stdio; E:basic/transports/stdio; observed: Go SDK closes the connection, TypeScript SDK skips the line",
		Fix:    "Send logs to stderr; check imports and child processes that print to stdout. Write messages with a JSON library: NaN and single quotes are not JSON.",
		New:    linesAreMessages,
	},
	{
		ID: "stdio-02", Class: "must", In: "A-E", Side: "client", Transport: "stdio",
		Text:   "Every line on stdin is one valid MCP message, in 2025-03-26 also a batch.",
		Source: "A-D:basic/transports#stdio; E:basic/transports/stdio",
		Fix:    "Write nothing but messages to the server's stdin, with a JSON library.",
		New:    linesAreMessages,
	},
	{
		ID: "stdio-03", Class: "client-breaking", In: "A-E", Side: "both", Transport: "stdio",
		Text:   "A message has no raw newline, so it is not pretty-printed.",
		Source: "A-D:basic/transports#stdio; E:basic/transports/stdio; observed: TypeScript SDK never sees the message and the call times out, Go SDK reads it",
		Fix:    `Write newlines in strings as \n, and serialize without indentation.`,
		New: func(*Session) Hooks {
			var joiners [tap.Lanes]joiner
			return Hooks{On: []string{"message", "invalid", "batch"}, Message: func(m *Message, v *Verdict) {
				j := &joiners[m.Lane]
				switch {
				case m.Kind != jsonrpc.Invalid:
					j.flush()
					v.Hold()
				case m.Entry.Message.Kind != jsonrpc.Batch:
					if whole, lines := j.add(m); whole {
						v.frame = lines[0].frame
						text := fmt.Sprintf("a message on %d lines, the first %s", len(lines), lines[0].text)
						if slices.ContainsFunc(lines, func(l brokenLine) bool { return l.cut }) {
							text = "a newline in a string: " + text
						}
						v.Violate("", "", text)
					}
				}
			}}
		},
	},
	{
		ID: "stdio-04", Class: "observation", In: "A-E", Side: "both", Transport: "stdio",
		Text:   "Lines end in CRLF, or the last message before the end of the stream lacks its newline.",
		Source: "observed: CRLF is accepted by SDKs; TypeScript SDK never delivers a message without its newline",
		Fix:    "Write \\n after every message and flush.",
		New:    linesEnd,
	},
	{
		ID: "stdio-05", Class: "should", In: "A-E", Side: "client", Transport: "stdio",
		Text:   "The client shuts down by closing stdin and waiting before it sends a signal.",
		Source: "A-D:basic/lifecycle#stdio; E:basic/transports/stdio#shutdown",
		Fix:    "Close stdin first and give the server time to exit.",
		New:    closesFirst,
	},
	{
		ID: "stdio-06", Class: "should", In: "E", Side: "server", Transport: "stdio",
		Text:   "The server exits within 2 seconds after the end of stdin.",
		Source: "E:basic/transports/stdio#shutdown",
		Fix:    "Exit when reading stdin returns end of file.",
		New: func(*Session) Hooks {
			const prompt = 2 * time.Second
			closed, at := false, time.Duration(0)
			return Hooks{Frame: func(e *session.Entry, v *Verdict) {
				switch {
				case e.Frame.Lane != tap.Lifecycle || !v.judged():
				case e.Event.Name == tap.EventEOF && e.Event.Lane == tap.ToServer.String():
					closed, at = true, e.Frame.At
				case !closed || e.Event.Name != tap.EventSignal && e.Event.Name != tap.EventExit:
				default:
					closed = false
					after := e.Frame.At - at
					if e.Event.Name == tap.EventSignal && after <= prompt {
						v.Skip("the client did not wait")
						return
					}
					v.Check(after <= prompt, "", "", fmt.Sprintf("exits %v after the end of stdin", after.Round(time.Millisecond)))
				}
			}}
		},
	},
	{
		ID: "stdio-07", Class: "must", In: "E", Side: "server", Transport: "stdio",
		Text:   "The server sends no JSON-RPC request. A legacy session of the same process is exempt.",
		Source: "E:basic/transports/stdio#receiving-messages; E:basic/patterns/index",
		Fix:    "Return an input_required result instead.",
		New: each(func(m *Message, v *Verdict) {
			switch {
			case m.Path != "$":
			case m.Kind == jsonrpc.Request && !isModern(m.Session):
				v.Skip("the session may be of an older revision")
			default:
				v.Check(m.Kind != jsonrpc.Request, m.Method, "$.method", "a request of the server")
			}
		}, "message"),
	},
	{
		ID: "stdio-08", Class: "must", In: "E", Side: "client", Transport: "stdio",
		Text:   "The client sends no JSON-RPC response. A legacy session of the same process is exempt.",
		Source: "E:basic/transports/stdio#sending-messages; E:basic/transports/index#messages",
		Fix:    "Send the answer as inputResponses on the retry.",
		New: each(func(m *Message, v *Verdict) {
			response := m.Kind == jsonrpc.Response || m.Kind == jsonrpc.ErrorResponse
			switch {
			case m.Path != "$":
			case response && !isModern(m.Session):
				v.Skip("the session may be of an older revision")
			default:
				v.Check(!response, m.Subject(), "", "a response with the id "+string(m.ID))
			}
		}, "message"),
	},
	{
		ID: "stdio-10", Class: "client-breaking", In: "A-E", Side: "both", Transport: "stdio",
		Text:   "A line begins with a byte order mark (EF BB BF).",
		Source: "RFC 8259 s8.1; observed: TypeScript SDK loses the message, Go SDK closes the connection",
		Fix:    "Write UTF-8 without a byte order mark.",
		New: each(func(m *Message, v *Verdict) {
			if m.Path == "$" && (m.Kind == jsonrpc.Batch || m.Entry.Message.Kind != jsonrpc.Batch) {
				v.Check(!hasMark(m), m.Subject(), "", "EF BB BF at the beginning of the line")
			}
		}, "message", "batch", "invalid"),
	},
	{
		ID: "stdio-11", Class: "client-breaking", In: "A-E", Side: "both", Transport: "stdio",
		Text:   "One line holds one message only: no second one, and no text before or after it.",
		Source: "A-D:basic/transports#stdio; E:basic/transports/stdio; observed: TypeScript SDK loses the whole line, Go SDK closes the connection",
		Fix:    "Write message and newline in one call under a lock.",
		New: each(func(m *Message, v *Verdict) {
			switch {
			case m.Path != "$":
			case m.Kind != jsonrpc.Invalid:
				v.Hold()
			case m.Entry.Message.Kind != jsonrpc.Batch && !hasMark(m) && holdsMore(m) != "":
				v.Violate(holdsMore(m), "", string(m.Envelope))
			}
		}, "message", "invalid"),
	},
	{
		ID: "stdio-12", Class: "observation", In: "A-E", Side: "server", Transport: "stdio",
		Text:   "The server exits, or closes stdout, while requests are unanswered and the client has not begun the shutdown.",
		Source: "E:basic/transports/stdio#unexpected-termination; A-D:basic/lifecycle#stdio",
		Fix:    "Look at stderr and the exit status in the recording.",
		New:    answeredAtEnd(false), // the other case is rpc-14
	},
	{
		ID: "stdio-14", Class: "client-breaking", In: "A-E", Side: "server", Transport: "stdio",
		Text:   "While requests are open, the server does not exit with an error status, or by a signal that the client did not send.",
		Source: "process hygiene; A-D:basic/lifecycle#stdio; E:basic/transports/stdio#unexpected-termination",
		Fix:    "Read what the server wrote to stderr: mcptap show REC --stderr.",
		New:    crashes,
	},
}

// answeredAtEnd returns New for a rule that reports calls without a response if the client, or if
// the server, ended the session.
func answeredAtEnd(byClient bool) func(*Session) Hooks {
	return func(*Session) Hooks {
		over, begun := false, false // over: the server ended the session; begun: the client had started to
		return Hooks{
			Frame: func(e *session.Entry, _ *Verdict) {
				switch {
				case e.Frame.Lane != tap.Lifecycle || over:
				case e.Event.Name == tap.EventExit, e.Event.Name == tap.EventEOF && e.Event.Lane == tap.ToClient.String():
					over = true
				case e.Event.Name == tap.EventSignal, e.Event.Name == tap.EventEOF && e.Event.Lane == tap.ToServer.String():
					begun = true
				}
			},
			Call: func(c *session.Call, v *Verdict) {
				switch {
				case !v.Rule.binds(other(c.Lane)):
				case c.Status.Settled():
					v.Hold()
				case !over:
					v.Skip("the end of the session is not recorded")
				case begun == byClient && isForgotten(c):
					v.Observe(callName(c), "", "no response")
				}
			},
		}
	}
}

// callName names a call: the method and the tool, the prompt or the URI.
func callName(c *session.Call) string {
	switch c.Method {
	case "tools/call", "prompts/get", "resources/read":
		return strings.TrimSpace(c.Method + " " + c.Subject)
	}
	return c.Method
}

// crashes judges stdio-14.
func crashes(*Session) Hooks {
	how, frame, signalled := "", uint64(0), false // how the server exited, "" if it has not
	return Hooks{
		Frame: func(e *session.Entry, _ *Verdict) {
			switch {
			case e.Event.Name == tap.EventSignal:
				signalled = true
			case e.Event.Name != tap.EventExit || signalled:
			case e.Event.Signal != "":
				how, frame = "signal "+e.Event.Signal, e.Frame.Seq
			case e.Event.Code != nil && *e.Event.Code != 0:
				how, frame = fmt.Sprintf("exit status %d", *e.Event.Code), e.Frame.Seq
			}
		},
		Call: func(c *session.Call, v *Verdict) {
			switch {
			case !v.Rule.binds(other(c.Lane)):
			case how == "" || !isForgotten(c):
				v.Hold()
			default:
				v.frame = frame
				v.Violate(callName(c), "", how+" before the response")
			}
		},
	}
}

// closesFirst judges stdio-05. Closing stdin and sending the signal at the same time is what
// clients do with a process that they started only to learn the server's versions.
func closesFirst(*Session) Hooks {
	const sameTime = 50 * time.Millisecond
	closed, over := false, false
	var signalled uint64 // the frame of a SIGTERM while stdin was open
	var at time.Duration
	var revision jsonrpc.Revision
	judge := func(v *Verdict) {
		if signalled != 0 {
			v.frame, v.revision, signalled = signalled, revision, 0
			v.Violate("", "", "SIGTERM while stdin was open")
		}
	}
	return Hooks{
		Frame: func(e *session.Entry, v *Verdict) {
			eof := e.Event.Name == tap.EventEOF && e.Event.Lane == tap.ToServer.String()
			switch {
			case e.Frame.Lane != tap.Lifecycle || !v.judged():
			case signalled != 0 && eof && e.Frame.At-at < sameTime:
				signalled = 0
				v.Skip("stdin was closed at the same time")
			case signalled != 0 && (eof || e.Event.Name == tap.EventExit):
				judge(v)
			case over:
			case eof:
				closed = true
			case e.Event.Name == tap.EventSignal && e.Event.Signal == "SIGTERM" && !closed:
				over, signalled, at, revision = true, e.Frame.Seq, e.Frame.At, v.revision
			case e.Event.Name == tap.EventSignal, e.Event.Name == tap.EventExit: // SIGINT and others come from a terminal
				if over = true; closed {
					v.Hold()
				}
			}
		},
		End: judge,
	}
}

// isForgotten reports whether a call waits for a response. It excludes a server/discover that
// probes for versions, which may end with the server, and subscriptions, which do not end.
func isForgotten(c *session.Call) bool {
	return c.Status == session.CallPending && c.Notes&session.NoteProbe == 0 && c.Method != "subscriptions/listen"
}

// linesAreMessages judges stdio-01 and stdio-02.
func linesAreMessages(*Session) Hooks {
	var j joiner
	report := func(lines []brokenLine, v *Verdict) {
		for _, l := range lines {
			switch v.frame, v.revision = l.frame, l.revision; {
			case l.text == "":
				v.Observe("blank line", "", "blank")
			case l.notJSON != "":
				v.Violate(l.notJSON, "", notJSONWords[l.notJSON]+": "+l.text)
			case strings.Contains(l.text, `"jsonrpc"`):
				v.Violate("message", "", "a part of a message: "+l.text)
			default:
				v.Violate("", "", "not a message: "+l.text)
			}
		}
	}
	return Hooks{
		On: []string{"message", "invalid", "batch"},
		Message: func(m *Message, v *Verdict) {
			switch {
			case m.Path != "$":
			case m.Kind != jsonrpc.Invalid:
				v.Hold()
				report(j.flush(), v)
			case m.Entry.Message.Kind == jsonrpc.Batch:
				if m.Revision == jsonrpc.Rev20250326 { // else rpc-17
					v.Violate("", "$[*]", "not a message: "+string(m.Envelope))
				}
			case isReported(m):
			case !bytes.HasSuffix(m.Entry.Frame.Raw, []byte("\n")):
				v.Skip("the line is cut off by the end of the stream")
			default:
				if whole, lines := j.add(m); !whole { // else stdio-03
					report(lines, v)
				}
			}
		},
		End: func(v *Verdict) { report(j.flush(), v) },
	}
}

// linesEnd judges stdio-04. A line without its newline is the last one, or the recording was made
// from bare messages.
func linesEnd(*Session) Hooks {
	var last [tap.Lanes]uint64 // the frame of a line without its newline
	return Hooks{
		On: []string{"message", "batch"},
		Message: func(m *Message, v *Verdict) {
			if m.Path != "$" || m.Kind != jsonrpc.Batch && m.Entry.Message.Kind == jsonrpc.Batch {
				return
			}
			if last[m.Lane] != 0 {
				last[m.Lane] = 0
				v.Skip("the lines are recorded without their ends")
			}
			switch raw := m.Entry.Frame.Raw; {
			case !bytes.HasSuffix(raw, []byte("\n")):
				last[m.Lane] = m.Entry.Frame.Seq
			default:
				v.Check(!bytes.HasSuffix(raw, []byte("\r\n")), m.Lane.String(), "", "the line ends in CRLF")
			}
		},
		End: func(v *Verdict) {
			for lane, frame := range last {
				if frame != 0 {
					v.frame = frame
					v.Observe(tap.Lane(lane).String(), "", "the last line has no newline")
				}
			}
		},
	}
}

// isReported reports whether another rule reports an invalid line: rpc-03, rpc-04, rpc-08,
// rpc-11, rpc-17, rpc-19, stdio-10 or stdio-11.
func isReported(m *Message) bool {
	return hasMark(m) || m.Method != "" || isEmptyBatch(m) || hasNoOutcome(m) || holdsMore(m) != ""
}

// hasMark reports whether a line begins with a byte order mark.
func hasMark(m *Message) bool { return bytes.HasPrefix(m.Entry.Frame.Raw, []byte("\xef\xbb\xbf")) }

// holdsMore describes what an invalid line holds besides a message, "" if it holds none.
func holdsMore(m *Message) string {
	at, message := jsonrpc.Within(m.Envelope)
	switch {
	case message == nil:
		return ""
	case len(bytes.TrimSpace(m.Envelope[:at])) > 0:
		return "text before a message"
	case bytes.HasPrefix(bytes.TrimSpace(m.Envelope[at+len(message):]), []byte("{")):
		return "more than one message"
	}
	return "text after a message"
}

// Limits of a [joiner].
const (
	maxJoined = 1 << 20 // bytes
	maxLines  = 16 << 10
)

// A joiner joins invalid lines into a message that was written with newlines inside.
type joiner struct {
	lines             []brokenLine
	text              []byte
	depth             int // of open objects and arrays
	inString, escaped bool
}

// A brokenLine is a line that is not a message, with text "" if it is blank.
type brokenLine struct {
	frame    uint64
	revision jsonrpc.Revision
	text     string
	notJSON  string // see notJSON
	cut      bool   // it ends within a string
}

// notJSONWords describes the results of notJSON.
var notJSONWords = map[string]string{
	"NaN": "not JSON", "Infinity": "not JSON", "True": "Python, not JSON", "False": "Python, not JSON", "None": "Python, not JSON",
	"single quotes": "Python or JavaScript, not JSON",
}

// notJSON returns why a message is not JSON: NaN or Infinity, a Python word, or single quotes; ""
// for any other reason.
func notJSON(line []byte) string {
	if len(line) == 0 || line[0] != '{' && line[0] != '[' || !bytes.Contains(line, []byte("jsonrpc")) {
		return "" // probably a log line
	}
	for _, at := range jsonTokens.FindAllIndex(line, -1) {
		switch text := string(line[at[0]:at[1]]); {
		case text == "'":
			return "single quotes"
		case notJSONWords[text] != "" && at[1] < len(line):
			return text
		}
	}
	return ""
}

// jsonTokens matches strings, single quotes and words.
var jsonTokens = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"?|'|[A-Za-z]+`)

// add adds an invalid line. It returns the lines of a message that it completes, or the lines
// that are not part of any message.
func (j *joiner) add(m *Message) (whole bool, lines []brokenLine) {
	raw := m.Entry.Frame.Raw
	text := bytes.TrimSpace(raw)
	j.lines = append(j.lines, brokenLine{
		frame: m.Entry.Frame.Seq, revision: m.Revision, text: cut(string(text[:min(len(text), 2*maxText)])), notJSON: notJSON(text),
	})
	j.scan(raw)
	j.lines[len(j.lines)-1].cut = j.inString
	switch {
	case len(j.text) > maxJoined || len(j.lines) > maxLines, j.inString && !bytes.Contains(j.text, []byte(`"jsonrpc"`)):
	case j.depth > 0 && (j.text[0] == '{' || j.text[0] == '['):
		return false, nil
	default:
		whole = len(j.lines) > 1 && jsonrpc.Peek(j.text).Kind != jsonrpc.Invalid
	}
	return whole, j.flush()
}

// scan adds a line, with newlines in strings escaped, and tracks open strings, objects and arrays.
func (j *joiner) scan(line []byte) {
	for _, c := range line {
		if j.inString && (c == '\n' || c == '\r') {
			j.text, j.escaped = append(j.text, `\n`...), false
			continue
		}
		j.text = append(j.text, c)
		switch {
		case j.escaped:
			j.escaped = false
		case c == '\\':
			j.escaped = j.inString
		case c == '"':
			j.inString = !j.inString
		case j.inString:
		case c == '{' || c == '[':
			j.depth++
		case c == '}' || c == ']':
			j.depth--
		}
	}
}

// flush returns the lines and resets the joiner.
func (j *joiner) flush() []brokenLine {
	lines := j.lines
	*j = joiner{}
	return lines
}
