package store

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// The names that stand for a recording whatever it is called.
const (
	argLast = "@last"
	argLive = "@live"
)

// Resolve finds the recording that a person means by arg: a path, an id, the
// beginning of an id or of a file name in dir that fits only one, @last for the
// newest, @live for the newest that is being written. A #2 at the end means its
// second session; without it session is 0. An id is looked for in the files'
// names, and if none has it, inside the files.
func Resolve(dir, arg string) (path string, session int, err error) {
	name, session, err := cutSession(arg)
	if err != nil {
		return "", 0, err
	}
	switch {
	case name == "":
		return "", 0, fmt.Errorf("%q names no recording; `mcptap ls` shows them", arg)
	case name == argLast || name == argLive:
		path, err = newest(dir, name == argLive)
	case strings.HasPrefix(name, "@"):
		err = fmt.Errorf("%q is not known; use %s, %s or an id that `mcptap ls` shows", name, argLast, argLive)
	case isPath(name):
		path, err = byPath(dir, name)
	default:
		path, err = byPrefix(dir, name)
	}
	return path, session, err
}

// cutSession splits the #2 off an argument. A file may have a # in its name.
func cutSession(arg string) (name string, session int, err error) {
	i := strings.LastIndexByte(arg, '#')
	if i < 0 || isFile(arg) {
		return arg, 0, nil
	}
	n, err := strconv.Atoi(arg[i+1:])
	if err != nil || n < 1 {
		return "", 0, fmt.Errorf("%q: what follows # must be the number of a session, from 1", arg)
	}
	return arg[:i], n, nil
}

func isPath(arg string) bool {
	return filepath.Ext(arg) == Ext || strings.ContainsRune(arg, '/') || strings.ContainsRune(arg, filepath.Separator)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// byPath finds a file, in dir too if only its name is given.
func byPath(dir, arg string) (string, error) {
	candidates := []string{arg}
	if filepath.Base(arg) == arg {
		candidates = append(candidates, filepath.Join(dir, arg))
	}
	for _, path := range candidates {
		if isFile(path) || isFile(path+QueueExt) {
			return path, nil
		}
	}
	return "", fmt.Errorf("no recording at %s; `mcptap ls` shows those in %s", arg, dir)
}

// A match is a recording that an argument may mean.
type match struct {
	name string     // of the file, in its directory
	h    tap.Header // as far as it is known
}

// byPrefix finds the one recording whose id or file name begins so. Only where
// no file's name tells the id are the files asked.
func byPrefix(dir, arg string) (string, error) {
	names, err := recordingsIn(dir)
	if err != nil {
		return "", err
	}
	all := make([]match, len(names))
	for i, name := range names {
		all[i] = match{name, headerFromName(name)}
	}
	path, err := choose(dir, arg, all)
	switch {
	case path != "" || err != nil:
		return path, err
	case isFile(arg):
		return arg, nil
	case len(names) == 0:
		return "", fmt.Errorf("no recording %q: there are none in %s", arg, dir)
	}
	return byHeader(dir, arg, all)
}

// choose returns the path of the one match that has the id arg, or else whose id or
// file name begins so; "" if there is none.
func choose(dir, arg string, all []match) (string, error) {
	var exact, found []match
	for _, m := range all {
		if m.h.ID == arg {
			exact = append(exact, m)
		}
		if m.h.ID != "" && strings.HasPrefix(m.h.ID, strings.ToLower(arg)) || strings.HasPrefix(m.name, arg) {
			found = append(found, m)
		}
	}
	if len(exact) > 0 {
		found = exact
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return filepath.Join(dir, found[0].name), nil
	}
	return "", ambiguous(arg, found)
}

// maxHeaders is how many files are opened to find one by the id in its header,
// which takes less than a tenth of a second.
const maxHeaders = 1000

// byHeader finds the one recording that has the id inside, whatever its file is
// called: one that was copied or renamed is listed with that id. Files whose
// names tell no id come first, then the newest.
func byHeader(dir, arg string, all []match) (string, error) {
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b match) int { return cmp.Compare(min(len(a.h.ID), 1), min(len(b.h.ID), 1)) })
	opened := all[:min(len(all), maxHeaders)]
	for i := range opened {
		opened[i].h = headerIn(filepath.Join(dir, opened[i].name))
	}
	path, err := choose(dir, arg, opened)
	switch {
	case path != "" || err != nil:
		return path, err
	case len(all) > maxHeaders:
		return "", fmt.Errorf("no recording %q in %s: neither an id nor a file name begins so, and %d of the %d files were opened to look for it inside; name the file", arg, dir, maxHeaders, len(all))
	}
	return "", fmt.Errorf("no recording %q in %s: neither an id nor a file name begins so; `mcptap ls` shows them", arg, dir)
}

