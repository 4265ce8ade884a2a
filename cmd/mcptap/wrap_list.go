package main

import (
	"bufio"
	"errors"
	"strings"

	clients "github.com/mcptap/mcptap/wrap" // wrap is what folds lines here
)

// jsonServer is a server in `wrap --list --json`. The names are stable.
type jsonServer struct {
	V       int    `json:"v"`
	Type    string `json:"type"` // "server"
	Name    string `json:"name"`
	Client  string `json:"client,omitempty"`
	Path    string `json:"path"`
	Section string `json:"section"`
	Kind    string `json:"kind"` // stdio, url or other
	Wrapped bool   `json:"wrapped"`
	// Command is what starts the server, URL where it is, without the tap.
	Command []string `json:"command,omitempty"`
	URL     string   `json:"url,omitempty"`
	Tap     string   `json:"tap,omitempty"`
	Problem string   `json:"problem,omitempty"`
}

// printList prints the servers that clients have.
func (o *wrapOptions) printList(a *app, configs []config) error {
	w := bufio.NewWriter(a.stdout)
	cols := []column{
		{title: "SERVER", least: 10},
		{title: "STATE"},
		{title: "CLIENT", least: 8},
		{title: "RUNS", least: 16, rank: 1},
		{title: "FILE", least: 16, rank: 2},
	}
	var rows [][]cell
	for _, c := range configs {
		if c.err != nil {
			a.say(c.err.Error())
			continue
		}
		for _, e := range c.file.Entries() {
			if o.json {
				if err := writeJSON(w, newJSONServer(&c, &e)); err != nil {
					return err
				}
			}
			rows = append(rows, serverRow(&c, &e))
		}
	}
	if o.json {
		return w.Flush()
	}
	if len(rows) == 0 {
		a.say("no servers found in the configuration of any client")
		return nil
	}
	l := lines{w: w}
	printTable(&l, a.palette(), a.width(), cols, rows)
	return errors.Join(l.err, w.Flush())
}

func newJSONServer(c *config, e *clients.Entry) jsonServer {
	return jsonServer{
		V: jsonVersion, Type: "server", Name: e.Name, Client: c.place.Client, Path: c.place.Path, Section: e.Section,
		Kind: e.Kind.String(), Wrapped: e.Wrapped, Command: e.Command, URL: e.URL, Tap: e.Tap, Problem: e.Problem,
	}
}

func serverRow(c *config, e *clients.Entry) []cell {
	state := cell{"-", dim}
	switch {
	case e.Wrapped:
		state = cell{"wrapped", green}
	case e.Problem != "":
		state = cell{"no", red}
	}
	runs := e.URL
	switch {
	case e.Kind == clients.Stdio:
		runs = strings.Join(e.Command, " ")
	case e.Kind == clients.Other:
		runs = e.Problem
	}
	client := c.place.Title
	if project, ok := strings.CutPrefix(e.Section, "projects/"); ok {
		client += ", " + strings.TrimSuffix(project, "/mcpServers")
	}
	return []cell{{escape(e.Name), bold}, state, {escape(client), plain}, {escape(runs), plain}, {escape(c.place.Path), dim}}
}
