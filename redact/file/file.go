// Package file copies recordings without their secrets, and reports what was replaced.
package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/redact"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

// Key returns the key of pseudonyms: the content of a file, or a random key.
func Key(file string) ([]byte, error) {
	if file == "" {
		key := make([]byte, 32)
		_, err := rand.Read(key)
		return key, err
	}
	key, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--key-file: %w", err)
	}
	if len(key) < 16 {
		return nil, hint.With(fmt.Errorf("--key-file: %s has only %d bytes", term.Quote(file), len(key)), "`head -c 32 /dev/urandom > key` creates a key")
	}
	return key, nil
}

// Copy writes the redacted recording. It reads src twice: a value that has a name in one
// frame may occur without it in an earlier one.
func Copy(ctx context.Context, name string, src recording.Source, r *redact.Redactor) error {
	c := redact.NewCopier(r)
	info, err := pass(ctx, src, r, c)
	if err != nil {
		return err
	}
	r.Again()
	header := r.Header(info.Header)
	header.ID = store.NewID()
	err = recording.Copy(ctx, name, header, src, func(f *tap.Frame) error {
		c.Frame(f)
		return nil
	})
	c.End()
	return err
}

// Find finds what Copy would replace.
func Find(ctx context.Context, src recording.Source, r *redact.Redactor) error {
	_, err := pass(ctx, src, r, redact.NewCopier(r))
	return err
}

// pass finds what to redact in the header and the frames.
func pass(ctx context.Context, src recording.Source, r *redact.Redactor, c *redact.Copier) (store.Info, error) {
	info, err := src.Info()
	if err != nil {
		return info, err
	}
	r.Header(info.Header)
	if err := recording.Each(ctx, src, c.Frame); err != nil {
		return info, err
	}
	c.End()
	return info, nil
}

// jsonRedaction is a line of `redact --json`. The names are stable.
type jsonRedaction struct {
	V     int    `json:"v"`
	Type  string `json:"type"` // "finding"
	Rule  string `json:"rule"`
	Where string `json:"where"`
	Times uint64 `json:"times"`
	First uint64 `json:"first_seq,omitempty"`
}

// Report prints what was replaced, as a table or as JSON.
func Report(l *term.Printer, found []redact.Finding, asJSON bool) error {
	var rows [][]term.Cell
	for _, f := range found {
		if asJSON {
			l.Err = errors.Join(l.Err, term.WriteJSON(l.W, jsonRedaction{text.Version, "finding", f.Rule, f.Where, f.Times, f.First}))
			continue
		}
		first := ""
		if f.First > 0 {
			first = strconv.FormatUint(f.First, 10)
		}
		rows = append(rows, []term.Cell{{Text: escape.String(f.Rule), Style: term.Plain}, {Text: strconv.FormatUint(f.Times, 10), Style: term.Plain}, {Text: first, Style: term.Dim}, {Text: escape.String(f.Where), Style: term.Plain}})
	}
	if len(rows) > 0 {
		l.Table([]term.Column{{Title: "RULE"}, {Title: "TIMES", Right: true}, {Title: "FIRST", Right: true, Rank: 1}, {Title: "WHERE", Least: 20}}, rows)
	}
	return l.Err
}

// Warn warns about rules that matched nothing, and about ordinary words that are kept.
func Warn(r *redact.Redactor, warn func(string)) {
	for _, rule := range r.Unused() {
		warn("warning: --rule " + term.Quote(rule) + " matched nothing")
	}
	kept := r.Kept()
	for i, f := range kept {
		if i == maxKeptWarnings {
			warn(fmt.Sprintf("warning: %d more values are kept elsewhere", len(kept)-i))
			break
		}
		warn(fmt.Sprintf("warning: %s: the value at %s may be an ordinary word and is kept elsewhere, first in frame %d", escape.String(f.Rule), escape.String(f.Where), f.First))
	}
	if len(kept) > 0 {
		warn(`hint: --rule 'pattern:\bWORD\b' replaces a word everywhere`)
	}
}

// maxKeptWarnings is the maximum number of warnings about words that are kept.
const maxKeptWarnings = 20

// Options parses the rules of a flag.
func Options(flag string, rules []string, emails bool) (redact.Options, error) {
	opt := redact.Options{Emails: emails}
	for _, text := range rules {
		rule, err := redact.ParseRule(text)
		if err != nil {
			return opt, hint.With(fmt.Errorf("%s: %w", flag, err), "key:NAME, header:NAME, path:$.a.b or pattern:REGEX")
		}
		opt.Rules = append(opt.Rules, rule)
	}
	return opt, nil
}
