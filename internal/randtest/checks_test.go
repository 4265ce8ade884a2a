package randtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A frame is one line of an export.
type frame struct {
	Seq      int    `json:"seq"`
	Lane     string `json:"lane"`
	Raw      string `json:"raw"`
	Base64   []byte `json:"raw_base64"`
	Exchange int    `json:"exchange"`
	Form     string `json:"form"`
	event    struct {
		Event, Method, Reason string
		Status                int
		Header                [][2]string
	}
}

func command(args ...string) (string, error) {
	var out, words bytes.Buffer
	cmd := exec.Command(mcptap, args...)
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("mcptap %s: %w: %s", strings.Join(args, " "), err, words.String())
	}
	return out.String(), nil
}

// frames reads an export.
func frames(text string) (all []frame, err error) {
	for line := range strings.Lines(text) {
		var f frame
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			return nil, err
		}
		if f.Base64 != nil {
			f.Raw = string(f.Base64)
		}
		if f.Lane == "lifecycle" {
			if err := json.Unmarshal([]byte(f.Raw), &f.event); err != nil {
				return nil, err
			}
		}
		if f.Lane != "" {
			all = append(all, f)
		}
	}
	return all, nil
}

// record compares the recording with the plan.
func (t *trial) record() error {
	text, err := command("export", t.rec)
	if err != nil {
		return err
	}
	all, err := frames(text)
	if err != nil {
		return err
	}
	exchanges := t.p.exchanges()
	if len(exchanges) == 0 {
		exchanges = []*Exchange{nil}
	}
	var errs []error
	for i, x := range exchanges {
		number, name := 0, "lanes"
		if x != nil {
			number, name = i+1, fmt.Sprintf("exchange %d", x.Number)
		}
		if t.p.Transport == ws {
			number = 1
		}
		if number, err = numberOf(all, t.p, x, number); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, t.recorded(all, x, number, name))
	}
	return errors.Join(append(errs, t.causal(all))...)
}

// numberOf returns the number that the tap assigned to an exchange. The tap numbers requests in the
// order in which they arrived. The plan has the same order if the client waits.
func numberOf(all []frame, p *Plan, x *Exchange, number int) (int, error) {
	if x == nil {
		return number, nil
	}
	for _, f := range all {
		if f.Exchange == number && f.event.Event == "request" {
			return number, differ("method", x.Method, f.event.Method)
		}
	}
	return 0, fmt.Errorf("exchange %d is not recorded", x.Number)
}

// recorded compares the frames of one exchange, or of all lanes, with the plan.
func (t *trial) recorded(all []frame, x *Exchange, number int, name string) error {
	lanes := map[string]string{}
	status, newline := "", ""
	if t.p.Transport == ws {
		newline = "\n"
	}
	for _, f := range all {
		switch {
		case f.Exchange != number:
		case f.Lane == "lifecycle":
			if f.event.Event == "response" && f.event.Status >= 200 {
				status = fmt.Sprintf("%d %s", f.event.Status, f.event.Reason)
				for _, h := range f.event.Header {
					status += "\n" + h[0] + ": " + h[1]
				}
			}
		case t.p.Transport == ws && f.Form != "text":
		default:
			lanes[f.Lane] += f.Raw + newline
		}
	}
	up, down := t.p.received(nil, false, t.p.Vars), t.p.received(nil, true, t.p.Vars)
	if x != nil {
		want := planned(t.p, x, t.p.Vars)
		up, down = t.p.asked(x), string(want.body)
		head := want.status
		for _, f := range want.fields {
			name, value, _ := strings.Cut(f, ":")
			head += "\n" + name + ": " + strings.TrimSpace(value)
		}
		if err := differ(name+": head", t.p.hide(head), t.p.hide(status)); err != nil {
			return err
		}
	}
	return errors.Join(differ(name+": to_server", up, lanes["to_server"]), differ(name+": to_client", t.p.hide(down), t.p.hide(lanes["to_client"])))
}

// asked returns the body of a request.
func (p *Plan) asked(x *Exchange) string {
	for _, s := range p.Steps {
		if s.X == x && s.Kind == send {
			return p.Vars.expand(s.Body)
		}
	}
	return ""
}

func (p *Plan) stderr() (text string) {
	for _, s := range p.Steps {
		if s.Kind == stderr {
			text += s.Text
		}
	}
	return text
}

