package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcptap/mcptap/export/otlp"
	"github.com/mcptap/mcptap/internal/endpoint"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/tap/filter"
)

// A setting is a flag that can be set by an environment variable, too.
type setting struct {
	flag  string
	in    string // the commands that have it, "" for all
	usage string // of the flag
	// check reports what is wrong with a value of the variable. It may be nil.
	check func(value string) error
	// secret reports that the value must not be printed.
	secret bool
}

var settings = []setting{
	{flag: "dir", usage: "`directory` of the recordings"},
	{flag: "label", in: "stdio http", usage: "`name` of the recording; by default that of the server's command or host"},
	{flag: "queue", in: "stdio http", usage: "`size` of the queue for the disk; when it is full, traffic slows down", check: checkSize},
	{flag: "off", in: "stdio http", usage: "forward only, without recording", check: checkBool},
	{flag: "redact", in: "stdio http", usage: "record pseudonyms instead of secrets, see mcptap redact"},
	{flag: "otlp", in: "stdio http", usage: "send a trace of each call to the OpenTelemetry collector at this `URL`, such as http://localhost:4318", check: checkCollector, secret: true},
	{flag: "otlp-header", in: "stdio http", usage: "header field for the collector, as `'Name: value'`", check: checkHeaders, secret: true},
	{flag: "listen", in: "http", usage: "`address` to listen on; port 0 picks a free port", check: endpoint.CheckAddress},
	{flag: "name", in: "http", usage: "another `host` name of the tap, with or without a port"},
	{flag: "header", in: "http", usage: "header field to add to each request, as `'Name: value'`; the value is not recorded", check: checkHeaders, secret: true},
	{flag: "allow-origin", in: "http", usage: "`origin` of web pages that are allowed with --header, such as http://localhost:6274"},
	{flag: "ca-file", in: "http", usage: "PEM `file` of further certificates to trust", check: checkFile},
	{flag: "tls-cert", in: "http", usage: "PEM `file` of a certificate, to listen with TLS", check: checkFile},
	{flag: "tls-key", in: "http", usage: "PEM `file` of its key", check: checkFile},
	{flag: "rewrite-auth", in: "http", usage: "replace the server's URL with the tap's in OAuth metadata and challenges", check: checkBool},
	{flag: "keep-secrets", in: "http", usage: "record tokens, cookies and session ids as they are", check: checkBool},
}

// variable returns the name of the environment variable.
func (s *setting) variable() string {
	return "MCPTAP_" + strings.ToUpper(strings.ReplaceAll(s.flag, "-", "_"))
}

// describeSettings sets the usage of the flags that are settings.
func describeSettings(flags *pflag.FlagSet) {
	for i := range settings {
		s := &settings[i]
		f := flags.Lookup(s.flag)
		if f == nil {
			continue
		}
		suffix := map[string]string{"bool": "=1", "stringArray": ", one per line"}[f.Value.Type()]
		f.Usage = s.usage + " (" + s.variable() + suffix + ")"
	}
}

// readSettings sets the flags of a command from the environment, except those that the
// command line sets. It ignores wrong variables, and returns their errors joined.
func readSettings(env func(string) string, command string, flags *pflag.FlagSet) error {
	var wrong []error
	for i := range settings {
		s := &settings[i]
		value := env(s.variable())
		if value == "" || !strings.Contains(s.in, command) || flags.Changed(s.flag) {
			continue
		}
		if err := s.set(flags.Lookup(s.flag).Value, value); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", s.variable(), err))
		}
	}
	return errors.Join(wrong...)
}

// unknownVariables returns the variables that begin as settings do and are not settings,
// each with the setting that was probably meant, "" if none is similar.
func unknownVariables(environ []string) (names, near []string) {
	var known []string
	for i := range settings {
		known = append(known, strings.ReplaceAll(settings[i].flag, "-", "_"))
	}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		word, ours := strings.CutPrefix(name, "MCPTAP_")
		if word = strings.ToLower(word); !ours || value == "" || slices.Contains(known, word) {
			continue
		}
		meant := filter.Nearest(word, known)
		for _, k := range known {
			if strings.HasPrefix(word, k+"_") {
				meant = k
			}
		}
		if meant != "" {
			meant = "MCPTAP_" + strings.ToUpper(meant)
		}
		names, near = append(names, name), append(near, meant)
	}
	return names, near
}

// warnVariables reports variables that are probably misspelled settings, in one line.
func (a *app) warnVariables() {
	var wrong []string
	names, near := unknownVariables(a.environ)
	for i, name := range names {
		if near[i] != "" {
			wrong = append(wrong, name+" is ignored (did you mean "+near[i]+"?)")
		}
	}
	if len(wrong) > 0 {
		a.say("warning: " + strings.Join(wrong, ", "))
	}
}

func (s *setting) set(flag pflag.Value, value string) error {
	if s.check != nil {
		if err := s.check(value); err != nil {
			return err
		}
	}
	if list, ok := flag.(pflag.SliceValue); ok {
		return list.Replace(settingLines(value))
	}
	err := flag.Set(value)
	if err != nil && s.flag == "redact" { // anything but a clear no: secrets that are recorded cannot be taken back
		err = flag.Set("true")
	}
	return err
}

func settingLines(value string) []string {
	return strings.Split(strings.TrimRight(value, "\r\n"), "\n")
}

func checkBool(value string) error {
	if _, err := strconv.ParseBool(value); err != nil {
		return errors.New(term.Quote(value) + " must be 1 or 0")
	}
	return nil
}

func checkSize(value string) error {
	_, err := term.ParseSize(value)
	return err
}

func checkFile(value string) error {
	_, err := os.Stat(value)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s does not exist", term.Quote(value))
	}
	return err
}

func checkHeaders(value string) error {
	_, err := endpoint.ParseHeaders("it", settingLines(value))
	return err
}

func checkCollector(value string) error {
	if _, err := otlp.TracesURL(value); err != nil {
		return hint.With(fmt.Errorf("invalid collector URL: %w", err), "a local collector usually listens at http://localhost:4318")
	}
	return nil
}

// dirArg returns the --dir flag for a suggested command, "" if none was given.
func (a *app) dirArg() string {
	if a.dirFlag == "" {
		return ""
	}
	return " --dir " + term.ShellQuote(a.dirFlag)
}

// dataDir returns the directory of the recordings: --dir, MCPTAP_DIR, or the
// directory of the operating system for such data. It need not exist.
func (a *app) dataDir() (string, error) {
	return findDataDir(a.dirFlag, runtime.GOOS, a.env, os.UserHomeDir)
}

func findDataDir(flag, goos string, env func(string) string, home func() (string, error)) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if dir := env("MCPTAP_DIR"); dir != "" {
		return dir, nil
	}
	if goos == "windows" {
		if dir := env("LocalAppData"); dir != "" {
			return filepath.Join(dir, "mcptap"), nil
		}
	} else if dir := env("XDG_STATE_HOME"); goos != "darwin" && filepath.IsAbs(dir) {
		// The XDG specification says to ignore a relative one.
		return filepath.Join(dir, "mcptap"), nil
	}
	dir, err := home()
	if err != nil || dir == "" {
		return "", hint.With(errors.New("no directory for recordings: there is no home directory"),
			"name a directory with --dir or MCPTAP_DIR")
	}
	switch goos {
	case "windows":
		return filepath.Join(dir, "AppData", "Local", "mcptap"), nil
	case "darwin":
		return filepath.Join(dir, "Library", "Application Support", "mcptap"), nil
	}
	return filepath.Join(dir, ".local", "state", "mcptap"), nil
}
