//go:build ignore

// Tally reads `go test -json` on its stdin, prints what a person wants to see
// of it (the line of each package, the output of tests that failed or were
// skipped), and appends "passed failed skipped" to the file that it is given. A
// test that has begun and not ended has failed, as has a package that failed
// without a failed test. Where one was skipped it exits with 1.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

type key struct{ pkg, test string }

func main() {
	counts := map[string]int{}
	output := map[key]*strings.Builder{}
	open := map[key]bool{}
	failedIn := map[string]bool{}
	end := func(k key, action string) {
		counts[action]++
		if action == "fail" {
			failedIn[k.pkg] = true
		}
		if out := output[k]; action != "pass" && out != nil {
			fmt.Print(out)
		}
		delete(output, k)
		delete(open, k)
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		var e event
		if len(line) > 0 && json.Unmarshal(line, &e) != nil {
			fmt.Print(string(line)) // not from the tests: go itself complains
		}
		k := key{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			fmt.Print(e.Output)
		case "output":
			switch {
			case e.Test == "" && e.Output != "PASS\n" && e.Output != "FAIL\n":
				fmt.Print(e.Output)
			case e.Test != "" && !strings.HasPrefix(e.Output, "=== "):
				if output[k] == nil {
					output[k] = new(strings.Builder)
				}
				output[k].WriteString(e.Output)
			}
		case "run":
			open[k] = true
		case "pass", "fail", "skip":
			if e.Test != "" {
				end(k, e.Action)
				break
			}
			for k := range open {
				if k.pkg == e.Package {
					fmt.Printf("--- NOT ENDED: %s\n", k.test)
					end(k, "fail")
				}
			}
			if e.Action == "fail" && !failedIn[e.Package] {
				counts["fail"]++
			}
		}
		if err != nil {
			break
		}
	}
	f, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(f, counts["pass"], counts["fail"], counts["skip"])
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
	fmt.Printf("tests: pass %d, fail %d, skip %d\n", counts["pass"], counts["fail"], counts["skip"])
	if counts["skip"] > 0 {
		fmt.Fprintln(os.Stderr, "tally: this check skips nothing: what is said above to be missing must be here")
		os.Exit(1)
	}
}
