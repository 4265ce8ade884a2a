package stdio

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/mcptap/mcptap/tap"
)

// A standing is the position of the tap among process groups, which determines how
// signals reach it and its server.
type standing struct {
	name string
	attr syscall.SysProcAttr
}

var standings = []standing{
	{"member of a group", syscall.SysProcAttr{}},
	{"leader of a group", syscall.SysProcAttr{Setpgid: true}},
	{"leader of a session", syscall.SysProcAttr{Setsid: true}},
}

func TestEachSignalIsForwardedOnce(t *testing.T) {
	for _, st := range standings {
		t.Run(st.name, func(t *testing.T) {
			tp := tapping(t, self("signals"))
			tp.SysProcAttr = &st.attr
			in, out := tp.pipes()
			wantLine(t, out, "ready")
			var want []string
			for _, sig := range forwarded {
				if sig == syscall.SIGTSTP {
					continue // TestStopAndContinue
				}
				must(t, tp.Process.Signal(sig))
				wantLine(t, out, signalName(sig))
				want = append(want, signalName(sig))
			}
			_, _ = io.WriteString(in, "last\n")
			must(t, in.Close())
			if rest, _ := io.ReadAll(out); string(rest) != "last\n" {
				t.Errorf("further output: %q", rest)
			}
			if code := tp.code(); code != 0 {
				t.Errorf("status %d", code)
			}
			var noted []string
			for _, e := range tp.recorded().Notes {
				if e.Name == tap.EventSignal {
					noted = append(noted, e.Signal)
				}
			}
			if fmt.Sprint(noted) != fmt.Sprint(want) {
				t.Errorf("noted %v, want %v", noted, want)
			}
		})
	}
}

// A host that leads a group signals the group, as the Python SDK does: the signal must
// also reach the server's children, each once.
func TestGroupSignalReachesTheServersChildren(t *testing.T) {
	tp := tapping(t, sh("exec 3<&0; "+exe()+" role:signals <&3 & exec "+exe()+" role:signals"))
	tp.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, out := tp.pipes()
	wantLine(t, out, "ready")
	wantLine(t, out, "ready")
	must(t, syscall.Kill(-tp.Process.Pid, syscall.SIGTERM))
	wantLine(t, out, "SIGTERM")
	wantLine(t, out, "SIGTERM")
	must(t, in.Close())
	if rest, _ := io.ReadAll(out); len(rest) > 0 {
		t.Errorf("further output: %q", rest)
	}
	if code := tp.code(); code != 0 {
		t.Errorf("status %d", code)
	}
}

// Ctrl-C on the terminal and a change of its size reach the server once, whether
// the tap is the terminal's foreground group or was started by a member of it.
func TestTerminalSignals(t *testing.T) {
	keys := map[byte]string{3: "SIGINT", 28: "SIGQUIT"}
	for _, hosted := range []bool{false, true} {
		t.Run(fmt.Sprintf("hosted=%v", hosted), func(t *testing.T) {
			master, slave := terminal(t)
			tp := tapping(t, self("signals"))
			if hosted {
				tp.Args = append(self("host"), append([]string{exe()}, tp.Args[1:]...)...)
			}
			tp.ExtraFiles = []*os.File{slave}
			tp.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
			in, out := tp.pipes()
			wantLine(t, out, "ready")
			ready(t, tp, hosted)
			for key, name := range keys {
				_, err := master.Write([]byte{key})
				must(t, err)
				wantLine(t, out, name)
				_, _ = io.WriteString(in, "next\n")
				wantLine(t, out, "next")
			}
			resize(t, master)
			wantLine(t, out, "SIGWINCH")
			must(t, in.Close())
			if rest, _ := io.ReadAll(out); len(rest) > 0 {
				t.Errorf("further output: %q", rest)
			}
			if code := tp.code(); code != 0 {
				t.Errorf("status %d", code)
			}
		})
	}
}

