//go:build ignore

// Notices writes the licenses of everything that is linked into a release, on any of its
// systems: `go run .ci/notices.go FILE`.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// notice matches the files that must be distributed with a module.
var notice = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)`)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run .ci/notices.go FILE")
	}
	var out bytes.Buffer
	out.WriteString("mcptap contains the following software.\n")
	write(&out, "THIRD_PARTY.md", "THIRD_PARTY.md")
	write(&out, "Go "+runtime.Version(), filepath.Join(goroot(), "LICENSE"))
	for _, m := range modules() {
		name, dir, _ := strings.Cut(m, "\t")
		entries, err := os.ReadDir(dir)
		if err != nil {
			log.Fatal(err)
		}
		found := false
		for _, e := range entries {
			if notice.MatchString(e.Name()) && !e.IsDir() {
				write(&out, name+" "+e.Name(), filepath.Join(dir, e.Name()))
				found = true
			}
		}
		if !found {
			log.Fatalf("%s has no license file in %s", name, dir)
		}
	}
	if err := os.MkdirAll(filepath.Dir(os.Args[1]), 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[1], out.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}

func write(out *bytes.Buffer, title, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(out, "\n%s\n%s\n%s\n\n%s\n", strings.Repeat("=", 72), title, strings.Repeat("=", 72), bytes.TrimSpace(text))
}

func goroot() string { return strings.TrimSpace(run(nil, "env", "GOROOT")) }

// modules returns the name and directory of each linked module, separated by a tab.
func modules() (all []string) {
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := run([]string{"GOOS=" + system, "CGO_ENABLED=0"}, "list", "-deps", "-f",
			`{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{"\t"}}{{.Dir}}{{end}}{{end}}`, "./cmd/mcptap")
		all = append(all, strings.FieldsFunc(list, func(r rune) bool { return r == '\n' })...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func run(env []string, args ...string) string {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		log.Fatal(err)
	}
	return string(out)
}
