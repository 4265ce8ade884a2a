package browsertest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var pictures = flag.String("pictures", "", "directory for screenshots of each view")

// The test binary is also the recorded server.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "part=server" {
		os.Exit(serve())
	}
	flag.Parse()
	if *pictures == "" {
		dir, err := os.MkdirTemp("", "mcptap-pictures-")
		if err != nil {
			panic(err)
		}
		*pictures = dir
	}
	if err := os.MkdirAll(*pictures, 0o777); err != nil {
		panic(err)
	}
	code := m.Run()
	fmt.Println("pictures:", *pictures)
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// built is the directory of the mcptap binary.
var built string

// mcptap builds the program once, and returns its path; MCPTAP_BIN names an existing binary.
func mcptap(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("MCPTAP_BIN"); bin != "" {
		return bin
	}
	if built != "" {
		return filepath.Join(built, "mcptap")
	}
	dir, err := os.MkdirTemp("", "mcptap-browsertest-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "mcptap"), "./cmd/mcptap")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build mcptap: %v\n%s", err, out)
	}
	built = dir
	return filepath.Join(dir, "mcptap")
}

// run runs mcptap with a data directory and returns what it prints.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(mcptap(t), args...)
	cmd.Env = append(os.Environ(), "MCPTAP_DIR="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("mcptap %v: %v", args, err)
	}
	return string(out)
}
