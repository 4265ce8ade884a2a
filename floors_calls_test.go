package mcptap_test

import (
	"go/ast"
	"strings"
	"testing"
)

// checkCalls finds uses of banned functions, which a floor lists as package.Name.
func checkCalls(t *testing.T, file string, f *ast.File, fl floor) {
	t.Helper()
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok {
			name := pkg.Name + "." + sel.Sel.Name
			if why, banned := fl.never[name]; banned && strings.Contains(name, ".") {
				t.Errorf("%s uses %s: %s", file, name, why)
			}
		}
		return true
	})
}
