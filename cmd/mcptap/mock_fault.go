package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/mcptap/mcptap/replay"
)

// readFaults reads faults, and files of faults, which are named by @FILE.
func readFaults(args []string) (all []replay.Fault, err error) {
	for _, arg := range args {
		name, file := strings.CutPrefix(arg, "@")
		if !file {
			f, err := replay.ParseFault(arg)
			if err != nil {
				return nil, fmt.Errorf("--fault: %w", err)
			}
			all = append(all, f)
			continue
		}
		faults, err := readFaultFile(name)
		if err != nil {
			return nil, fmt.Errorf("--fault: %w", err)
		}
		all = append(all, faults...)
	}
	return all, nil
}

// longestFault is how long a line of a file of faults may be, in bytes. A longer one
// is that of another file.
const longestFault = 1000

// readFaultFile reads a file of faults: one a line, # begins a comment.
func readFaultFile(name string) (all []replay.Fault, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) { // as Windows begins a text
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if len(line) > longestFault {
			return nil, fmt.Errorf("%s, line %d: %d bytes are no fault", name, n, len(line))
		}
		f, err := replay.ParseFault(line)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, n, err)
		}
		all = append(all, f)
	}
	return all, nil
}
