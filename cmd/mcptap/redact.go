package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/redact"
	redactfile "github.com/mcptap/mcptap/redact/file"
	redacting "github.com/mcptap/mcptap/redact/record"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

const redactLong = `Copies a recording and replaces secrets with pseudonyms. Equal secrets get equal
pseudonyms, so the copy still works with mock, replay and diff. What was replaced is
printed by rule and place. Secrets are

  - values with a telling name: password, API_KEY, --token, Authorization, Cookie
  - values with a known shape: keys of services, JSON Web Tokens, private keys,
    passwords in URLs; with --emails, e-mail addresses
  - what a --rule names:
      key:NAME        members and parameters with that name; * matches any letters
      header:NAME     header fields with that name
      path:$.a..b[*]  a place in the JSON of a frame
      pattern:REGEX   what matches, or its first group
  - any of these values elsewhere, in JSON strings, base64, URLs, headers and stderr

Tool schemas are kept. No rule finds every secret: read what you send. --check writes
nothing, and exits with 1 if it finds a secret.`

// redactFlags are the flags that define what counts as a secret.
type redactFlags struct {
	rules  []string
	emails bool
}

// add adds the flags to a command that makes a copy.
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
	key, err := redactfile.Key(o.key)
	if err != nil {
		return err
	}
	opt, err := redactfile.Options("--rule", o.rules, o.emails)
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
		err = redactfile.Find(ctx, src, r)
	} else {
		err = recording.Save(o.out, func(name string) error { return redactfile.Copy(ctx, name, src, r) })
	}
	if err != nil {
		return err
	}
	redactfile.Warn(r, a.say)
	found := r.Findings()
	if err := o.report(a, found); err != nil {
		return err
	}
	if o.check && len(found) > 0 {
		return exitCode(exitNegative)
	}
	return nil
}

// report prints what was found.
func (o *redactOptions) report(a *app, found []redact.Finding) error {
	if len(found) == 0 {
		a.say("no secrets found")
	}
	w := bufio.NewWriter(a.stdout)
	return errors.Join(redactfile.Report(a.printer(w), found, o.json), w.Flush())
}

// A redaction describes how a tap masks secrets before it records.
type redaction struct {
	redactFlags
	on bool
	// by is made once the flags are checked, and used for everything recorded, so that a
	// secret among the server's arguments is also masked in its frames.
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
	opt, err := redactfile.Options("--redact-rule", r.rules, r.emails)
	if err != nil {
		return err
	}
	if opt.Key, err = redactfile.Key(""); err != nil {
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
