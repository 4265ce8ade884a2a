package randtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/longtest"
)

var (
	seedFlag     = flag.Int64("randtest.seed", -1, "only this seed")
	seedsFlag    = flag.String("randtest.seeds", "", "seeds FROM-TO")
	featuresFlag = flag.String("randtest.features", "", "only these features, separated by commas; after a - all but these")
	checksFlag   = flag.String("randtest.checks", "", "only these checks, separated by commas")
	planFlag     = flag.Bool("randtest.plan", false, "print the plans")
	patienceFlag = flag.Duration("randtest.patience", 10*time.Second, "how long to wait for a message")
	shrinkFlag   = flag.Bool("randtest.shrink", false, "find the smallest plan that fails")
	keepFlag     = flag.String("randtest.keep", "", "put the recordings into this directory and keep them")
)

// serverVariable is the environment variable that tells the stdio server process which plan to play.
const serverVariable = "MCPTAP_RANDTEST_SERVER"

// A spec identifies a plan.
type spec struct {
	Seed      uint64
	Transport string
	Without   []string
	Removed   map[int]bool
	Others    bool // other ids
	Loose     bool
	Log       string
}

func (s spec) plan() *Plan {
	p := newPlan(s.Seed, s.Transport, s.Without).without(s.Removed)
	if s.Others {
		p.Vars = p.others()
	}
	return p
}

// environment returns the environment for a process that may run the server.
func (s spec) environment() []string {
	text, err := json.Marshal(s)
	if err != nil { // numbers, strings and a map
		panic(err)
	}
	return append(os.Environ(), serverVariable+"="+string(text))
}

var mcptap string // the program

