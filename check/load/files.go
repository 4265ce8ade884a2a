package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/tap/filter"
)

// Rules returns the rules that a flag names, by their ids or families: rpc-07, rpc or rpc-*.
func Rules(flag string, names []string) (rules []*check.Rule, err error) {
	names = slices.Clone(names)
	for i, name := range names {
		names[i] = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), "*"), "-")
	}
	for _, r := range check.Rules() {
		family, _, _ := strings.Cut(r.ID, "-")
		if slices.Contains(names, r.ID) || slices.Contains(names, family) {
			rules = append(rules, r)
		}
	}
	ids := RuleIDs()
	for _, name := range names {
		if !slices.ContainsFunc(ids, func(id string) bool { return id == name || strings.HasPrefix(id, name+"-") }) {
			return nil, unknownRule(flag, name, ids)
		}
	}
	return rules, nil
}

// RuleIDs returns the ids of all rules.
func RuleIDs() (ids []string) {
	for _, r := range check.Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}

// HintRules is the hint for an unknown rule.
const HintRules = "`mcptap check --explain RULE` prints a rule, and the shell completes their names"

func unknownRule(flag, name string, ids []string) error {
	advice := HintRules
	if near := filter.Nearest(name, ids); near != "" {
		advice = "did you mean " + near + "?"
	}
	return hint.With(fmt.Errorf("%s: no rule %s", flag, term.Quote(name)), advice)
}

// readSmall reads a small regular file: reading a pipe could block, and a device could be endless.
func readSmall(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", term.Quote(name))
	case info.Size() > maxSmall:
		return nil, fmt.Errorf("%s is larger than 64 MiB", term.Quote(name))
	}
	return os.ReadFile(name)
}

// maxSmall is the maximum size of a lock, a baseline or a settings file.
const maxSmall = 64 << 20

// ReadLock reads a lock.
func ReadLock(name string) (*check.Lock, error) { return read(name, check.ReadLock) }

// ReadBaseline reads a baseline.
func ReadBaseline(name string) (*check.Baseline, error) { return read(name, check.ReadBaseline) }

func read[T any](name string, parse func(data []byte) (T, error)) (v T, err error) {
	data, err := readSmall(name)
	if err != nil {
		return v, err
	}
	if v, err = parse(data); err != nil {
		err = fmt.Errorf("%s: %w", term.Quote(name), err)
	}
	return v, err
}

// FrameLines returns the line of a text on which each frame begins. A finding whose frame is
// not among them refers to line 1.
func FrameLines(name string) map[uint64]int {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	lines, r := map[uint64]int{}, bufio.NewReader(f)
	for n := 1; ; n++ {
		head, err := r.ReadSlice('\n')
		var seq uint64
		if rest, ok := bytes.CutPrefix(head, []byte("-- ")); ok {
			number, _, _ := bytes.Cut(rest, []byte(" "))
			seq, _ = strconv.ParseUint(string(number), 10, 64)
		} else if _, rest, ok := bytes.Cut(head, []byte(`"type":"frame","seq":`)); ok && head[0] == '{' {
			number, _, _ := bytes.Cut(rest, []byte(","))
			seq, _ = strconv.ParseUint(string(number), 10, 64)
		}
		if seq > 0 && lines[seq] == 0 {
			lines[seq] = n
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = r.ReadSlice('\n')
		}
		if err != nil {
			return lines
		}
	}
}

// NearPath returns the path of a file with slashes, relative to the working directory if the
// file is below it: build servers identify files by such paths.
func NearPath(file string) string {
	if dir, err := os.Getwd(); err == nil && filepath.IsAbs(file) {
		if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
			file = rel
		}
	}
	return filepath.ToSlash(file)
}

// WithoutFindings returns an error if a filter uses findings, which only `mcptap show` supports.
func WithoutFindings(f *filter.Filter) error {
	if !f.Needs().Has(filter.NeedFindings) {
		return nil
	}
	return hint.With(errors.New("filter: is:finding and rule: are for mcptap show only"), "`mcptap check --rule` selects rules")
}
