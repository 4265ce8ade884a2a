package stdio

import (
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strings"
	"syscall"
	"testing"
)

func init() { roles["report"] = roleReport }

// roleReport prints everything that a process inherits.
func roleReport(args []string) int {
	fmt.Printf("argv %q\n", os.Args)
	dir, _ := os.Getwd()
	fmt.Println("cwd", dir)
	mask := syscall.Umask(0)
	fmt.Printf("umask %o\n", mask)
	fmt.Printf("env %q\n", os.Environ())
	entries, _ := os.ReadDir("/proc/self/fd")
	var fds []string
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && e.Name() > "2" {
			fds = append(fds, e.Name()+" "+to)
		}
	}
	sort.Strings(fds)
	fmt.Printf("fds %q\n", fds)
	return 0
}

// A server inherits the same with and without the tap. The direct run is the same
// command without the tap.
func TestInheritance(t *testing.T) {
	extra, err := os.CreateTemp(t.TempDir(), "extra")
	must(t, err)
	defer extra.Close()
	report := self("report", "a b", "", "ü\xff", "--flag")
	for _, c := range []struct {
		name  string
		outer []string // the program that runs the command
		inner []string
	}{
		{"report", nil, report},
		{"umask and limits", sh(`umask 027; ulimit -Sn 512; exec "$@"`), sh("umask; ulimit -Sn; ulimit -Hn; ulimit -c")},
		{"ignored signals", sh(`trap "" HUP INT TSTP TTOU; exec "$@"`), []string{"grep", "-E", "^Sig(Ign|Blk)|^ShdPnd", "/proc/self/status"}},
		{"no signals", nil, []string{"grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(argv []string) string {
				if c.outer != nil {
					argv = append(append(append([]string{}, c.outer...), outerName(c.outer)...), argv...)
				}
				cmd := exec.Command(argv[0], argv[1:]...)
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "Z=1", "A=two words", "EMPTY=", "odd", "A=again"}
				cmd.Dir = "/"
				cmd.ExtraFiles = []*os.File{extra, nil, extra}
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%q: %v", argv, err)
				}
				return string(out)
			}
			direct := run(c.inner)
			tapped := run(append(self("tap", "--"), c.inner...))
			if direct != tapped || len(direct) == 0 {
				t.Errorf("direct:\n%s\nthrough the tap:\n%s", direct, tapped)
			}
		})
	}
}

// outerName returns the $0 that sh -c requires before its arguments.
func outerName(outer []string) []string {
	if strings.HasSuffix(outer[0], "/sh") {
		return []string{"sh"}
	}
	return nil
}
