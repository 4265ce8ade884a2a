package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/internal/wholefile"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
	"github.com/mcptap/mcptap/tap/view"
	clients "github.com/mcptap/mcptap/wrap"
)

// as in wrap.go

const doctorLong = `Checks the program, the data directory and its disk, the recordings, the MCPTAP_
variables, and the clients with their servers. It changes nothing. The exit code is 1
if something does not work.`

// A health is the result of a check.
type health uint8

const (
	healthy health = iota
	doubtful
	broken
)

// String returns ok, warning or problem.
func (h health) String() string { return [...]string{"ok", "warning", "problem"}[h] }

func (h health) style() term.Style { return [...]term.Style{term.Green, term.Magenta, term.Red}[h] }

// A finding is one line of the output of doctor.
type finding struct {
	what   string // the thing that was looked at
	health health
	text   string
	hint   string // what to do about it
}

// jsonFinding is a finding in `doctor --json`. The names are stable.
type jsonFinding struct {
	V      int    `json:"v"`
	Type   string `json:"type"` // "check"
	Check  string `json:"check"`
	Status string `json:"status"` // ok, warning or problem
	Text   string `json:"text"`
	Hint   string `json:"hint,omitempty"`
}

type doctorOptions struct{ json bool }

func newDoctor(a *app) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation",
		Long:  doctorLong,
		Args:  takes(0, 0, ""),
		RunE:  func(*cobra.Command, []string) error { return o.run(a) },
	}
	addJSON(cmd, &o.json)
	return cmd
}

func (o *doctorOptions) run(a *app) error {
	all := a.examine()
	w := bufio.NewWriter(a.stdout)
	bad := false
	l := a.printer(w)
	for _, f := range all {
		bad = bad || f.health == broken
		if o.json {
			l.Err = errors.Join(l.Err, term.WriteJSON(w, jsonFinding{text.Version, "check", f.what, f.health.String(), f.text, f.hint}))
			continue
		}
		l.Printf("%s  %s  %s\n", term.Pad(f.what, 10, false), l.Paint(term.Pad(f.health.String(), 7, false), f.health.style()), safe.String(f.text))
		if f.hint != "" {
			l.Printf("%21s%s\n", "", safe.String("→ "+f.hint))
		}
	}
	if err := errors.Join(l.Err, w.Flush()); err != nil {
		return err
	}
	if bad {
		return exitCode(exitNo)
	}
	return nil
}

// examine runs all checks.
func (a *app) examine() []finding {
	all := []finding{examineProgram()}
	if dir, err := a.dataDir(); err != nil {
		all = append(all, finding{"directory", broken, err.Error(), hintFor(err)})
	} else {
		all = append(all, a.examineDir(dir), a.examineRecording(dir), examineDisk(dir), examineRecordings(dir))
	}
	all = append(all, a.examineSettings()...)
	return append(all, a.examineClients()...)
}

func examineProgram() finding {
	f := finding{what: "program", text: fmt.Sprintf("mcptap %s, %s/%s", programVersion(), runtime.GOOS, runtime.GOARCH)}
	own, err := os.Executable()
	if err != nil {
		return f
	}
	f.text += ", " + own
	switch named, err := exec.LookPath("mcptap"); {
	case err != nil:
		f.health, f.text = doubtful, f.text+", which is not in PATH"
		f.hint = "use the full path in the configuration of clients, as `mcptap wrap` does"
	case !wholefile.Same(named, own):
		f.health, f.text = doubtful, f.text+"; PATH has another one, "+named
		f.hint = "remove one of them, or use full paths"
	}
	return f
}

// examineDir checks the data directory.
func (a *app) examineDir(dir string) finding {
	f := finding{what: "directory", text: dir}
	switch {
	case a.dirFlag != "":
		f.text += ", from --dir"
	case a.env("MCPTAP_DIR") != "":
		f.text += ", from MCPTAP_DIR"
	}
	if !filepath.IsAbs(dir) {
		f.health, f.text = doubtful, f.text+", which is relative to the working directory of the client"
		f.hint = "use an absolute path"
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.text += ", will be created by the first recording"
	case err != nil:
		f.health, f.text = broken, err.Error()
	case !info.IsDir():
		f.health, f.text, f.hint = broken, dir+" is not a directory", "set another directory with --dir or MCPTAP_DIR"
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		f.health, f.text = doubtful, fmt.Sprintf("%s is writable by other users (mode %04o)", f.text, info.Mode().Perm())
		f.hint = "chmod 700 " + term.Quote(dir)
	}
	return f
}

// examineRecording makes a recording in the data directory, reads it and removes it.
func (a *app) examineRecording(dir string) finding {
	f := finding{what: "recording", text: "a test recording was written, read and removed"}
	if err := tryRecording(nearest(dir)); err != nil {
		f.health, f.text = broken, "a recording cannot be written: "+err.Error()
		f.hint = "set a writable directory with --dir or MCPTAP_DIR"
	}
	return f
}

