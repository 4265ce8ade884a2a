//go:build ignore

// Sbom writes what a Go binary is made of as a CycloneDX 1.5 document
// (cyclonedx.org/docs/1.5/json): `go run .ci/sbom.go BINARY DOCUMENT`.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"log"
	"os"
	"runtime/debug"
)

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

type document struct {
	Format      string `json:"bomFormat"`
	SpecVersion string `json:"specVersion"`
	Version     int    `json:"version"`
	Metadata    struct {
		Component component `json:"component"`
	} `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: go run .ci/sbom.go BINARY DOCUMENT")
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	d := document{Format: "CycloneDX", SpecVersion: "1.5", Version: 1}
	d.Metadata.Component = describe("application", &info.Main)
	all := dependency{Ref: d.Metadata.Component.Ref, DependsOn: []string{}}
	modules := append([]*debug.Module{{Path: "std", Version: info.GoVersion}}, info.Deps...)
	for _, m := range modules {
		for m.Replace != nil {
			m = m.Replace
		}
		c := describe("library", m)
		d.Components = append(d.Components, c)
		all.DependsOn = append(all.DependsOn, c.Ref)
	}
	d.Dependencies = []dependency{all}
	out, err := json.MarshalIndent(&d, "", "  ")
	if err == nil {
		err = os.WriteFile(os.Args[2], append(out, '\n'), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func describe(kind string, m *debug.Module) component {
	purl := "pkg:golang/" + m.Path + "@" + m.Version
	c := component{Type: kind, Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
	if m.Sum != "" {
		c.Properties = []property{{"golang:sum", m.Sum}} // of the module's files, as in go.sum
	}
	return c
}
