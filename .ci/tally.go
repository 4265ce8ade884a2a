//go:build ignore

// Tally reads `go test -json` on stdin, prints the line of each package and the output of
// tests that failed or were skipped, and appends to three files in the directory given as
// its argument:
//
//	counts   "passed failed skipped"
//	failed   a line for each test that failed: package and name
//	sampled  a line for each test that ran only a sample, or was left to .ci/full
//
// A test that started but did not end counts as failed, and so does a package that failed
// without a failed test. Tally exits with status 1 if a test was skipped for a reason other
// than its length.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

type key struct{ pkg, test string }

type tally struct {
	pass, fail, skip int
	output           map[key]*strings.Builder
	open             map[key]bool
	failed, sampled  []string
	failedIn         map[string]bool
}

func main() {
	t := tally{output: map[key]*strings.Builder{}, open: map[key]bool{}, failedIn: map[string]bool{}}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil:
			fmt.Print(string(line)) // an error of the go command
		default:
			t.add(e)
		}
		if err != nil {
			break
		}
	}
	dir := os.Args[1]
	for name, lines := range map[string][]string{
		"counts": {fmt.Sprint(t.pass, " ", t.fail, " ", t.skip)}, "failed": t.failed, "sampled": t.sampled,
	} {
		if err := appendLines(filepath.Join(dir, name), lines); err != nil {
			fmt.Fprintln(os.Stderr, "tally:", err)
			os.Exit(1)
		}
	}
	fmt.Printf("tests: pass %d, fail %d, skip %d\n", t.pass, t.fail, t.skip)
	if t.skip > 0 {
		fmt.Fprintln(os.Stderr, "tally: no test may be skipped here: install what the tests above need")
		os.Exit(1)
	}
}

func (t *tally) add(e event) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Print(e.Output)
	case "output":
		switch {
		case e.Test == "" && e.Output != "PASS\n" && e.Output != "FAIL\n":
			fmt.Print(e.Output)
		case e.Test != "" && !strings.HasPrefix(e.Output, "=== "):
			if t.output[k] == nil {
				t.output[k] = new(strings.Builder)
			}
			t.output[k].WriteString(e.Output)
		}
	case "run":
		t.open[k] = true
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.endPackage(e.Package, e.Action)
		} else {
			t.end(k, e.Action)
		}
	}
}

func (t *tally) end(k key, action string) {
	out := ""
	if b := t.output[k]; b != nil {
		out = b.String()
	}
	name := k.pkg + " " + k.test
	long := strings.Contains(out, ": LONG: ")
	if long || strings.Contains(out, ": SAMPLED: ") {
		t.sampled = append(t.sampled, name)
	}
	switch {
	case action == "pass":
		t.pass++
	case action == "skip" && long:
	case action == "skip":
		t.skip++
		fmt.Print(out)
	default:
		t.fail++
		t.failedIn[k.pkg] = true
		t.failed = append(t.failed, name)
		fmt.Print(out)
	}
	delete(t.output, k)
	delete(t.open, k)
}

func (t *tally) endPackage(pkg, action string) {
	for k := range t.open {
		if k.pkg == pkg {
			fmt.Printf("--- NOT ENDED: %s\n", k.test)
			t.end(k, "fail")
		}
	}
	if action == "fail" && !t.failedIn[pkg] {
		t.fail++
		t.failed = append(t.failed, pkg+" (the package itself)")
	}
}

func appendLines(path string, lines []string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(f, line); err != nil {
			return err
		}
	}
	return f.Close()
}
