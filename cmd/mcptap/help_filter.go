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
		l := term.Printer{W: a.stdout}
		printFilterHelp(&l, a.palette(), a.width())
	})
	return cmd
}

const filterIntro = `A filter is a list of terms. A frame, or with --calls a call, must match all:
mcptap show @last tool:forecast is:error
Quote terms that contain quotes, spaces, stars, < > or parentheses for the
shell.`

// printFilterHelp prints the table of the language.
func printFilterHelp(l *term.Printer, p term.Palette, width int) {
	if width == 0 {
		width = 80
	}
	l.Printf("%s\n", filterIntro)
	for _, s := range filter.Help() {
		l.Printf("\n%s\n", p.Paint(strings.TrimSuffix(s.Title, ":")+":", term.Bold))
		forms := 0
		for _, line := range s.Lines {
			forms = max(forms, term.Width(line.Form))
		}
		for _, line := range s.Lines {
			text := line.Means
			if examples := strings.Join(line.Examples, "   "); examples != "" && !strings.HasPrefix(s.Title, "Words") {
				text += "\n" + examples
			}
			form := p.Paint(term.Pad(line.Form, forms, false), term.Cyan)
			for part := range strings.Lines(text) {
				as := term.Plain
				if form == "" {
					as = term.Dim
				}
				for _, piece := range fold(strings.TrimSuffix(part, "\n"), max(width-forms-4, 20)) {
					if form == "" {
						form = strings.Repeat(" ", forms)
					}
					l.Printf("%s\n", strings.TrimRight(fmt.Sprintf("  %s  %s", form, p.Paint(piece, as)), " "))
					form = ""
				}
			}
		}
	}
}

// fold breaks a text at its spaces into lines of at most width columns.
func fold(s string, width int) (out []string) {
	line := ""
	for _, w := range strings.Split(s, " ") {
		if line != "" && term.Width(line+" "+w) > width {
			out = append(out, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(out, line)
}