// A server that reads the terminal is stopped by the system if the tap leads a group,
// since the server then has a group of its own. The keys for that must still end the
// server or stop the tap, as the user has no other way.
func TestServerStoppedByTheTerminal(t *testing.T) {
	master, slave := terminal(t)
	tp := tapping(t, sh("read -r answer </dev/tty"))
	tp.ExtraFiles = []*os.File{slave}
	tp.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	in, _ := tp.pipes()
	defer in.Close()
	server := tp.serverPID()
	stopped := func() bool { return state(server) == "T" }
	press := func(key byte) {
		_, err := master.Write([]byte{key})
		must(t, err)
	}
	eventually(t, "the server to be stopped", stopped)
	press(26)
	eventually(t, "the tap to stop with it", func() bool { return state(tp.Process.Pid) == "T" })
	must(t, syscall.Kill(tp.Process.Pid, syscall.SIGCONT))
	eventually(t, "the tap to continue", func() bool { return state(tp.Process.Pid) != "T" && stopped() })
	press(3)
	if code := tp.code(); code != 128+int(syscall.SIGINT) {
		t.Errorf("status %d", code)
	}
}

// resize changes the size of a terminal.
func resize(t *testing.T, master *os.File) {
	t.Helper()
	size := [4]uint16{50, 132} // struct winsize
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
		t.Fatal(errno)
	}
}

// ready waits until a tap that is a member of a group has left it.
func ready(t *testing.T, tp *rig, hosted bool) {
	t.Helper()
	server := tp.serverPID()
	if !hosted {
		if group(server) != server {
			t.Errorf("the server of a leader is in group %d, want its own", group(server))
		}
		return
	}
	if group(server) != tp.Process.Pid {
		t.Errorf("the server is in group %d, want its host's, %d", group(server), tp.Process.Pid)
	}
	if tapPID := parent(server); group(tapPID) != tapPID {
		t.Errorf("the tap is in group %d", group(tapPID))
	}
}

// terminal makes a pseudo-terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no pseudo-terminal, and CI must not skip this: %v", err)
		}
		t.Skipf("SKIPPED: SIGNALS OF A TERMINAL ARE NOT TESTED, there is no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	var n, unlock int32
	ioctl := func(req uintptr, arg *int32) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), req, uintptr(unsafe.Pointer(arg))); errno != 0 {
			t.Fatal(errno)
		}
	}
	ioctl(syscall.TIOCSPTLCK, &unlock)
	ioctl(syscall.TIOCGPTN, &n)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}

// stat returns the fields of /proc/PID/stat from the state on.
func stat(pid int) []string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, ok := strings.Cut(string(b), ") ")
	if !ok {
		return []string{"gone", "0", "0"}
	}
	return strings.Fields(rest)
}

func state(pid int) string { return stat(pid)[0] }

func parent(pid int) (n int) { _, _ = fmt.Sscan(stat(pid)[1], &n); return n }

func group(pid int) (n int) { _, _ = fmt.Sscan(stat(pid)[2], &n); return n }

func dead(pid int) bool { s := state(pid); return s == "gone" || s == "Z" || s == "X" }

func TestKilledTapKillsTheServer(t *testing.T) {
	for _, st := range standings {
		t.Run(st.name, func(t *testing.T) {
			// It would survive the end of its stdin and every catchable signal.
			tp := tapping(t, sh("trap '' TERM INT HUP; while :; do sleep 1; done"))
			tp.SysProcAttr = &st.attr
			in, _ := tp.pipes()
			defer in.Close()
			pid := tp.serverPID()
			must(t, tp.Process.Kill())
			_ = tp.Wait()
			eventually(t, "the server to die", func() bool { return dead(pid) })
		})
	}
}

func TestServerThatIgnoresSIGTERM(t *testing.T) {
	tp := tapping(t, sh("trap '' TERM; echo ready; cat; exit 2"))
	in, out := tp.pipes()
	wantLine(t, out, "ready")
	for i := range 3 {
		must(t, tp.Process.Signal(syscall.SIGTERM))
		line := fmt.Sprint("still here ", i)
		_, err := io.WriteString(in, line+"\n")
		must(t, err)
		wantLine(t, out, line)
	}
	must(t, in.Close())
	if code := tp.code(); code != 2 {
		t.Errorf("status %d", code)
	}
}

