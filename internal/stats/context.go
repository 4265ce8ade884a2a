package stats

import (
	"io"
	"strconv"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap/view"
)

// tokens returns an estimated number of tokens.
func tokens(s check.Size) string { return "~" + strconv.Itoa(s.Tokens) }

// size returns a size in bytes, "" for 0.
func size(s check.Size) string {
	if s.Bytes == 0 {
		return ""
	}
	return view.Size(int64(s.Bytes))
}

// contextName returns the name of a tool or server, escaped, and cut so that one name does not widen
// the table. --json has the full name.
func contextName(name string) string { return term.Fit(safe.String(name), 64) }

// PrintContext prints how much of a model's context servers use.
func PrintContext(l *term.Printer, c *check.Context) error {
	for _, list := range c.Lists() {
		name := list.Server
		if name == "" {
			name = "server"
		}
		if list.Requested == 0 {
			l.Printf("%s: no tools/list", contextName(name))
		} else {
			l.Printf("%s: %s, tools/list has %s, %s tokens, requested %s", contextName(name), term.Plural(len(list.Tools), "tool", "tools"), view.Size(int64(list.Whole.Bytes)), tokens(list.Whole), term.Plural(list.Requested, "time", "times"))
		}
		if list.Partial {
			l.Printf(", not read to its end")
		}
		if list.Different > 0 {
			l.Printf(", %s", term.Plural(list.Different, "change", "changes"))
		}
		if list.Instructions.Bytes > 0 {
			l.Printf("; instructions %s, %s tokens", view.Size(int64(list.Instructions.Bytes)), tokens(list.Instructions))
		}
		l.Printf("\n\n")
		var rows [][]term.Cell
		for _, d := range list.Tools {
			rows = append(rows, []term.Cell{
				{Text: contextName(d.Name), Style: term.Bold}, {Text: size(d.Whole), Style: term.Plain}, {Text: tokens(d.Whole), Style: term.Plain}, {Text: size(d.Description), Style: term.Dim}, {Text: size(d.Schema), Style: term.Dim},
			})
		}
		if len(rows) > 0 {
			l.Table([]term.Column{
				{Title: "DEFINITION", Least: 16}, {Title: "SIZE", Right: true}, {Title: "TOKENS", Right: true},
				{Title: "DESCRIPTION", Right: true, Rank: 1}, {Title: "SCHEMA", Right: true, Rank: 2},
			}, rows)
			l.Printf("\n")
		}
	}
	var rows [][]term.Cell
	for _, r := range c.Results() {
		rows = append(rows, []term.Cell{
			{Text: contextName(r.Name), Style: term.Bold}, {Text: strconv.FormatUint(r.Count(), 10), Style: term.Plain}, {Text: view.Size(int64(r.Quantile(500))), Style: term.Plain}, {Text: view.Size(int64(r.Quantile(950))), Style: term.Plain},
			{Text: size(r.Largest), Style: term.Plain}, {Text: tokens(r.Largest), Style: term.Plain}, {Text: "#" + strconv.FormatUint(r.Frame(), 10), Style: term.Dim},
		})
	}
	if len(rows) > 0 {
		l.Table([]term.Column{
			{Title: "RESULTS OF", Least: 16}, {Title: "RESULTS", Right: true, Rank: 1}, {Title: "P50", Right: true}, {Title: "P95", Right: true},
			{Title: "MAX", Right: true}, {Title: "TOKENS", Right: true}, {Title: "FRAME", Right: true, Rank: 2},
		}, rows)
		l.Printf("\n")
	}
	if len(c.Lists()) == 0 && len(rows) == 0 {
		l.Printf("no tools/list and no tool results\n")
		return l.Err
	}
	for _, line := range term.Fold("Tokens are estimated: "+check.TokenMethod+".", l.TextWidth(100)) {
		l.Printf("%s\n", line)
	}
	return l.Err
}

// A contextJSON is a line of `stats --context --json`: a list, a definition or the results of a tool.
// Sizes are in bytes, ignoring white space; tokens are estimated.
type contextJSON struct {
	V           int    `json:"v"`
	Type        string `json:"type"` // list, definition or results
	Server      string `json:"server,omitempty"`
	Tool        string `json:"tool,omitempty"`
	Tools       int    `json:"tools,omitempty"`
	Bytes       int    `json:"bytes,omitempty"`
	Tokens      int    `json:"tokens,omitempty"`
	Description int    `json:"description_bytes,omitempty"`
	Schema      int    `json:"schema_bytes,omitempty"`
	// Instructions is the size of the server's instructions.
	Instructions int    `json:"instructions_bytes,omitempty"`
	Requested    int    `json:"requested,omitempty"`
	Different    int    `json:"changes,omitempty"`
	Partial      bool   `json:"partial,omitempty"` // the client did not read the list to its end
	Results      uint64 `json:"results,omitempty"`
	P50          int    `json:"p50_bytes,omitempty"`
	P95          int    `json:"p95_bytes,omitempty"`
	Max          int    `json:"max_bytes,omitempty"`
	MaxTokens    int    `json:"max_tokens,omitempty"`
	MaxFrame     uint64 `json:"max_frame,omitempty"`
}

// WriteContextJSON prints how much of a model's context servers use, as JSON.
func WriteContextJSON(w io.Writer, c *check.Context) error {
	for _, l := range c.Lists() {
		if err := term.WriteJSON(w, contextJSON{
			V: 1, Type: "list", Server: l.Server, Tools: len(l.Tools), Bytes: l.Whole.Bytes, Tokens: l.Whole.Tokens, Instructions: l.Instructions.Bytes,
			Requested: l.Requested, Different: l.Different, Partial: l.Partial,
		}); err != nil {
			return err
		}
		for _, d := range l.Tools {
			if err := term.WriteJSON(w, contextJSON{
				V: 1, Type: "definition", Server: l.Server, Tool: d.Name, Bytes: d.Whole.Bytes, Tokens: d.Whole.Tokens,
				Description: d.Description.Bytes, Schema: d.Schema.Bytes,
			}); err != nil {
				return err
			}
		}
	}
	for _, r := range c.Results() {
		if err := term.WriteJSON(w, contextJSON{
			V: 1, Type: "results", Tool: r.Name, Results: r.Count(), P50: r.Quantile(500), P95: r.Quantile(950), Max: r.Largest.Bytes,
			MaxTokens: r.Largest.Tokens, MaxFrame: r.Frame(),
		}); err != nil {
			return err
		}
	}
	return nil
}