var pseudonym = regexp.MustCompile(`masked:[0-9a-f]+`)

// hide replaces the ids of sessions and their pseudonyms. The tap records the pseudonyms unless it
// keeps secrets.
func (p *Plan) hide(text string) string {
	text = pseudonym.ReplaceAllString(text, "masked")
	for name, value := range p.Vars {
		if name == "endpoint" {
			_, value, _ = strings.Cut(value, "=")
		}
		if name == "endpoint" || strings.HasPrefix(name, "session") {
			text = strings.ReplaceAll(text, value, "masked")
		}
	}
	return text
}

// causal compares the order of the frames with that of the steps. Each side waits for the other's
// steps, so a frame of one side comes after all earlier steps of the other. The frame of a body is
// recorded when the body ends.
func (t *trial) causal(all []frame) error {
	numbers := map[*Exchange]int{}
	for i, x := range t.p.exchanges() {
		numbers[x] = i + 1
	}
	newline := ""
	if t.p.Transport == ws {
		numbers[nil], newline = 1, "\n"
	}
	sent := map[*Exchange]int{}
	latest := map[bool]int{} // the last frame of each side
	for i, s := range t.p.Steps {
		lane, upTo := "to_client", 0
		if !s.Server {
			lane = "to_server"
		}
		switch {
		case s.Kind != send && s.Kind != event && !s.completes():
			continue
		case s.X != nil && !s.Server:
			upTo = len(t.p.Vars.expand(s.Body))
		default:
			sent[s.X] = 0
			for _, before := range t.p.Steps[:i+1] {
				if before.X == s.X && before.Server == s.Server && before.Kind != stderr && (s.X == nil || before.Kind == event || before.Kind == body) {
					sent[s.X] += len(t.p.Vars.expand(before.Text))
				}
			}
			upTo = sent[s.X]
		}
		seq := 0
		for _, f := range all {
			if f.Lane == lane && f.Exchange == numbers[s.X] && upTo > 0 {
				seq, upTo = f.Seq, upTo-len(f.Raw)-len(newline)
			}
		}
		if seq != 0 && seq <= latest[!s.Server] {
			return fmt.Errorf("frame %d is numbered before frame %d, which it follows: %s", seq, latest[!s.Server], visible(s.Text+s.Body))
		}
		latest[s.Server] = max(latest[s.Server], seq)
	}
	return nil
}

// completes reports whether a step completes a body.
func (s *Step) completes() bool {
	return s.Kind == body && s.X.Framing == "length" || s.Kind == end && s.X.Framing != "length" && !s.X.Events
}

// text exports the recording in both text formats, and compares what is read back with it.
func (t *trial) text() error {
	want, err := command("show", "--json", t.rec)
	if err != nil {
		return err
	}
	for _, ext := range []string{".ndjson", ".txtar"} {
		file := filepath.Join(t.dir, "export"+ext)
		if _, err := command("export", t.rec, "-o", file); err != nil {
			return err
		}
		dir := filepath.Join(t.dir, ext)
		if _, err := command("import", file, "--dir", dir); err != nil {
			return err
		}
		got, err := command("show", "--json", recordingIn(dir))
		if err != nil {
			return err
		}
		if ext == ".txtar" { // times are rounded in transcripts
			want, got = times.ReplaceAllString(want, ""), times.ReplaceAllString(got, "")
		}
		if err := differ("show --json of "+ext, want, got); err != nil {
			return err
		}
		first, err := t.contents(t.rec)
		if err != nil {
			return err
		}
		reread, err := t.contents(recordingIn(dir))
		if err := errors.Join(err, differ("frames of "+ext, first, reread)); err != nil {
			return err
		}
	}
	return nil
}

var times = regexp.MustCompile(`,"[a-z_]*_ns":[0-9]+`)

// contents returns the content of a recording without times.
func (t *trial) contents(rec string) (string, error) {
	text, err := command("export", rec)
	return times.ReplaceAllString(text, ""), err
}

