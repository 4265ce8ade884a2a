package web

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// The page gets one script and one style sheet, made of the files that it is
// written in: thirty modules that name each other are five rounds of requests,
// which on a busy machine is most of the time until something can be seen.

var (
	savedSheets = []string{"style", "list", "detail"}
	pageSheets  = []string{"style", "list", "detail", "compare"}
)

var made = map[string]func() []byte{
	"page.js": sync.OnceValue(func() []byte {
		script, err := bundle("main", map[string]string{"source": "api"})
		if err != nil { // of the program's own files, which a test holds
			panic(err)
		}
		return []byte(script)
	}),
	"page.css": sync.OnceValue(func() []byte { return []byte(sheets(pageSheets)) }),
}

// sheets joins style sheets of the page.
func sheets(names []string) string {
	var all strings.Builder
	for _, name := range names {
		all.Write(file(name + ".css"))
	}
	return all.String()
}

// bundle makes one script of a module and all that it imports, other modules put
// in the place of some. It knows as much of the language as this page's own files
// need, which a test holds.
func bundle(entry string, instead map[string]string) (string, error) {
	// Made here and not once for all: each start of a tap would pay for it.
	importLine := regexp.MustCompile(`(?m)^import (.+) from '\./(\w+)\.js';\n`)
	exportWord := regexp.MustCompile(`(?m)^export ((?:async )?function\*? (\w+)|(?:const|class) (\w+))`)
	var out bytes.Buffer
	done := map[string]bool{}
	var add func(name string) error
	add = func(name string) error {
		if done[name] {
			return nil
		}
		done[name] = true
		from := name
		if other := instead[name]; other != "" {
			from = other
		}
		text := string(file(from + ".js"))
		if text == "" {
			return fmt.Errorf("the page has no %s.js", from)
		}
		for _, m := range importLine.FindAllStringSubmatch(text, -1) {
			if err := add(m[2]); err != nil {
				return err
			}
		}
		text = importLine.ReplaceAllStringFunc(text, func(line string) string {
			m := importLine.FindStringSubmatch(line)
			if as, ok := strings.CutPrefix(m[1], "* as "); ok {
				return "const " + as + " = module_" + m[2] + ";\n"
			}
			return "const " + strings.ReplaceAll(m[1], " as ", ": ") + " = module_" + m[2] + ";\n"
		})
		var names []string
		for _, m := range exportWord.FindAllStringSubmatch(text, -1) {
			names = append(names, m[2]+m[3])
		}
		text = exportWord.ReplaceAllString(text, "$1")
		fmt.Fprintf(&out, "const module_%s = (() => {\n%s\nreturn { %s };\n})();\n", name, text, strings.Join(names, ", "))
		return nil
	}
	err := add(entry)
	return "'use strict';\n" + out.String(), err
}
