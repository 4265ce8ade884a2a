package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/session"
)

// runContext prints what servers cost the context of a model.
func (o *statsOptions) runContext(ctx context.Context, a *app, args []string) error {
	found, err := new(measured).find(a, args)
	if err != nil {
		return err
	}
	var c check.Context
	for _, one := range found {
		rec, err := store.Open(one.path)
		if err != nil {
			return err
		}
		var tracker session.Tracker
		for f, err := range readFrames(ctx, rec, 0, false) {
			if err != nil {
				return err
			}
			if e := tracker.Add(&f); one.session == 0 || e.Session == one.session {
				c.Add(e)
			}
		}
	}
	w := bufio.NewWriter(a.stdout)
	if o.json {
		err = writeContextJSON(w, &c)
	} else {
		err = o.writeContext(a, w, &c)
	}
	return errors.Join(err, w.Flush())
}

// tokens returns an estimated number of tokens.
func tokens(s check.Size) string { return "~" + strconv.Itoa(s.Tokens) }

// size returns a size in bytes, "" for 0.
func size(s check.Size) string {
	if s.Bytes == 0 {
		return ""
	}
	return formatSize(int64(s.Bytes))
}

// contextName returns the name of a tool or server, escaped, and cut so that one name does not
// widen the table. --json has the whole name.
func contextName(name string) string { return fit(escape(name), 64) }

func (o *statsOptions) writeContext(a *app, w io.Writer, c *check.Context) error {
	l := lines{w: w}
	for _, list := range c.Lists() {
		name := list.Server
		if name == "" {
			name = "server"
		}
		if list.Requested == 0 {
			l.printf("%s: no tools/list", contextName(name))
		} else {
			l.printf("%s: %s, tools/list has %s, %s tokens, requested %s", contextName(name), plural(len(list.Tools), "tool", "tools"), formatSize(int64(list.Whole.Bytes)), tokens(list.Whole), plural(list.Requested, "time", "times"))
		}
		if list.Different > 0 {
			l.printf(", %s", plural(list.Different, "change", "changes"))
		}
		if list.Instructions.Bytes > 0 {
			l.printf("; instructions %s, %s tokens", formatSize(int64(list.Instructions.Bytes)), tokens(list.Instructions))
		}
		l.printf("\n\n")
		var rows [][]cell
		for _, d := range list.Tools {
			rows = append(rows, []cell{
				{contextName(d.Name), bold}, {size(d.Whole), plain}, {tokens(d.Whole), plain}, {size(d.Description), dim}, {size(d.Schema), dim},
			})
		}
		if len(rows) > 0 {
			printTable(&l, a.palette(), a.width(), []column{
				{title: "DEFINITION", least: 16}, {title: "SIZE", right: true}, {title: "TOKENS", right: true},
				{title: "DESCRIPTION", right: true, rank: 1}, {title: "SCHEMA", right: true, rank: 2},
			}, rows)
			l.printf("\n")
		}
	}
	var rows [][]cell
	for _, r := range c.Results() {
		rows = append(rows, []cell{
			{contextName(r.Name), bold}, {strconv.FormatUint(r.Count(), 10), plain}, {formatSize(int64(r.Quantile(500))), plain}, {formatSize(int64(r.Quantile(950))), plain},
			{size(r.Largest), plain}, {tokens(r.Largest), plain}, {"#" + strconv.FormatUint(r.Frame(), 10), dim},
		})
	}
	if len(rows) > 0 {
		printTable(&l, a.palette(), a.width(), []column{
			{title: "RESULTS OF", least: 16}, {title: "RESULTS", right: true, rank: 1}, {title: "P50", right: true}, {title: "P95", right: true},
			{title: "MAX", right: true}, {title: "TOKENS", right: true}, {title: "FRAME", right: true, rank: 2},
		}, rows)
		l.printf("\n")
	}
	if len(c.Lists()) == 0 && len(rows) == 0 {
		l.printf("no tools/list and no results of tools\n")
		return l.err
	}
	for _, line := range fold("Tokens are estimated: "+check.TokenMethod+".", textWidth(a)) {
		l.printf("%s\n", line)
	}
	return l.err
}

// A contextJSON is a line of `stats --context --json`: a list, a definition or the results of a
// tool. Sizes are in bytes without white space, tokens are estimated.
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
	// Instructions are those of the server.
	Instructions int    `json:"instructions_bytes,omitempty"`
	Requested    int    `json:"requested,omitempty"`
	Different    int    `json:"changes,omitempty"`
	Results      uint64 `json:"results,omitempty"`
	P50          int    `json:"p50_bytes,omitempty"`
	P95          int    `json:"p95_bytes,omitempty"`
	Max          int    `json:"max_bytes,omitempty"`
	MaxTokens    int    `json:"max_tokens,omitempty"`
	MaxFrame     uint64 `json:"max_frame,omitempty"`
}

func writeContextJSON(w io.Writer, c *check.Context) error {
	for _, l := range c.Lists() {
		if err := writeJSON(w, contextJSON{
			V: 1, Type: "list", Server: l.Server, Tools: len(l.Tools), Bytes: l.Whole.Bytes, Tokens: l.Whole.Tokens, Instructions: l.Instructions.Bytes,
			Requested: l.Requested, Different: l.Different,
		}); err != nil {
			return err
		}
		for _, d := range l.Tools {
			if err := writeJSON(w, contextJSON{
				V: 1, Type: "definition", Server: l.Server, Tool: d.Name, Bytes: d.Whole.Bytes, Tokens: d.Whole.Tokens,
				Description: d.Description.Bytes, Schema: d.Schema.Bytes,
			}); err != nil {
				return err
			}
		}
	}
	for _, r := range c.Results() {
		if err := writeJSON(w, contextJSON{
			V: 1, Type: "results", Tool: r.Name, Results: r.Count(), P50: r.Quantile(500), P95: r.Quantile(950), Max: r.Largest.Bytes,
			MaxTokens: r.Largest.Tokens, MaxFrame: r.Frame(),
		}); err != nil {
			return err
		}
	}
	return nil
}
