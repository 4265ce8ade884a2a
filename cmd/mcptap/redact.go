package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/redact"
	redacting "github.com/mcptap/mcptap/redact/record"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

const redactLong = `Copies a recording and replaces secrets by pseudonyms. Equal secrets get equal
pseudonyms, so the copy still mocks, replays and diffs. What was replaced is printed by
rule and place. Secrets are

  - values whose name says so: password, API_KEY, --token, Authorization, Cookie
  - values with a known shape: keys of services, JSON Web Tokens, private keys,
    passwords in URLs; with --emails, e-mail addresses
  - what a --rule names:
      key:NAME        members and parameters with that name; * matches any letters
      header:NAME     header fields with that name
      path:$.a..b[*]  a place in the JSON of a frame
      pattern:REGEX   what matches, or its first group
  - any of these values elsewhere, in JSON strings, base64, URLs, headers and stderr

Schemas of tools stay. No rule finds every secret: read what you send. --check writes
nothing, and exits with 1 if it finds a secret.`

// redactFlags are the flags of what counts as a secret.
type redactFlags struct {
	rules  []string
	emails bool
}

// add adds them to a command that makes a copy.
func (f *redactFlags) add(set *pflag.FlagSet) {
	set.StringArrayVar(&f.rules, "rule", nil, "another `rule` for secrets, such as key:customer")
	set.BoolVar(&f.emails, "emails", false, "treat e-mail addresses as secrets")
}

type redactOptions struct {
	redactFlags
	out   string
	key   string
	check bool
	force bool
	json  bool
}

func newRedact(a *app) *cobra.Command {
	var o redactOptions
	cmd := &cobra.Command{
		Use:               "redact REC -o FILE|--check [flags]",
		Short:             "Copy a recording without its secrets, or check for secrets",
		Long:              redactLong,
		Example:           "  mcptap redact @last -o bug.mcptap\n  mcptap redact @last -o bug.mcptap --emails --rule 'key:customer*' --rule 'path:$..address'\n  mcptap redact bug.mcptap --check",
		Args:              takes(1, 1, "a recording"),
		ValidArgsFunction: a.completeRecording,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), a, args[0])
		},
		DisableFlagsInUseLine: true,
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "output", "o", "", "write the copy to this `file`, with the extension "+store.Ext)
	addForce(cmd, &o.force)
	o.add(f)
	f.StringVar(&o.key, "key-file", "", "derive pseudonyms from this `file`, so that several copies have the same ones")
	f.BoolVar(&o.check, "check", false, "write nothing, and exit with 1 if there is a secret")
	addJSON(cmd, &o.json)
	return cmd
}

func (o *redactOptions) run(ctx context.Context, a *app, arg string) error {
	switch {
	case o.check == (o.out != ""):
		err := errors.New("mcptap redact needs either -o FILE or --check")
		return hint.With(err, "`mcptap redact "+arg+" -o redacted"+store.Ext+"`")
	case o.out != "" && !strings.HasSuffix(o.out, store.Ext):
		err := fmt.Errorf("-o: %s does not have the extension of a recording", term.Quote(o.out))
		return hint.With(err, "use "+store.Ext+"; `mcptap export` converts it to text")
	}
	if err := checkOutput("-o", o.out, o.force); err != nil {
		return err
	}
	file, err := a.open(ctx, arg)
	if err != nil {
		return err
	}
	key, err := redactKey(o.key)
	if err != nil {
		return err
	}
	opt, err := o.options("--rule")
	if err != nil {
		return err
	}
	opt.Key, opt.Check = key, o.check
	src, err := file.Source(ctx)
	if err != nil {
		return err
	}
	r := redact.New(opt)
	if o.check {
		_, err = redactPass(ctx, src, r, redact.NewCopier(r))
	} else {
		err = recording.Save(o.out, func(name string) error { return redactTo(ctx, name, src, r) })
	}
	if err != nil {
		return err
	}
	warnKept(a, r)
	return o.report(a, r.Findings())
}

// maxKeptWarnings is the maximum number of warnings about words that stay.
const maxKeptWarnings = 20