func TestSignalKillsTheServer(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGALRM} {
		tp := tapping(t, []string{"cat"})
		in, _ := tp.pipes()
		defer in.Close()
		tp.serverPID()
		must(t, tp.Process.Signal(sig))
		if code := tp.code(); code != 128+int(sig) {
			t.Errorf("%v: status %d", sig, code)
		}
		if e := tp.recorded().note(t, tap.EventExit, tap.Lifecycle); e.Signal != signalName(sig) {
			t.Errorf("%v: recorded %+v", sig, e)
		}
	}
}

// A signal that comes while the tap closes its recording must not change the
// status.
func TestLateSignal(t *testing.T) {
	tp := tapping(t, sh("exit 3"), "linger=300ms")
	in, _ := tp.pipes()
	defer in.Close()
	eventually(t, "Run to return", func() bool { _, err := os.Stat(tp.out()); return err == nil })
	must(t, tp.Process.Signal(syscall.SIGTERM))
	must(t, tp.Process.Signal(syscall.SIGHUP))
	if code := tp.code(); code != 3 {
		t.Errorf("status %d", code)
	}
}

func TestIgnoredHangupStaysIgnored(t *testing.T) {
	tp := tapping(t, []string{"cat"})
	tp.Path, tp.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh", exe()}, tp.Args[1:]...)
	in, out := tp.pipes()
	tp.serverPID()
	must(t, tp.Process.Signal(syscall.SIGHUP))
	must(t, syscall.Kill(tp.serverPID(), syscall.SIGHUP))
	_, _ = io.WriteString(in, "alive\n")
	wantLine(t, out, "alive")
	must(t, in.Close())
	if code := tp.code(); code != 0 {
		t.Errorf("status %d", code)
	}
	if n := tp.recorded().count(tap.EventSignal); n != 0 {
		t.Errorf("%d signals were forwarded", n)
	}
}

func TestStopAndContinue(t *testing.T) {
	tp := tapping(t, self("echo"))
	tp.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, out := tp.pipes()
	server := tp.serverPID()
	for range 3 {
		_, _ = io.WriteString(in, "before\n")
		wantLine(t, out, "before")
		must(t, tp.Process.Signal(syscall.SIGTSTP))
		eventually(t, "both to stop", func() bool { return state(tp.Process.Pid) == "T" && state(server) == "T" })
		_, _ = io.WriteString(in, "during\n")
		must(t, tp.Process.Signal(syscall.SIGCONT))
		wantLine(t, out, "during")
	}
	must(t, in.Close())
	if code := tp.code(); code != 0 {
		t.Errorf("status %d", code)
	}
}

func TestServerThatCatchesSIGTSTPIsNotStopped(t *testing.T) {
	tp := tapping(t, self("signals", "tstp"))
	tp.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, out := tp.pipes()
	wantLine(t, out, "ready")
	must(t, tp.Process.Signal(syscall.SIGTSTP))
	wantLine(t, out, "SIGTSTP")
	_, _ = io.WriteString(in, "working\n")
	wantLine(t, out, "working")
	must(t, in.Close())
	if code := tp.code(); code != 0 {
		t.Errorf("status %d", code)
	}
}

// A signal that arrives before the server has started waits for it.
func TestSignalBeforeTheStart(t *testing.T) {
	cmd := exec.Command(exe(), "role:early", "cat")
	in, err := cmd.StdinPipe()
	must(t, err)
	defer in.Close()
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGUSR1) {
		t.Errorf("status %d: the server did not get the signal", code)
	}
}

func init() { roles["early"] = roleEarly }

// roleEarly is a tap that gets a signal before it has started its server.
func roleEarly(args []string) int {
	sigs := make(chan os.Signal, 1)
	catchSignals(sigs)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGUSR1)
	for len(sigs) == 0 {
		runtime.Gosched()
	}
	code, _ := runWith(Config{Command: args}, sigs, func() {})
	return code
}