func TestMain(m *testing.M) {
	if text := os.Getenv(serverVariable); text != "" {
		var s spec
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			panic(err)
		}
		serveStdio(s.plan(), s.Loose, s.Log)
	}
	flag.Parse()
	dir, err := os.MkdirTemp("", "randtest")
	if err == nil {
		mcptap = filepath.Join(dir, "mcptap")
		build := exec.Command("go", "build", "-o", mcptap, "github.com/mcptap/mcptap/cmd/mcptap")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// A trial is the checks of one plan.
type trial struct {
	spec   spec
	p      *Plan
	dir    string
	rec    string // the recording
	checks []string
	failed map[string]string // the failures, by check
	ran    map[string]bool
	// patience is how long the client waits for a message.
	patience time.Duration
}

// The checks. Those after tap need its recording.
const (
	direct    = "direct"  // the client and the server without mcptap
	tap       = "tap"     // through mcptap http or mcptap stdio
	record    = "record"  // the recording has the bytes, in causal order
	forms     = "text"    // export as NDJSON and as a transcript, import, show
	exact     = "exact"   // the header fields of the mock, and the spelling of event streams
	mock      = "mock"    // mcptap mock, the same ids: messages, statuses, ends
	ids       = "ids"     // other ids and tokens
	instant   = "instant" // --pace instant
	eager     = "eager"   // a client that does not wait for what it does not need
	cross     = "cross"   // on another transport, only the messages
	same      = "same"    // mcptap diff of two recordings of the plan, with other ids
	throughIt = "diff"    // mcptap diff of the recording and of one of the mock
	replay    = "replay"  // mcptap replay against the scripted server
)

var allChecks = []string{direct, tap, record, forms, exact, mock, ids, instant, eager, cross, same, throughIt, replay}

func (t *trial) run() {
	if *keepFlag == "" {
		defer os.RemoveAll(t.dir)
	}
	t.failed, t.ran = map[string]string{}, map[string]bool{}
	t.check(direct, t.direct)
	t.check(tap, func() (err error) {
		t.rec, err = t.tap("rec", t.spec)
		return err
	})
	if t.rec == "" || t.failed[direct] != "" {
		return
	}
	t.check(record, t.record)
	t.check(forms, t.text)
	t.check(mock, func() error { return t.onMock(t.p, t.p.Vars, false, "") })
	t.check(ids, func() error { return t.onMock(t.p, t.p.others(), false, "") })
	t.check(instant, func() error { return t.onMock(t.p, t.p.Vars, false, "instant") })
	t.check(eager, func() error { return t.onMock(t.p, t.p.Vars, true, "instant") })
	t.check(cross, func() error {
		if other := t.p.onTransport(); other != nil {
			return t.onMock(other, other.Vars, false, "")
		}
		return nil
	})
	t.check(same, t.same)
	t.check(throughIt, t.diffMock)
	t.check(replay, t.replay)
}

func (t *trial) check(name string, f func() error) {
	if !slices.Contains(t.checks, name) && !(name == mock && slices.Contains(t.checks, exact)) {
		return
	}
	t.note(name, f())
}

// note records the result of a check.
func (t *trial) note(name string, err error) {
	t.ran[name] = slices.Contains(t.checks, name)
	if err != nil && t.failed[name] == "" {
		t.failed[name] = err.Error()
	}
}

// direct plays the plan without mcptap.
func (t *trial) direct() error {
	if t.p.Transport == stdio {
		return t.piped(t.spec, os.Args[0])
	}
	return t.served(t.spec, func(addr string, play func(string) error) error { return play(addr) })
}

// tap plays the plan of a spec through a tap, and returns the recording.
func (t *trial) tap(name string, of spec) (string, error) {
	data := filepath.Join(t.dir, name)
	if t.p.Transport == stdio {
		err := t.piped(of, mcptap, "stdio", "--dir", data, "--", os.Args[0])
		return recordingIn(data), err
	}
	err := t.served(of, func(addr string, play func(string) error) error { return tapped(data, of.Seed, addr, play) })
	return recordingIn(data), err
}

// tapped plays through an HTTP tap in front of an address.
func tapped(data string, seed uint64, addr string, play func(addr string) error) error {
	p, err := start("http", "--dir", data, fmt.Sprintf("--keep-secrets=%t", seed%2 == 0), "http://"+addr)
	if err != nil {
		return err
	}
	err = play(p.host())
	return errors.Join(err, p.stop(143))
}

func recordingIn(dir string) string {
	if files, _ := filepath.Glob(filepath.Join(dir, "*.mcptap")); len(files) == 1 {
		return files[0]
	}
	return ""
}

// client returns a client for a plan.
func (t *trial) client(p *Plan, v Vars) *client {
	c := newClient(p, v)
	c.patience = t.patience
	return c
}

// piped plays a plan with the scripted server in a command, and compares all bytes.
func (t *trial) piped(of spec, command ...string) error {
	p := of.plan()
	of.Log = filepath.Join(t.dir, "server")
	c := t.client(p, p.Vars)
	words, code, err := c.overPipes(of.environment(), command...)
	stdin, _ := os.ReadFile(of.Log)
	return errors.Join(err,
		differ("stdout", p.received(nil, true, p.Vars), string(c.got[nil].body)),
		differ("stdin", p.received(nil, false, p.Vars), string(stdin)),
		differ("stderr", p.stderr(), words),
		differ("exit status", strconv.Itoa(p.Exit), strconv.Itoa(code)))
}

// served plays a plan with a scripted server that listens, and compares all bytes. via connects the
// client to the server's address.
func (t *trial) served(of spec, via func(addr string, play func(addr string) error) error) error {
	p := of.plan()
	s := newServer(p, maps.Clone(p.Vars), false)
	if err := s.listen(); err != nil {
		return err
	}
	defer s.close()
	return via(s.v["host"], func(addr string) error {
		c := t.client(p, p.Vars)
		c.arrived = s.arrived
		if err := c.over(addr); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		errs := []error{
			differ("not planned", "", strings.Join(s.unknown, "\n")),
			differ("messages to the server", p.received(nil, false, s.v), string(s.lane)),
			differ("messages to the client", p.received(nil, true, s.v), string(c.got[nil].body))}
		for _, x := range p.exchanges() {
			name := fmt.Sprintf("exchange %d: ", x.Number)
			want, got := p.received(x, true, s.v), string(c.got[x].raw)
			if c.got[x].how == "hang-up" && want == got+"\r\n" {
				got = want // the client left between a chunk and its line end
			}
			errs = append(errs,
				differ(name+"request", p.received(x, false, s.v), s.got[x]),
				differ(name+"response", want, got),
				differ(name+"end", planned(p, x, s.v).how, c.got[x].how))
		}
		return errors.Join(errs...)
	})
}

// over plays the plan at an address.
func (c *client) over(addr string) error {
	c.addr, c.v["host"] = addr, addr
	defer c.close()
	if c.p.Transport == ws {
		return c.overSocket(addr)
	}
	return c.run()
}

// overPipes plays the plan with a command, and returns the command's stderr and exit status.
func (c *client) overPipes(environment []string, command ...string) (words string, code int, err error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = environment
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return "", 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", 0, err
	}
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	read := make(chan bool)
	go func() {
		defer close(read)
		for b, n := make([]byte, 4096), 0; err == nil; {
			n, err = out.Read(b)
			c.line(string(b[:n]))
		}
		c.end()
	}()
	failed := c.run()
	_ = c.stdin.Close()
	timer := time.AfterFunc(c.patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	<-read
	err = cmd.Wait()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		err = nil
	}
	return stderr.String(), cmd.ProcessState.ExitCode(), errors.Join(failed, err)
}

// differ returns an error that shows where two texts differ.
func differ(what, want, got string) error {
	if want == got {
		return nil
	}
	a, b := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	for len(a) > 1 && len(b) > 1 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 1 && len(b) > 1 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return fmt.Errorf("%s\n      want: %s\n      got:  %s", what, visible(strings.Join(a, "")), visible(strings.Join(b, "")))
}

// A process is a listening mcptap.
type process struct {
	cmd    *exec.Cmd
	url    string
	stderr bytes.Buffer
}

