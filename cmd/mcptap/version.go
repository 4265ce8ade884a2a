package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/store"
)

type versionOptions struct{ json bool }

func newVersion(a *app) *cobra.Command {
	var o versionOptions
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  takes(0, 0, ""),
		RunE:  func(*cobra.Command, []string) error { return o.run(a) },
	}
	o.addFlags(cmd)
	return cmd
}

func (o *versionOptions) addFlags(cmd *cobra.Command) { addJSON(cmd, &o.json) }

func (o *versionOptions) run(a *app) error {
	if !o.json {
		_, err := fmt.Fprintf(a.stdout, "mcptap %s\nrecording format %d, %s, %s/%s\n",
			programVersion(), store.FormatVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	}
	return json.NewEncoder(a.stdout).Encode(struct {
		V        int    `json:"v"`
		Version  string `json:"version"`
		Format   int    `json:"recording_format"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{1, programVersion(), store.FormatVersion, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
}
