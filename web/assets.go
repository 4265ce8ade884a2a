package web

import (
	"embed"
	"net/http"
	"path"
	"strings"
)

// assets is the page: files that a browser takes as they are.
//
//go:embed assets
var assets embed.FS

// asset returns what the page asks for, nil if there is nothing of that name: a
// file, or what is made of several.
func asset(name string) []byte {
	if join := made[name]; join != nil {
		return join()
	}
	return file(name)
}

// file returns a file of the page, nil if there is none of that name.
func file(name string) []byte {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		return nil
	}
	return b
}

var assetTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// serveAsset is the handler of the page's files. They hold no secret.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if strings.HasSuffix(name, ".html") {
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
	w.Header().Set("Content-Type", assetTypes[path.Ext(name)])
	_, _ = w.Write(b)
}
