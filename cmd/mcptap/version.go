package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/store"
)

// version is set by the linker in a release: -ldflags "-X main.version=1.2.3".
var version string

// programVersion is the release, or what the build knows of the source.
func programVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if revision == "" {
		return "devel"
	}
	return "devel-" + revision + dirty
}

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

// addJSON adds the flag that every reading command has.
func addJSON(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print one JSON object per line")
}
