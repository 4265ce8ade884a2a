package diff

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A script is a short form for two sessions that differ in a few lines:
//
//	rev 2025-06-18          what is spoken, 002 for that dialect; with a or b before it, by one side
//	> METHOD [PARAMS]       a request of the client
//	< RESULT                its answer; <! ERROR where it fails
//	>~ METHOD [PARAMS]      a notification of the client, <~ one of the server
//	<? METHOD [PARAMS]      a request of the server
//	>= RESULT               its answer; >=! ERROR where it fails
//	<| TEXT                 a line of the server as it stands, >| one of the client
//	+ 500ms                 time passes
//	http 404                the status of the next answer's exchange
//
// A line that begins with a or b, as in a>, is in that session only, one with c or d in that
// baseline only. A request may have a name, as in >@x, to which a response refers, as in <@x; a
// response without a name belongs to the latest request. $id in params stands for the id of the
// latest request, $x for that of the request named x. A line that begins with = is an expected
// difference:
//
//	= CLASS KIND PLACE PATH [| part of a text] [xTIMES]
type script struct {
	t      *testing.T
	side   byte
	rev    jsonrpc.Revision
	frames []tap.Frame
	at     time.Duration
	id     map[tap.Lane]int
	names  map[string]int
	latest map[tap.Lane]int
	shift  int // the offset of the ids
	status int
}

// play writes the frames of one side.
func play(t *testing.T, side byte, lines []string) []tap.Frame {
	s := &script{t: t, side: side, id: map[tap.Lane]int{}, names: map[string]int{}, latest: map[tap.Lane]int{}}
	s.shift = 100 * int(side-'a')
	for _, l := range lines {
		if l[0] >= 'a' && l[0] <= 'd' {
			if l[0] != side {
				continue
			}
			l = l[1:]
		}
		s.line(l)
	}
	return s.frames
}

func (s *script) frame(lane tap.Lane, raw string) {
	s.at += time.Millisecond
	f := tap.Frame{Seq: uint64(len(s.frames) + 1), At: s.at, Lane: lane, Raw: []byte(raw + "\n")}
	if s.status != 0 {
		f.Exchange = uint64(s.latest[tap.ToServer] + 1)
	}
	f.Size = int64(len(f.Raw))
	s.frames = append(s.frames, f)
}

func (s *script) line(l string) {
	op, rest, _ := strings.Cut(l, " ")
	op, name, _ := strings.Cut(op, "@")
	method, params, _ := strings.Cut(rest, " ")
	switch op {
	case "rev":
		s.open(jsonrpc.Revision(rest))
	case ">":
		s.request(tap.ToServer, name, method, params)
	case "<?":
		s.request(tap.ToClient, name, method, params)
	case "<", "<!":
		s.answer(tap.ToClient, name, rest, op == "<!")
	case ">=", ">=!":
		s.answer(tap.ToServer, name, rest, op == ">=!")
	case ">~":
		s.notify(tap.ToServer, method, params)
	case "<~":
		s.notify(tap.ToClient, method, params)
	case "<|":
		s.frame(tap.ToClient, rest)
	case ">|":
		s.frame(tap.ToServer, rest)
	case "+":
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.t.Fatalf("%s: %v", l, err)
		}
		s.at += d
	case "http":
		s.status, _ = strconv.Atoi(rest)
	default:
		s.t.Fatalf("unknown line %q", l)
	}
}

// open writes the messages that open a session in a revision.
func (s *script) open(rev jsonrpc.Revision) {
	if rev == "002" {
		s.request(tap.ToServer, "", "initialize", `{"mcpVersion":"2025-06-18","clientCapabilities":{"supportsProgress":true}}`)
		s.answer(tap.ToClient, "", `{"server":{"name":"s","version":"1"},"serverCapabilities":{"supportsToolDiscovery":true}}`, false)
		s.notify(tap.ToServer, "initialized", "{}")
		return
	}
	s.rev = rev
	if jsonrpc.EraOf(rev) != jsonrpc.Legacy {
		return
	}
	s.request(tap.ToServer, "", "initialize", fmt.Sprintf(
		`{"protocolVersion":%q,"capabilities":{"roots":{},"sampling":{},"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}`, rev))
	s.answer(tap.ToClient, "", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`, rev), false)
	s.notify(tap.ToServer, "notifications/initialized", "")
}

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{},"elicitation":{}}`

func (s *script) request(lane tap.Lane, name, method, params string) {
	id := s.id[lane] + s.shift
	s.id[lane]++
	s.latest[lane] = id
	if name != "" {
		s.names[name] = id
	}
	if s.rev == jsonrpc.Rev20260728 && lane == tap.ToServer {
		switch {
		case params == "":
			params = `{"_meta":{` + modernMeta + `}}`
		case strings.Contains(params, `"_meta":{`):
			params = strings.Replace(params, `"_meta":{`, `"_meta":{`+modernMeta+`,`, 1)
		default:
			params = strings.TrimSuffix(params, "}") + `,"_meta":{` + modernMeta + `}}`
			params = strings.Replace(params, "{,", "{", 1)
		}
	}
	s.frame(lane, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q%s}`, id, method, s.params(lane, params)))
}

func (s *script) params(lane tap.Lane, params string) string {
	if params == "" {
		return ""
	}
	params = strings.ReplaceAll(params, "$id", strconv.Itoa(s.latest[tap.ToServer]))
	for name, id := range s.names {
		params = strings.ReplaceAll(params, "$"+name, strconv.Itoa(id))
	}
	if !json.Valid([]byte(params)) {
		s.t.Fatalf("not JSON: %s", params)
	}
	return `,"params":` + params
}

func (s *script) notify(lane tap.Lane, method, params string) {
	s.frame(lane, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q%s}`, method, s.params(lane, params)))
}

func (s *script) answer(lane tap.Lane, name, value string, fails bool) {
	id := s.latest[tap.ToServer+tap.ToClient-lane]
	if name != "" {
		id = s.names[name]
	}
	member := "result"
	if fails {
		member = "error"
	}
	if !json.Valid([]byte(value)) {
		s.t.Fatalf("not JSON: %s", value)
	}
	if s.status != 0 && lane == tap.ToClient {
		ex := s.frames[len(s.frames)-1].Exchange
		event := tap.Frame{Seq: uint64(len(s.frames) + 1), At: s.at, Lane: tap.Lifecycle, Exchange: ex, Raw: tap.Event{Name: tap.EventResponse, Status: s.status}.Encode()}
		event.Size = int64(len(event.Raw))
		s.frames = append(s.frames, event)
	}
	s.frame(lane, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%q:%s}`, id, member, value))
}
