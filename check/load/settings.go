package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
)

// SettingsFile is the name of the settings file of `check`, in the directory of the lock or,
// without one, in the current directory.
const SettingsFile = ".mcptap.yaml"

// checkSettings are the flags of `check` that the file may set. The value is true for those
// that name files, relative to the settings file.
var checkSettings = map[string]bool{
	"rule": false, "no-rule": false, "expect": false, "forbid": false, "fail-on": false, "locked": false, "lock": true, "baseline": true,
}

// Settings sets the flags that the settings file has and the command line does not. The file is
// in the directory of the lock, or in the current directory if lock is "".
func Settings(flags *pflag.FlagSet, lock string, say func(string)) error {
	dir := filepath.Dir(lock) // "." without one
	name := filepath.Join(dir, SettingsFile)
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	data, err := readSmall(name)
	var file, values map[string]yaml.Node
	if err == nil {
		d := yaml.NewDecoder(bytes.NewReader(data))
		if err = d.Decode(&file); err == nil && d.Decode(new(any)) != io.EOF {
			err = errors.New("data after the settings")
		} else if err == io.EOF { // an empty file
			err = nil
		}
	}
	for key, value := range file {
		if err != nil {
			break
		}
		if key != "check" {
			return fmt.Errorf("%s: unknown key %s (want check)", term.Quote(name), term.Quote(key))
		}
		err = value.Decode(&values)
	}
	var wrong *yaml.TypeError
	if errors.As(err, &wrong) {
		err = errors.New("the settings must be in an object named check")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", term.Quote(name), err)
	}
	var used []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		isFile, known := checkSettings[key]
		if !known {
			return hint.With(fmt.Errorf("%s: unknown setting %s", term.Quote(name), term.Quote(key)), "want "+strings.Join(slices.Sorted(maps.Keys(checkSettings)), ", "))
		}
		if flags.Changed(key) {
			continue
		}
		value := values[key]
		list := []*yaml.Node{&value}
		if value.Kind == yaml.SequenceNode {
			list = value.Content
		}
		for _, v := range list {
			text := v.Value
			if v.Kind != yaml.ScalarNode || v.Tag == "!!null" || v.Value == "" {
				return fmt.Errorf("%s: line %d: %s must be a value or a list of values, and not empty", term.Quote(name), v.Line, key)
			}
			var yes bool
			if key == "locked" && v.Decode(&yes) == nil {
				text = strconv.FormatBool(yes)
			}
			if isFile && !filepath.IsAbs(text) {
				text = filepath.Join(dir, text)
			}
			if err := flags.Set(key, text); err != nil { // locked is the only one that is not text
				return fmt.Errorf("%s: line %d: %s must be true or false", term.Quote(name), v.Line, key)
			}
		}
		used = append(used, key)
	}
	if len(used) > 0 {
		say(fmt.Sprintf("%s sets %s", name, strings.Join(used, ", ")))
	}
	return nil
}
