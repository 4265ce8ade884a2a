package mcptap_test

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the picture in docs")

// TestPicture compares the README's picture with what the program prints for the recording in
// testdata/sessions.
func TestPicture(t *testing.T) {
	dir, mcptap := t.TempDir(), filepath.Join(t.TempDir(), "mcptap")
	build(t, mcptap)
	run := func(args ...string) []byte {
		cmd := exec.Command(mcptap, args...)
		cmd.Env = append(os.Environ(), "MCPTAP_DIR="+dir, "COLUMNS=110")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out
	}
	run("import", "testdata/sessions/demo-2025-11-25.ndjson")
	rows := strings.SplitAfter(string(run("show", "@last", "--color", "always")), "\n")
	const first, last = 40, 65 // errors, progress, responses out of order, a cancellation
	got := picture("$ mcptap show @last\n" + rows[0] + strings.Join(rows[first:last], ""))
	const page = "docs/show.svg"
	if *update {
		if err := os.WriteFile(page, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s does not match the program's output; redraw it with `go test . -update`", page)
	}
}

// sgr is a change of colour.
var sgr = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// colours are the terminal's colours, on the picture's dark background.
var colours = map[string]string{
	"1": "#f0f0f0", "2": "#8b949e", "31": "#ff7b72", "1;31": "#ff7b72", "32": "#7ee787",
	"36": "#79c0ff", "1;36": "#79c0ff", "35": "#d2a8ff",
}

// picture draws a terminal's screen as SVG.
func picture(text string) []byte {
	const line, column, margin = 18, 8, 16
	rows := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	wide := 0
	for _, row := range rows {
		wide = max(wide, len([]rune(sgr.ReplaceAllString(row, ""))))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="13">`+"\n",
		wide*column+2*margin, len(rows)*line+2*margin)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>`+"\n")
	for i, row := range rows {
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#c9d1d9" xml:space="preserve">`, margin, margin+(i+1)*line-5)
		at, open := 0, false
		for _, m := range sgr.FindAllStringSubmatchIndex(row, -1) {
			xml.EscapeText(&b, []byte(row[at:m[0]]))
			at = m[1]
			if open {
				b.WriteString("</tspan>")
			}
			code := row[m[2]:m[3]]
			if open = code != "0" && code != ""; open {
				fmt.Fprintf(&b, `<tspan fill="%s">`, colours[code])
			}
		}
		xml.EscapeText(&b, []byte(row[at:]))
		if open {
			b.WriteString("</tspan>")
		}
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