// onMock plays a plan against mcptap mock, and compares what the client gets.
func (t *trial) onMock(p *Plan, v Vars, hasty bool, pace string) error {
	c := t.client(p, v)
	c.eager = hasty
	c.unordered = p != t.p && t.p.Transport != stdio
	args := []string{"mock", t.rec}
	if pace != "" {
		args = append(args, "--pace", pace)
	}
	if p == t.p {
		view := c.compare
		if hasty { // of two concurrent equal requests, either may arrive first
			view = c.compareAll
		}
		defer func() { t.note(exact, view((*reply).exactly)) }()
	}
	if p.Transport == stdio {
		words, code, err := c.overPipes(os.Environ(), append([]string{mcptap}, args...)...)
		return errors.Join(err, c.compare((*reply).messages), differ("stderr and exit status", " 0", fmt.Sprintf("%s %d", words, code)))
	}
	m, err := start(append(args, "--listen", "127.0.0.1:0")...)
	if err != nil {
		return err
	}
	err = c.over(m.host())
	return errors.Join(err, c.compare((*reply).messages), m.stop(0))
}

// compare compares what the client got with the recording, in a given view of the responses.
func (c *client) compare(view func(*reply) string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	want, got := c.p.received(nil, true, c.v), string(c.got[nil].body)
	if c.unordered {
		want, got = ordered(want), ordered(got)
	}
	errs := []error{differ("messages", want, got)}
	for _, x := range c.p.exchanges() {
		if got := c.got[x]; got != nil { // otherwise run has reported why
			errs = append(errs, differ(fmt.Sprintf("exchange %d", x.Number), view(planned(c.p, x, c.v)), view(got)))
		}
	}
	return errors.Join(errs...)
}

// compareAll is like compare, but a response may belong to another exchange.
func (c *client) compareAll(view func(*reply) string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var want, got []string
	for _, x := range c.p.exchanges() {
		if r := c.got[x]; r != nil {
			want, got = append(want, view(planned(c.p, x, c.v))), append(got, view(r))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	return differ("the responses", strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// ordered sorts lines.
func ordered(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

// same compares the recording with another recording of the plan with other ids.
func (t *trial) same() error {
	s := t.spec
	s.Others = true
	rec, err := t.tap("same", s)
	if err != nil {
		return err
	}
	return noDifference(t.rec, rec)
}

func noDifference(a, b string) error {
	out, err := command("diff", a, b, "--fail-on", "cosmetic", "--slower", "1h")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// diffMock compares the recording with a recording of the mock that plays it.
func (t *trial) diffMock() error {
	data := filepath.Join(t.dir, "mocked")
	c := t.client(t.p, t.p.Vars)
	if t.p.Transport == stdio {
		if _, _, err := c.overPipes(os.Environ(), mcptap, "stdio", "--dir", data, "--", mcptap, "mock", t.rec); err != nil {
			return err
		}
		return noDifference(t.rec, recordingIn(data))
	}
	m, err := start("mock", t.rec, "--listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	err = tapped(data, t.p.Seed, m.host(), func(addr string) error {
		return errors.Join(c.over(addr), ended(data, len(t.p.exchanges()), t.patience))
	})
	if err := errors.Join(err, m.stop(0)); err != nil {
		return err
	}
	return noDifference(t.rec, recordingIn(data))
}

// ended waits until a recording has the ends of a number of exchanges.
func ended(data string, exchanges int, patience time.Duration) error {
	for limit := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		text, err := command("export", "@last", "--dir", data) // it does not exist before it is flushed
		if err == nil && strings.Count(text, `{\"event\":\"end\"`) >= exchanges {
			return nil
		}
		if time.Now().After(limit) {
			return errors.New("not all exchanges end in the recording")
		}
	}
}

// replay plays the client half of the recording to the scripted server.
func (t *trial) replay() error {
	if slices.Contains(t.p.Features, "mid-session 404") {
		return nil // one session is played, and the scripted server has two
	}
	args := []string{"replay", t.rec, "--dir", filepath.Join(t.dir, "replayed"), "--timeout", t.patience.String()}
	s := t.spec
	s.Loose, s.Log = true, filepath.Join(t.dir, "replayed.log")
	cmd := exec.Command(mcptap, append(args, "--", os.Args[0])...)
	cmd.Env = s.environment()
	if t.p.Transport != stdio {
		srv := newServer(t.p, maps.Clone(t.p.Vars), true)
		if err := srv.listen(); err != nil {
			return err
		}
		defer srv.close()
		url := map[string]string{streamable: "http://%s/mcp", sse: "http://%s/sse", ws: "ws://%s/ws"}[t.p.Transport]
		cmd = exec.Command(mcptap, append(args, "--to", fmt.Sprintf(url, srv.v["host"]))...)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