// warnKept warns about rules that matched nothing, and about ordinary words that stay.
func warnKept(a *app, r *redact.Redactor) {
	for _, rule := range r.Unused() {
		a.say("warning: --rule " + term.Quote(rule) + " matched nothing")
	}
	kept := r.Kept()
	for i, f := range kept {
		if i == maxKeptWarnings {
			a.say(fmt.Sprintf("warning: %d more values stay elsewhere", len(kept)-i))
			break
		}
		a.say(fmt.Sprintf("warning: %s: the value at %s may be an ordinary word and stays elsewhere, first in frame %d", safe.String(f.Rule), safe.String(f.Where), f.First))
	}
	if len(kept) > 0 {
		a.say(`hint: --rule 'pattern:\bWORD\b' replaces a word everywhere`)
	}
}

// options reads the rules of a flag.
func (f *redactFlags) options(flag string) (redact.Options, error) {
	opt := redact.Options{Emails: f.emails}
	for _, text := range f.rules {
		rule, err := redact.ParseRule(text)
		if err != nil {
			return opt, hint.With(fmt.Errorf("%s: %w", flag, err), "key:NAME, header:NAME, path:$.a.b or pattern:REGEX")
		}
		opt.Rules = append(opt.Rules, rule)
	}
	return opt, nil
}

// redactTo writes the redacted recording. It reads twice: a value named in one frame may
// be unnamed in an earlier one.
func redactTo(ctx context.Context, name string, src recording.Source, r *redact.Redactor) error {
	c := redact.NewCopier(r)
	info, err := redactPass(ctx, src, r, c)
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

// redactPass finds what to redact in the header and the frames.
func redactPass(ctx context.Context, src recording.Source, r *redact.Redactor, c *redact.Copier) (store.Info, error) {
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

// report prints what was found.
func (o *redactOptions) report(a *app, found []redact.Finding) error {
	w := bufio.NewWriter(a.stdout)
	var rows [][]term.Cell
	for _, f := range found {
		if o.json {
			if err := term.WriteJSON(w, jsonRedaction{text.Version, "finding", f.Rule, f.Where, f.Times, f.First}); err != nil {
				return err
			}
		}
		first := ""
		if f.First > 0 {
			first = strconv.FormatUint(f.First, 10)
		}
		rows = append(rows, []term.Cell{{Text: safe.String(f.Rule), Style: term.Plain}, {Text: strconv.FormatUint(f.Times, 10), Style: term.Plain}, {Text: first, Style: term.Dim}, {Text: safe.String(f.Where), Style: term.Plain}})
	}
	l := a.printer(w)
	if len(rows) == 0 {
		a.say("no secrets found")
	} else if !o.json {
		cols := []term.Column{{Title: "RULE"}, {Title: "TIMES", Right: true}, {Title: "FIRST", Right: true, Rank: 1}, {Title: "WHERE", Least: 20}}
		l.Table(cols, rows)
	}
	if err := errors.Join(l.Err, w.Flush()); err != nil {
		return err
	}
	if o.check && len(found) > 0 {
		return exitCode(exitNo)
	}
	return nil
}

// A redaction describes how a tap masks secrets before it records.
type redaction struct {
	redactFlags
	on bool
	// by is made when the flags are right: the same for all that is recorded, so
	// that a secret among the server's arguments is known in its frames.
	by *redact.Redactor
}

func (r *redaction) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&r.on, "redact", false, "")
	f.StringArrayVar(&r.rules, "redact-rule", nil, "another `rule` for secrets, such as key:customer; implies --redact")
}

// check reads the rules, and makes a key that is not stored.
func (r *redaction) check() error {
	if r.on = r.on || len(r.rules) > 0; !r.on {
		return nil
	}
	opt, err := r.options("--redact-rule")
	if err != nil {
		return err
	}
	if opt.Key, err = redactKey(""); err != nil {
		return err
	}
	r.by = redact.New(opt)
	return nil
}

// header returns the masked header of a recording.
func (r *redaction) header(h tap.Header) tap.Header {
	if !r.on {
		return h
	}
	return r.by.Header(h)
}

// recorder returns a recorder that masks, for use after header. flush must be called
// before the recording is closed.
func (r *redaction) recorder(rec tap.Recorder) (to tap.Recorder, flush func()) {
	if !r.on {
		return rec, func() {}
	}
	masking := redacting.New(r.by, rec)
	return masking, masking.Flush
}

// redactKey is the key of pseudonyms: what a file holds, or a random one.
func redactKey(file string) ([]byte, error) {
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
