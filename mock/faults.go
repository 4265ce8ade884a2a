package mock

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/replay"
)

// ReadFaults parses faults and, for arguments of the form @FILE, files of faults. cut is the number
// of events in cut=N, which is a fault of the server and not of an answer.
func ReadFaults(args []string) (all []replay.Fault, cut int, err error) {
	add := func(text string) error {
		kind, rest, _ := strings.Cut(strings.Join(strings.Fields(text), " "), " ")
		if n, ok := strings.CutPrefix(kind, "cut="); ok || kind == "cut" {
			if cut, err = strconv.Atoi(n); err != nil || cut < 1 {
				return errors.New("cut needs a positive number of events, such as cut=2")
			}
			if rest != "" {
				return fmt.Errorf("%s takes no method, n, every or p: it ends every event stream", kind)
			}
			return nil
		}
		if name, _, _ := strings.Cut(kind, "="); name != "" && !slices.Contains(replay.FaultNames(), name) {
			return fmt.Errorf("unknown fault %q (want %s or cut)", name, strings.Join(replay.FaultNames(), ", "))
		}
		f, err := replay.ParseFault(text)
		all = append(all, f)
		return err
	}
	for _, arg := range args {
		if name, file := strings.CutPrefix(arg, "@"); file {
			err = readFaultFile(name, add)
		} else {
			err = add(arg)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("--fault: %w", err)
		}
	}
	return all, cut, nil
}

// longestFault is the maximum length of a line in a fault file, in bytes. A longer line means that
// the file is of another kind.
const longestFault = 1000

// readFaultFile reads a file of faults, one per line. # begins a comment.
func readFaultFile(name string, add func(string) error) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) { // Windows programs add a byte order mark
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if len(line) > longestFault {
			return fmt.Errorf("%s, line %d: a line of %d bytes is too long for a fault", name, n, len(line))
		}
		if err := add(line); err != nil {
			return fmt.Errorf("%s, line %d: %w", name, n, err)
		}
	}
	return nil
}
