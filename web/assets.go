package web

import (
	"bytes"
	"embed"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
)

//go:embed assets
var assets embed.FS

var pageScript = sync.OnceValue(func() []byte { return []byte(bundle("main", "api")) })

// asset returns a file of the page, or nil if there is none with that name. The page has one script
// and one style sheet: loading its thirty modules one by one would take five rounds of requests.
func asset(name string) []byte {
	switch name {
	case "page.js":
		return pageScript()
	case "page.css":
		return []byte(sheets("style", "list", "detail", "compare"))
	}
	return file(name)
}

// file returns an embedded file, or nil if there is none with that name.
func file(name string) []byte {
	b, _ := assets.ReadFile("assets/" + name) // nil after an error
	return b
}

// serveAsset sends a file of the page. They contain no secrets.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if strings.HasSuffix(name, ".html") { // a template
		http.NotFound(w, r)
		return
	}
	writeAsset(w, r, name)
}

func writeAsset(w http.ResponseWriter, r *http.Request, name string) {
	b := asset(name)
	if b == nil {
		http.NotFound(w, r)
		return
	}
	types := map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	w.Header().Set("Content-Type", types[path.Ext(name)])
	_, _ = w.Write(b)
}

// sheets concatenates style sheets.
func sheets(names ...string) string {
	var all strings.Builder
	for _, name := range names {
		all.Write(file(name + ".css"))
	}
	return all.String()
}

// bundle joins a module and its imports to one script. The module named source replaces the module
// "source". bundle supports only the syntax that the page's modules use, and panics if a module is
// missing, which a test checks.
func bundle(entry, source string) string {
	// Not global, which would slow down the start of every tap.
	importLine := regexp.MustCompile(`(?m)^import (.+) from '\./(\w+)\.js';\n`)
	exportWord := regexp.MustCompile(`(?m)^export ((?:async )?function\*? (\w+)|(?:const|class) (\w+))`)
	var out bytes.Buffer
	done := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if done[name] {
			return
		}
		done[name] = true
		from := name
		if name == "source" {
			from = source
		}
		text := string(file(from + ".js"))
		if text == "" {
			panic("the page has no " + from + ".js")
		}
		for _, m := range importLine.FindAllStringSubmatch(text, -1) {
			add(m[2])
		}
		text = importLine.ReplaceAllStringFunc(text, func(line string) string {
			m := importLine.FindStringSubmatch(line)
			names, all := strings.CutPrefix(m[1], "* as ")
			if !all {
				names = strings.ReplaceAll(names, " as ", ": ")
			}
			return "const " + names + " = module_" + m[2] + ";\n"
		})
		var names []string
		for _, m := range exportWord.FindAllStringSubmatch(text, -1) {
			names = append(names, m[2]+m[3])
		}
		text = exportWord.ReplaceAllString(text, "$1")
		fmt.Fprintf(&out, "const module_%s = (() => {\n%s\nreturn { %s };\n})();\n", name, text, strings.Join(names, ", "))
	}
	add(entry)
	return "'use strict';\n" + out.String()
}