func start(args ...string) (*process, error) {
	p := &process{cmd: exec.Command(mcptap, args...)}
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line := make([]byte, 0, 256)
	for !bytes.HasSuffix(line, []byte("\n")) {
		b := make([]byte, 256)
		n, err := out.Read(b)
		line = append(line, b[:n]...)
		if err != nil {
			return nil, fmt.Errorf("%s did not print an address: %w", args[0], p.stop(0))
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	p.url = strings.TrimSpace(string(line))
	return p, nil
}

// host returns the address of the process.
func (p *process) host() string {
	_, rest, _ := strings.Cut(p.url, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// stop ends the process. It returns an error if the process wrote to stderr or its exit status differs
// from the given one. Messages about where a tap listens, what it records, and that a mock plays an
// HTTP failure are not errors.
func (p *process) stop(code int) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
	said := ""
	for line := range strings.Lines(p.stderr.String()) {
		if !strings.HasPrefix(line, "mcptap: connect the client to ") && !strings.HasPrefix(line, "mcptap: recording ") &&
			!(strings.HasPrefix(line, "mcptap: mock: ") && strings.Contains(line, " gets HTTP ")) {
			said += line
		}
	}
	return differ("stderr and exit status", fmt.Sprintf(" %d", code), fmt.Sprintf("%s %d", said, p.cmd.ProcessState.ExitCode()))
}

func TestSessions(t *testing.T) {
	from, to := uint64(0), uint64(30)
	switch {
	case *seedFlag >= 0:
		from, to = uint64(*seedFlag), uint64(*seedFlag)+1
	case *seedsFlag != "":
		if _, err := fmt.Sscanf(*seedsFlag, "%d-%d", &from, &to); err != nil {
			t.Fatal(err)
		}
	case !longtest.Sampled(t):
		to = 300
	}
	var mu sync.Mutex
	compared := map[string]int{}
	t.Run("seeds", func(t *testing.T) {
		for seed := from; seed < to; seed++ {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				one := newTrial(t, specOf(seed))
				one.session(t)
				mu.Lock()
				defer mu.Unlock()
				for check, ran := range one.ran {
					if ran {
						compared[check]++
					}
				}
			})
		}
	})
	if *checksFlag != "" || *seedFlag >= 0 {
		return
	}
	for _, check := range allChecks {
		t.Logf("check %s: %d of %d plans", check, compared[check], to-from)
		if compared[check] == 0 && check != exact {
			t.Errorf("check %s compared no plan", check)
		}
	}
}

// specOf returns the spec for the plan of a seed.
func specOf(seed uint64) spec {
	s := spec{Seed: seed}
	list, but := strings.CutPrefix(*featuresFlag, "-")
	named := strings.Split(list, ",")
	for _, f := range features {
		if *featuresFlag != "" && slices.Contains(named, f.name) == but {
			s.Without = append(s.Without, f.name)
		}
	}
	return s
}

// session runs the checks of one plan.
func (one *trial) session(t *testing.T) {
	if *planFlag {
		t.Log(one.p)
	}
	one.run()
	for _, check := range one.checks {
		failed := one.failed[check]
		if failed != "" && *shrinkFlag {
			if least := shrink(t, one.spec, check); least != nil {
				t.Errorf("the smallest plan for which check %s fails:\n%s  %s", check, least.p, least.failed[check])
				continue
			}
		}
		if failed != "" {
			t.Errorf("seed %d %s %s, check %s: %s\n   features %s", one.p.Seed, one.p.Transport, one.p.Revision, check, failed, strings.Join(one.p.Features, ","))
		}
	}
}

// shrink returns the smallest plan found for which a check still fails, and how.
func shrink(t *testing.T, s spec, check string) *trial {
	s.Removed = map[int]bool{}
	var smallest *trial
	fails := func(removed map[int]bool) bool {
		if len(s.plan().without(removed).Steps) == 0 {
			return false
		}
		one := newTrial(t, s)
		one.spec.Removed = removed
		one.p = one.spec.plan()
		one.checks = []string{direct, tap, check}
		one.run()
		how := alike(one.failed[check])
		if how == "" || smallest != nil && how != alike(smallest.failed[check]) {
			return false
		}
		smallest, s.Removed = one, removed
		return true
	}
	if !fails(s.Removed) {
		return nil
	}
	for size := len(smallest.p.acts()) / 2; size > 0; {
		smaller := false
		for part := range slices.Chunk(smallest.p.acts(), size) {
			removed := maps.Clone(s.Removed)
			for _, act := range part {
				removed[act] = true
			}
			smaller = fails(removed) || smaller
		}
		if !smaller {
			size /= 2
		}
	}
	return smallest
}

// alike returns what failures of one kind have in common: most of their first line.
func alike(failure string) string {
	line, _, _ := strings.Cut(failure, "\n")
	if strings.HasPrefix(line, "exchange ") {
		line = strings.TrimRight(line, "0123456789")
	}
	return line[:min(len(line), 30)]
}

func newTrial(t *testing.T, s spec) *trial {
	one := &trial{spec: s, p: s.plan(), dir: tempDir(t), patience: *patienceFlag}
	one.checks = allChecks
	if *checksFlag != "" {
		one.checks = append(strings.Split(*checksFlag, ","), direct, tap)
	}
	return one
}

// tempDir returns a new directory for one plan.
func tempDir(t *testing.T) string {
	if *keepFlag == "" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(*keepFlag, "plan")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
