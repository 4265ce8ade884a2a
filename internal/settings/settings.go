// Package settings defines the flags that environment variables can set too.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// A Setting is a flag that an environment variable can set too.
type Setting struct {
	Flag  string
	In    string // the commands that have it, "" for all
	Usage string // of the flag
	// Check reports what is wrong with a value of the variable. It may be nil.
	Check func(value string) error
	// Secret reports that the value must not be printed.
	Secret bool
}

// All are the settings, in the order of the manual.
var All = []Setting{
	{Flag: "dir", Usage: "`directory` of the recordings"},
	{Flag: "label", In: "stdio http", Usage: "`name` of the recording; by default that of the server's command or host"},
	{Flag: "queue", In: "stdio http", Usage: "`size` of the queue for the disk; when it is full, traffic slows down", Check: checkSize},
	{Flag: "off", In: "stdio http", Usage: "forward only, without recording", Check: checkBool},
	{Flag: "redact", In: "stdio http", Usage: "record pseudonyms instead of secrets, see mcptap redact"},
	{Flag: "otlp", In: "stdio http", Usage: "send a trace of each call to the OpenTelemetry collector at this `URL`, such as http://localhost:4318", Check: CheckCollector, Secret: true},
	{Flag: "otlp-header", In: "stdio http", Usage: "header field for the collector, as `'Name: value'`", Check: checkHeaders, Secret: true},
	{Flag: "listen", In: "http", Usage: "`address` to listen on; port 0 picks a free port", Check: endpoint.CheckAddress},
	{Flag: "name", In: "http", Usage: "another `host` name of the tap, with or without a port"},
	{Flag: "header", In: "http", Usage: "header field to add to each request, as `'Name: value'`; the value is not recorded", Check: checkHeaders, Secret: true},
	{Flag: "allow-origin", In: "http", Usage: "`origin` of web pages that are allowed with --header, such as http://localhost:6274"},
	{Flag: "ca-file", In: "http", Usage: "PEM `file` of additional certificates to trust", Check: checkFile},
	{Flag: "tls-cert", In: "http", Usage: "PEM `file` of a certificate, to listen with TLS", Check: checkFile},
	{Flag: "tls-key", In: "http", Usage: "PEM `file` of its key", Check: checkFile},
	{Flag: "rewrite-auth", In: "http", Usage: "replace the server's URL with the tap's in OAuth metadata and challenges", Check: checkBool},
	{Flag: "keep-secrets", In: "http", Usage: "record tokens, cookies and session ids as they are", Check: checkBool},
}

// Variable returns the name of the environment variable.
func (s *Setting) Variable() string {
	return "MCPTAP_" + strings.ToUpper(strings.ReplaceAll(s.Flag, "-", "_"))
}

// Describe sets the usage of the flags that are settings.
func Describe(flags *pflag.FlagSet) {
	for i := range All {
		s := &All[i]
		f := flags.Lookup(s.Flag)
		if f == nil {
			continue
		}
		suffix := map[string]string{"bool": "=1", "stringArray": ", one per line"}[f.Value.Type()]
		f.Usage = s.Usage + " (" + s.Variable() + suffix + ")"
	}
}

// Read sets the flags of a command from the environment, except those that the
// command line sets. It ignores invalid variables and returns their errors joined.
func Read(env func(string) string, command string, flags *pflag.FlagSet) error {
	var wrong []error
	for i := range All {
		s := &All[i]
		value := env(s.Variable())
		if value == "" || !strings.Contains(s.In, command) || flags.Changed(s.Flag) {
			continue
		}
		if err := s.set(flags.Lookup(s.Flag).Value, value); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", s.Variable(), err))
		}
	}
	return errors.Join(wrong...)
}

// Unknown returns the variables that have the prefix of settings but are not settings,
// each with the setting that was probably meant, "" if none is similar.
func Unknown(environ []string) (names, near []string) {
	var known []string
	for i := range All {
		known = append(known, strings.ReplaceAll(All[i].Flag, "-", "_"))
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

func (s *Setting) set(flag pflag.Value, value string) error {
	if s.Check != nil {
		if err := s.Check(value); err != nil {
			return err
		}
	}
	if list, ok := flag.(pflag.SliceValue); ok {
		return list.Replace(settingLines(value))
	}
	err := flag.Set(value)
	if err != nil && s.Flag == "redact" { // when in doubt, redact: recorded secrets cannot be taken back
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

// CheckCollector reports what is wrong with the URL of a collector.
func CheckCollector(value string) error {
	if _, err := otlp.TracesURL(value); err != nil {
		return hint.With(fmt.Errorf("invalid collector URL: %w", err), "a local collector usually listens at http://localhost:4318")
	}
	return nil
}

// DataDir returns the directory of the recordings: that of the flag --dir, MCPTAP_DIR, or the
// directory of the operating system goos for such data. It need not exist.
func DataDir(flag, goos string, env func(string) string, home func() (string, error)) (string, error) {
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
