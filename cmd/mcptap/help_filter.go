package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/tap/filter"
)

// newFilterHelp is a topic of help and no command.
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
