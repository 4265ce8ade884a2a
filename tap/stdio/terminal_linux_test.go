package stdio

import (
	"os"
	"syscall"
	"testing"
)

// A tap that reads the terminal itself stays in the foreground, even if it could leave
// its group: in the background it would be stopped.
func TestTerminalAsStdin(t *testing.T) {
	master, slave := terminal(t)
	tp := tapping(t, self("echo"))
	tp.Args = append(self("host"), append([]string{exe()}, tp.Args[1:]...)...)
	tp.Stdin = slave
	tp.ExtraFiles = []*os.File{slave}
	tp.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	out, stdout, err := os.Pipe()
	must(t, err)
	defer out.Close()
	tp.Stdout = stdout
	must(t, tp.Start())
	must(t, stdout.Close())
	for _, typed := range []string{"one\n", "two\n"} {
		_, err := master.WriteString(typed)
		must(t, err)
		b := make([]byte, 100)
		if n, err := out.Read(b); string(b[:n]) != typed {
			t.Fatalf("read %q (%v), want %q", b[:n], err, typed)
		}
	}
	_, err = master.WriteString("\x04") // the end, as typed
	must(t, err)
	if code := tp.code(); code != 0 {
		t.Errorf("status %d", code)
	}
}