// nearest returns dir if it exists, else its closest existing parent.
func nearest(dir string) string {
	for {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func tryRecording(dir string) error {
	scratch, err := os.MkdirTemp(dir, ".mcptap-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	var failure error
	r := store.Create(scratch, tap.Header{Label: "doctor"}, store.Options{Warn: func(err error) { failure = err }})
	const line = `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	r.Chunk(tap.ToServer, []byte(line))
	r.Close()
	if failure != nil {
		return failure
	}
	rec, err := store.Open(r.Path())
	if err != nil {
		return err
	}
	for f, err := range rec.Frames(0) {
		if err != nil {
			return err
		}
		if string(f.Raw) == line {
			return nil
		}
	}
	return errors.New("the test recording is empty")
}

const (
	scarce = 1 << 30
	least  = 64 << 20 // the queue of one tap
)

func examineDisk(dir string) finding {
	f := finding{what: "disk"}
	free, err := freeBytes(nearest(dir))
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		f.text = "free space is unknown on this system"
		return f
	case err != nil:
		f.health, f.text = doubtful, err.Error()
		return f
	}
	f.text = view.Size(free) + " free"
	switch {
	case free < least:
		f.health = broken
	case free < scarce:
		f.health = doubtful
	}
	if f.health != healthy {
		f.hint = "remove old recordings with `mcptap prune`; if the disk is full, traffic passes unrecorded"
	}
	return f
}

func examineRecordings(dir string) finding {
	f := finding{what: "recordings"}
	infos, err := store.List(dir)
	if err != nil {
		f.health, f.text = broken, err.Error()
		return f
	}
	var size int64
	var live, waiting int
	var damaged, denied []string
	for i := range infos {
		info := &infos[i]
		size += info.Size
		switch {
		case info.Status == store.Live:
			live++
		case info.Status == store.Damaged:
			damaged = append(damaged, filepath.Base(info.Path))
		case info.Status == store.Denied:
			denied = append(denied, filepath.Base(info.Path))
		case info.Status == store.Cut && info.Err != nil:
			waiting++
		}
	}
	f.text = term.Plural(len(infos), "recording", "recordings") + ", " + view.Size(size)
	if live > 0 {
		f.text += fmt.Sprintf(", %d live", live)
	}
	if waiting > 0 {
		f.health, f.text = doubtful, fmt.Sprintf("%s, %d with unwritten frames in the queue", f.text, waiting)
		f.hint = "`mcptap ls` writes them once there is space"
	}
	if len(denied) > 0 {
		f.health, f.text = doubtful, f.text+", no permission to read: "+strings.Join(denied, ", ")
		f.hint = "they belong to another user, or their mode was changed"
	}
	if len(damaged) > 0 {
		f.health, f.text = doubtful, f.text+", damaged: "+strings.Join(damaged, ", ")
		f.hint = "`mcptap export FILE --salvage` writes what can be read"
	}
	return f
}

// examineSettings lists the variables that are set, with their effects.
func (a *app) examineSettings() (all []finding) {
	for i := range settings {
		s := &settings[i]
		value := a.env(s.variable())
		if value == "" {
			continue
		}
		usage := strings.ReplaceAll(s.usage, "`", "")
		f := finding{what: "settings", text: s.variable()}
		var err error
		if s.check != nil {
			err = s.check(value)
		}
		off, _ := strconv.ParseBool(value)
		switch {
		case err != nil:
			f.health, f.hint = doubtful, "correct or unset it; mcptap stdio ignores it, mcptap http does not start"
			f.text += ": " + err.Error()
		case s.flag == "off" && off:
			f.health, f.hint = doubtful, "unset MCPTAP_OFF"
			f.text += "=" + value + ": nothing is recorded"
		case s.secret:
			f.text += ": " + usage
		default:
			f.text += "=" + value + ": " + usage
		}
		all = append(all, f)
	}
	names, near := unknownVariables(a.environ)
	for i, name := range names {
		f := finding{"settings", doubtful, name + ": unknown variable, which has no effect", "`mcptap stdio --help` and `mcptap http --help` name the variables"}
		if near[i] != "" {
			f.hint = "did you mean " + near[i] + "?"
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		all = []finding{{what: "settings", text: "no variables are set"}}
	}
	return all
}

// examineClients reports, for each client with servers, how many are wrapped.
func (a *app) examineClients() (all []finding) {
	configs, err := (&wrapOptions{}).find(a)
	if err != nil {
		return []finding{{"clients", doubtful, err.Error(), ""}}
	}
	for _, c := range configs {
		f := finding{what: "client"}
		if c.err != nil {
			f.health, f.text = doubtful, fmt.Sprintf("%s: %v", c.place.Title, c.err)
			all = append(all, f)
			continue
		}
		entries := c.file.Entries()
		var wrapped, gone []string
		for _, e := range entries {
			if e.Wrapped {
				wrapped = append(wrapped, e.Name)
				if _, err := exec.LookPath(e.Tap); e.Kind == clients.Stdio && e.Tap != "" && err != nil {
					gone = append(gone, e.Name)
				}
			}
		}
		f.text = fmt.Sprintf("%s: %d of %s wrapped, %s", c.place.Title, len(wrapped), term.Plural(len(entries), "server", "servers"), c.place.Path)
		if len(gone) > 0 {
			f.health = broken
			f.text = fmt.Sprintf("%s: %s cannot start: the mcptap that they name does not exist", c.place.Title, strings.Join(gone, ", "))
			f.hint = "run `mcptap unwrap --all && mcptap wrap --all`"
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		all = []finding{{what: "clients", text: "no client configuration found"}}
	}
	return all
}
