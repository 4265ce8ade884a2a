package main

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
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// settingsFile is the name of the file with settings of `check`, beside the lock or, without
// one, in the current directory.
const settingsFile = ".mcptap.yaml"

// checkSettings are the flags of `check` that the file may set. Those with true name files,
// relative to it.
var checkSettings = map[string]bool{
	"rule": false, "no-rule": false, "expect": false, "forbid": false, "fail-on": false, "locked": false, "lock": true, "baseline": true,
}

// settings sets the flags that the file of settings has and the command line does not.
func (o *checkOptions) settings(a *app, cmd *cobra.Command) error {
	dir := filepath.Dir(o.lock) // "." without one
	name := filepath.Join(dir, settingsFile)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var file struct {
		Check map[string]yaml.Node `yaml:"check"`
	}
	if err == nil {
		d := yaml.NewDecoder(bytes.NewReader(data))
		d.KnownFields(true)
		if err = d.Decode(&file); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", quote(name), err)
	}
	var used []string
	for _, key := range slices.Sorted(maps.Keys(file.Check)) {
		isFile, known := checkSettings[key]
		if !known {
			return withHint(fmt.Errorf("%s: unknown setting %s", quote(name), quote(key)), "want "+strings.Join(slices.Sorted(maps.Keys(checkSettings)), ", "))
		}
		if cmd.Flags().Changed(key) {
			continue
		}
		value := file.Check[key]
		values := []*yaml.Node{&value}
		if value.Kind == yaml.SequenceNode {
			values = value.Content
		}
		for _, v := range values {
			text := v.Value
			if v.Kind != yaml.ScalarNode {
				return fmt.Errorf("%s: line %d: %s must be a value or a list of values", quote(name), v.Line, key)
			}
			if isFile && text != "" && !filepath.IsAbs(text) {
				text = filepath.Join(dir, text)
			}
			if err := cmd.Flags().Set(key, text); err != nil {
				return fmt.Errorf("%s: line %d: %w", quote(name), v.Line, err)
			}
		}
		used = append(used, key)
	}
	if len(used) > 0 {
		a.say(fmt.Sprintf("%s sets %s", name, strings.Join(used, ", ")))
	}
	return nil
}
