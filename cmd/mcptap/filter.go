package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcptap/mcptap/internal/show"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/tap/filter"
)

// parseFilter compiles a query. It prints a syntax error with its position.
func (a *app) parseFilter(query string) (*filter.Filter, error) {
	f, err := filter.Parse(query)
	if err == nil {
		return f, nil
	}
	wrong, ok := err.(*filter.Error)
	if !ok {
		return nil, err
	}
	a.say("filter: " + wrong.Error())
	for line := range strings.Lines(wrong.Caret()) {
		fmt.Fprintf(a.stderr, "  %s\n", strings.TrimRight(line, "\n"))
	}
	a.say("hint: `mcptap help filter` explains filters")
	return nil, exitCode(exitFailure)
}

// A filter term may begin with a minus sign, as in -method:ping. On a command with
// wordsAnnotation, markWords prefixes an argument that cannot be a cluster of the command's
// flags, to hide it from the flag parser. No argument of a process can contain the prefix.
// unmark removes it.
const (
	wordsAnnotation = "filter"
	wordMark        = "\x00"
)

func markWords(root *cobra.Command, args []string) []string {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return append(args[:1:1], markWords(root, args[1:])...)
	}
	cmd, _, err := root.Find(args)
	if err != nil || cmd.Annotations[wordsAnnotation] == "" {
		return args
	}
	out := slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		notFlag := func(c rune) bool {
			return c != 'h' && (c >= utf8.RuneSelf || cmd.Flags().ShorthandLookup(string(c)) == nil)
		}
		if len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.ContainsFunc(arg[1:], notFlag) {
			out[i] = wordMark + arg
		}
	}
	return out
}

// unmark removes the prefix of markWords from arguments and from the values of flags.
func unmark(cmd *cobra.Command, args []string) {
	for i := range args {
		args[i] = strings.TrimPrefix(args[i], wordMark)
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if value, marked := strings.CutPrefix(f.Value.String(), wordMark); marked {
			_ = f.Value.Set(value) // a string, which is always valid
		}
	})
}

// completeShow offers the ids of recordings to the shell, and then the parts of a filter:
// keys, and the values that occur in the recording.
func (a *app) completeShow(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeRecording(cmd, args, prefix)
	}
	word := strings.TrimPrefix(prefix, wordMark)
	var seen filter.Seen
	if strings.Contains(word, ":") {
		if path, _, err := a.opener().Path(cmd.Context(), args[0]); err == nil {
			seen = show.Seen(cmd.Context(), path)
		}
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	var out []string
	for _, c := range filter.Complete(word, len(word), seen) {
		text := word[:c.From] + c.Text + word[c.To:]
		if strings.ContainsAny(text, " \t\"'`\\$&|;<>()*?[]{}!#~") { // it would have to be quoted
			continue
		}
		if strings.HasSuffix(text, ":") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		if c.Help != "" {
			text += "\t" + c.Help
		}
		out = append(out, text)
	}
	return out, directive
}

// newFilterHelp returns a help topic, which is not a command.
func newFilterHelp(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "filter", Short: "The filter language of show, diff, replay and web"}
	cmd.SetHelpFunc(func(*cobra.Command, []string) {
		l := a.printer(a.stdout)
		printFilterHelp(l)
	})
	return cmd
}

const filterIntro = `A filter is a list of terms. A frame, or with --calls a call, must match all:
mcptap show @last tool:forecast is:error
Quote terms that contain quotes, spaces, stars, < > or parentheses for the
shell.`

// printFilterHelp prints the table of the language.
func printFilterHelp(l *term.Printer) {
	width := l.Width
	if width == 0 {
		width = 80
	}
	l.Printf("%s\n", filterIntro)
	for _, s := range filter.Help() {
		l.Printf("\n%s\n", l.Paint(strings.TrimSuffix(s.Title, ":")+":", term.Bold))
		forms := 0
		for _, line := range s.Lines {
			forms = max(forms, term.Width(line.Form))
		}
		for _, line := range s.Lines {
			text := line.Means
			if examples := strings.Join(line.Examples, "   "); examples != "" && !strings.HasPrefix(s.Title, "Words") {
				text += "\n" + examples
			}
			form := l.Paint(term.Pad(line.Form, forms, false), term.Cyan)
			for part := range strings.Lines(text) {
				as := term.Plain
				if form == "" {
					as = term.Dim
				}
				for _, piece := range term.Fold(strings.TrimSuffix(part, "\n"), max(width-forms-4, 20)) {
					if form == "" {
						form = strings.Repeat(" ", forms)
					}
					l.Printf("%s\n", strings.TrimRight(fmt.Sprintf("  %s  %s", form, l.Paint(piece, as)), " "))
					form = ""
				}
			}
		}
	}
}
