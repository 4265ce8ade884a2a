package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// Lists name the calls that failed without an error, and their causes.
func TestShowFailuresWithoutError(t *testing.T) {
	to := func(at time.Duration, lane tap.Lane, raw string) tap.Frame {
		return tap.Frame{At: at, Lane: lane, Raw: []byte(raw + "\n")}
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}`
	cancelled := []tap.Frame{
		to(0, tap.ToServer, call),
		to(2*time.Second, tap.ToServer, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`),
		to(9*time.Second, tap.Lifecycle, `{"event":"exit","code":0}`),
	}
	unanswered := []tap.Frame{to(0, tap.ToServer, call), to(time.Second, tap.Lifecycle, `{"event":"signal","signal":"SIGTERM"}`),
		to(3*time.Second, tap.Lifecycle, `{"event":"exit","signal":"SIGTERM"}`)}
	failed := []tap.Frame{to(0, tap.ToServer, call), to(time.Second, tap.ToClient, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`)}
	notStarted := []tap.Frame{to(0, tap.Lifecycle, `{"event":"spawn_failed","command":["nosuch"],"error":"no such file"}`)}
	http := func(target, session string) (frames []tap.Frame) {
		for _, f := range []tap.Frame{
			to(0, tap.Lifecycle, `{"event":"request","method":"POST","target":"`+target+`","header":[`+session+`]}`),
			{Lane: tap.ToServer, Form: tap.FormBody, Raw: []byte(call)},
			to(0, tap.Lifecycle, `{"event":"response","status":202}`),
			to(0, tap.Lifecycle, `{"event":"end","by":"server"}`),
		} {
			f.Exchange = 1
			frames = append(frames, f)
		}
		return frames
	}
	for name, c := range map[string]struct {
		frames []tap.Frame
		args   string
		want   string
	}{
		"cancelled":               {cancelled, "--calls", `(?m)^cancelled: #1 hang \(after 2.00s\)$`},
		"cancelled frame":         {cancelled, "1", `(?m)^response  none until it was cancelled after 2.00s, by #2$`},
		"cancelled, no error":     {cancelled, "is:error", `hint: 1 call was cancelled: is:cancelled\n$`},
		"cancelled, no call":      {cancelled, "--calls is:error", `hint: 1 call was cancelled: is:cancelled\n$`},
		"failed, not pending":     {failed, "--calls is:pending", `hint: 1 error: is:error\n$`},
		"unanswered frame":        {unanswered, "1", `(?m)^response  none, after 1h00m; the client ended the server with SIGTERM$`},
		"unanswered, no call":     {unanswered, "--calls tool:hang is:error", `hint: 1 call is unanswered: is:pending\n$`},
		"not started, no frame":   {notStarted, "is:pending", `matches is:pending\nmcptap: the server could not be started: nosuch: no such file\n$`},
		"not started, no call":    {notStarted, "--calls is:pending", `matches is:pending\nmcptap: the server could not be started: nosuch: no such file\n$`},
		"accepted":                {http("/mcp", `["Mcp-Session-Id","x"]`), "--calls", `… unanswered .* hang  HTTP 202 without a response `},
		"accepted, summary":       {http("/mcp", `["Mcp-Session-Id","x"]`), "", `(?m)^unanswered: #2 hang \(HTTP 202 without a response, 1h00m\)$`},
		"accepted frame":          {http("/mcp", `["Mcp-Session-Id","x"]`), "2", `(?m)^response  none, after 1h00m; HTTP 202 without a response$`},
		"no cancelled selections": {cancelled, "--calls is:cancelled", `by the client(.|\n)* in 1h00m\n$`},
	} {
		a, out := testApp(nil)
		a.run(append([]string{"show", record(t, c.frames)}, strings.Fields(c.args)...))
		if !regexp.MustCompile(c.want).MatchString(out.String()) {
			t.Errorf("%s: %q is missing in\n%s", name, c.want, out)
		}
	}
}
