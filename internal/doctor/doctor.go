// Package doctor checks an installation: the program, the data directory and its disk, the recordings,
// the environment variables, and the clients with their servers.
package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/settings"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/internal/wholefile"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
	"github.com/mcptap/mcptap/tap/view"
	"github.com/mcptap/mcptap/wrap"
	"github.com/mcptap/mcptap/wrap/config"
)

// A Machine describes what to check.
type Machine struct {
	Version string // the program's version
	// DirFlag is the value of --dir; Dir is the data directory, unless NoDir is set.
	DirFlag, Dir string
	NoDir        error
	Hint         func(error) string // returns the hint for an error, or ""
	Env          func(string) string
	Environ      []string // all variables, as NAME=value
	// Clients reads the configuration files of the clients.
	Clients func() ([]config.File, error)
}

// Print checks a machine and prints what it finds, as text or as JSON. ok is false if something
// does not work.
func (m *Machine) Print(l *term.Printer, asJSON bool) (ok bool, _ error) {
	ok = true
	for _, f := range m.check() {
		ok = ok && f.health != broken
		if asJSON {
			l.Err = errors.Join(l.Err, term.WriteJSON(l.W, jsonFinding{text.Version, "check", f.what, f.health.String(), f.text, f.hint}))
			continue
		}
		l.Printf("%s  %s  %s\n", term.Pad(f.what, 10, false), l.Paint(term.Pad(f.health.String(), 7, false), f.health.style()), escape.String(f.text))
		if f.hint != "" {
			l.Printf("%21s%s\n", "", escape.String("→ "+f.hint))
		}
	}
	return ok, l.Err
}

// check runs all checks.
func (m *Machine) check() []finding {
	all := []finding{m.checkProgram()}
	if m.NoDir != nil {
		all = append(all, finding{"directory", broken, m.NoDir.Error(), m.Hint(m.NoDir)})
	} else {
		all = append(all, m.checkDir(m.Dir), checkRecording(m.Dir), checkDisk(m.Dir), checkRecordings(m.Dir))
	}
	all = append(all, m.checkSettings()...)
	return append(all, m.checkClients()...)
}

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
	what   string // what was checked
	health health
	text   string
	hint   string // how to fix it
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

func (m *Machine) checkProgram() finding {
	f := finding{what: "program", text: fmt.Sprintf("mcptap %s, %s/%s", m.Version, runtime.GOOS, runtime.GOARCH)}
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

// checkDir checks the data directory.
func (m *Machine) checkDir(dir string) finding {
	f := finding{what: "directory", text: dir}
	switch {
	case m.DirFlag != "":
		f.text += ", from --dir"
	case m.Env("MCPTAP_DIR") != "":
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

// checkRecording writes a recording to the data directory, reads it and removes it.
func checkRecording(dir string) finding {
	f := finding{what: "recording", text: "a test recording was written, read and removed"}
	if err := try(nearest(dir)); err != nil {
		f.health, f.text = broken, "a recording cannot be written: "+err.Error()
		f.hint = "set a writable directory with --dir or MCPTAP_DIR"
	}
	return f
}

// nearest returns dir if it exists, or else its nearest existing parent.
func nearest(dir string) string {
	for {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func try(dir string) error {
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

func checkDisk(dir string) finding {
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

func checkRecordings(dir string) finding {
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

// checkSettings lists the variables that are set, and their effects.
func (m *Machine) checkSettings() (all []finding) {
	for i := range settings.All {
		s := &settings.All[i]
		value := m.Env(s.Variable())
		if value == "" {
			continue
		}
		usage := strings.ReplaceAll(s.Usage, "`", "")
		f := finding{what: "settings", text: s.Variable()}
		var err error
		if s.Check != nil {
			err = s.Check(value)
		}
		off, _ := strconv.ParseBool(value)
		switch {
		case err != nil:
			f.health, f.hint = doubtful, "correct or unset it; mcptap stdio ignores it, mcptap http does not start"
			f.text += ": " + err.Error()
		case s.Flag == "off" && off:
			f.health, f.hint = doubtful, "unset MCPTAP_OFF"
			f.text += "=" + value + ": nothing is recorded"
		case s.Secret:
			f.text += ": " + usage
		default:
			f.text += "=" + value + ": " + usage
		}
		all = append(all, f)
	}
	names, near := settings.Unknown(m.Environ)
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

// checkClients reports, for each client with servers, how many are wrapped.
func (m *Machine) checkClients() (all []finding) {
	configs, err := m.Clients()
	if err != nil {
		return []finding{{"clients", doubtful, err.Error(), ""}}
	}
	for _, c := range configs {
		f := finding{what: "client"}
		if c.Err != nil {
			f.health, f.text = doubtful, fmt.Sprintf("%s: %v", c.Place.Title, c.Err)
			all = append(all, f)
			continue
		}
		entries := c.Entries()
		var wrapped, gone []string
		for _, e := range entries {
			if e.Wrapped {
				wrapped = append(wrapped, e.Name)
				if _, err := exec.LookPath(e.Tap); e.Kind == wrap.Stdio && e.Tap != "" && err != nil {
					gone = append(gone, e.Name)
				}
			}
		}
		f.text = fmt.Sprintf("%s: %d of %s wrapped, %s", c.Place.Title, len(wrapped), term.Plural(len(entries), "server", "servers"), c.Place.Path)
		if len(gone) > 0 {
			f.health = broken
			f.text = fmt.Sprintf("%s: %s cannot start: the mcptap that they name does not exist", c.Place.Title, strings.Join(gone, ", "))
			f.hint = "run `mcptap unwrap --all && mcptap wrap --all`"
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		all = []finding{{what: "clients", text: "no client configuration found"}}
	}
	return all
}