// headerIn returns the header in a recording's file, as far as it can be read.
func headerIn(path string) (h tap.Header) {
	if readVersion(path) != nil {
		return h
	}
	_ = viewFile(path, func(s *snap) error {
		sum, err := s.summary(keyHeader, keyState)
		h = sum.header
		return err
	})
	return h
}

// ambiguous names the newest candidates and what to type for them: an id, or
// the file where several have the same.
func ambiguous(arg string, found []match) error {
	const most = 5
	count := map[string]int{}
	for _, m := range found {
		count[m.h.ID]++
	}
	slices.SortFunc(found, func(a, b match) int { return strings.Compare(b.name, a.name) })
	var b strings.Builder
	for i, m := range found {
		if i == most {
			fmt.Fprintf(&b, ", and %d more", len(found)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if count[m.h.ID] > 1 {
			b.WriteString(m.name)
		} else {
			b.WriteString(describe(m.name, m.h))
		}
	}
	if id := found[0].h.ID; id != "" && count[id] == len(found) {
		return fmt.Errorf("%d recordings have the id %.40s; name the file: %s", len(found), id, &b)
	}
	return fmt.Errorf("%q fits %d recordings; give more of the id: %s", arg, len(found), &b)
}

// describe names a recording by what its file's name or header tells. A header
// may hold anything, of any length.
func describe(name string, h tap.Header) string {
	if h.ID == "" {
		return name
	}
	if h.Start.IsZero() {
		return fmt.Sprintf("%.40s (%.80s)", h.ID, h.Label)
	}
	return fmt.Sprintf("%.40s (%.80s, %s)", h.ID, h.Label, h.Start.Local().Format("2006-01-02 15:04:05"))
}

// newest finds the newest recording of dir by what the names tell; only files
// that were renamed have to be opened.
func newest(dir string, live bool) (string, error) {
	names, err := recordingsIn(dir)
	if err != nil {
		return "", err
	}
	var best Info
	for _, name := range names {
		path := filepath.Join(dir, name)
		if live && !queueAlive(path) {
			continue
		}
		i := Info{Path: path, Header: headerFromName(name)}
		if i.Header.Start.IsZero() {
			i = Stat(path)
		}
		if best.Path == "" || newestFirst(i, best) < 0 {
			best = i
		}
	}
	switch {
	case best.Path != "":
		return best.Path, nil
	case live:
		return "", fmt.Errorf("no recording in %s is live; %s is the newest of all", dir, argLast)
	}
	return "", fmt.Errorf("there are no recordings in %s yet; `mcptap stdio -- COMMAND` makes one", dir)
}

// Completions returns what arg could become, each with a tab and a description
// behind it, the newest first. It opens no recording.
func Completions(dir, prefix string) []string {
	names, err := recordingsIn(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, v := range []string{argLast + "\tthe newest recording", argLive + "\tthe newest that is being written"} {
		if strings.HasPrefix(v, prefix) {
			out = append(out, v)
		}
	}
	for _, name := range slices.Backward(names) {
		h := headerFromName(name)
		switch id := h.ID; {
		case id != "" && strings.HasPrefix(id, prefix):
			out = append(out, fmt.Sprintf("%s\t%s, %s", id, h.Label, h.Start.Local().Format("2006-01-02 15:04:05")))
		case prefix != "" && strings.HasPrefix(name, prefix), id == "" && prefix == "":
			out = append(out, name+"\t"+describe(name, h))
		}
	}
	return out
}
