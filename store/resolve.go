package store

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// The names of recordings that are chosen by their state.
const (
	argLast = "@last"
	argLive = "@live"
)

// Resolve finds the recording that arg names: a path, an id, a label, the
// unique prefix of an id or a file name in dir, in this order, @last for the
// newest, @live for the newest that is being written. A suffix #2 means its
// second session, unless a label ends in it; without it, session is 0. An id is searched for
// in the file names, and if none has it, inside the files.
func Resolve(dir, arg string) (path string, session int, err error) {
	if strings.ContainsRune(arg, '#') {
		if path = labelled(dir, arg); path != "" {
			return path, 0, nil
		}
	}
	name, session, err := CutSession(arg)
	if err != nil {
		return "", 0, err
	}
	switch {
	case name == "":
		return "", 0, fmt.Errorf("%q does not name a recording; `mcptap ls` lists them", arg)
	case name == argLast || name == argLive:
		path, err = newest(dir, name == argLive)
	case strings.HasPrefix(name, "@"):
		err = fmt.Errorf("%q is unknown; use %s, %s or an id that `mcptap ls` shows", name, argLast, argLive)
	case isPath(name):
		if path, err = byPath(dir, name); err != nil {
			if found := labelled(dir, name); found != "" {
				path, err = found, nil
			}
		}
	default:
		path, err = byPrefix(dir, name)
	}
	if info, statErr := os.Stat(name); err != nil && statErr == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory, not a recording (to read the recordings in it, use --dir)", name)
	}
	return path, session, err
}

// CutSession splits off the #2 of an argument; without it, session is 0. A file name may
// contain a #.
func CutSession(arg string) (name string, session int, err error) {
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

// byPath finds a file, in dir too if arg is only a name.
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

// named returns the recordings in dir with the headers from their file names, by name.
func named(dir string) ([]Info, error) {
	names, err := recordingsIn(dir)
	all := make([]Info, len(names))
	for i, name := range names {
		all[i] = Info{Path: filepath.Join(dir, name), Header: headerFromName(name)}
	}
	return all, err
}

// maxHeaders is the maximum number of files that are opened to find an id, which takes less
// than a tenth of a second.
const maxHeaders = 1000

// byPrefix finds the recording with the id or the label arg, or the only one whose id or
// file name has the prefix arg. Only if no file name matches, it opens the files, as a copied or renamed file is listed
// with the id inside. It begins with those without an id in their name, then the newest.
func byPrefix(dir, arg string) (string, error) {
	all, err := named(dir)
	if err != nil {
		return "", err
	}
	path, err := choose(arg, all)
	if slices.ContainsFunc(all, func(i Info) bool { return i.Header.ID == arg }) {
		return path, err
	}
	if isFile(arg) {
		return arg, nil
	}
	if label := labelled(dir, arg); label != "" {
		return label, nil
	}
	switch {
	case path != "" || err != nil:
		return path, err
	case slices.Contains([]string{".txtar", ".ndjson", ".zip", ".har"}, filepath.Ext(arg)):
		return "", fmt.Errorf("open %s: no such file", arg)
	case len(all) == 0:
		return "", fmt.Errorf("no recording %q: there are none in %s", arg, dir)
	}
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b Info) int { return cmp.Compare(min(len(a.Header.ID), 1), min(len(b.Header.ID), 1)) })
	opened := all[:min(len(all), maxHeaders)]
	for i := range opened {
		opened[i], _ = readInfo(opened[i].Path)
	}
	path, err = choose(arg, opened)
	switch {
	case path != "" || err != nil:
		return path, err
	case len(all) > maxHeaders:
		return "", fmt.Errorf("no recording %q in %s: no id or file name begins with it, and no recording has that label; only %d of %d files were opened to look for it inside; name the file", arg, dir, maxHeaders, len(all))
	}
	return "", fmt.Errorf("no recording %q in %s: no id or file name begins with it, and no recording has that label; `mcptap ls` lists them", arg, dir)
}

// labelled returns the path of the newest recording in dir with a label, "" if there is
// none.
func labelled(dir, label string) string {
	for _, i := range Labelled(dir, label) {
		return i.Path
	}
	return ""
}

// Labelled returns the recordings in dir with a label, in full or as in the file name, the
// newest first. A replay has the label of the recording that it replayed; replays are
// returned only if there are no others.
func Labelled(dir, label string) []Info {
	all, _ := named(dir)
	inName := labelInName(label)
	all = slices.DeleteFunc(all, func(i Info) bool { return i.Header.Label != inName })
	slices.SortFunc(all, newestFirst)
	var found, replays []Info
	for _, i := range all[:min(len(all), maxHeaders)] {
		switch i = Stat(i.Path); {
		case i.Header.Label != label && inName != label:
		case i.Header.ReplayOf == "":
			found = append(found, i)
		default:
			replays = append(replays, i)
		}
	}
	if len(found) == 0 {
		return replays
	}
	return found
}

// choose returns the path of the only recording that has the id arg, or whose id or
// file name has the prefix arg; "" if there is none.
func choose(arg string, all []Info) (string, error) {
	var exact, found []Info
	for _, i := range all {
		id := i.Header.ID
		if id == arg {
			exact = append(exact, i)
		}
		if id != "" && strings.HasPrefix(id, strings.ToLower(arg)) || strings.HasPrefix(filepath.Base(i.Path), arg) {
			found = append(found, i)
		}
	}
	if len(exact) > 0 {
		found = exact
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0].Path, nil
	}
	return "", ambiguous(arg, found)
}

// ambiguous returns an error with the newest candidates and the arguments for them: an id,
// or the file if several have the same id.
func ambiguous(arg string, found []Info) error {
	const most = 5
	count := map[string]int{}
	for _, i := range found {
		count[i.Header.ID]++
	}
	slices.SortFunc(found, func(a, b Info) int { return strings.Compare(b.Path, a.Path) })
	var names []string
	for _, i := range found[:min(len(found), most)] {
		if name := filepath.Base(i.Path); count[i.Header.ID] > 1 {
			names = append(names, name)
		} else {
			names = append(names, describe(name, i.Header))
		}
	}
	if len(found) > most {
		names = append(names, fmt.Sprintf("and %d more", len(found)-most))
	}
	list := strings.Join(names, ", ")
	if id := found[0].Header.ID; id != "" && count[id] == len(found) {
		return fmt.Errorf("%d recordings have the id %.40s; name the file: %s", len(found), id, list)
	}
	return fmt.Errorf("%q matches %d recordings; give more of the id: %s", arg, len(found), list)
}

// describe returns a short description of a recording from its header, which is arbitrary.
func describe(name string, h tap.Header) string {
	switch {
	case h.ID == "":
		return name
	case h.Start.IsZero():
		return fmt.Sprintf("%.40s (%.80s)", h.ID, h.Label)
	}
	return fmt.Sprintf("%.40s (%.80s, %s)", h.ID, h.Label, h.Start.Local().Format(time.DateTime))
}

// newest finds the newest recording of dir by file names. It opens only renamed files.
func newest(dir string, live bool) (string, error) {
	all, err := named(dir)
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(all, func(i Info) bool { return live && !IsLive(i.Path) })
	for i := range all {
		if all[i].Header.Start.IsZero() {
			all[i] = Stat(all[i].Path)
		}
	}
	slices.SortFunc(all, newestFirst)
	for i := range all { // recordings of replays are skipped
		if live || Stat(all[i].Path).Header.ReplayOf == "" {
			return all[i].Path, nil
		}
	}
	switch {
	case len(all) > 0:
		return "", fmt.Errorf("all recordings in %s are of replays; name one by its id", dir)
	case live:
		return "", fmt.Errorf("no recording in %s is live; %s is the newest of all", dir, argLast)
	}
	return "", fmt.Errorf("there are no recordings in %s yet; `mcptap stdio -- COMMAND` creates one", dir)
}

// Completions returns possible completions of an argument, each followed by a tab and a
// description, the newest first: ids, or names of files, and then labels as they are in
// the names of files, each once. It opens no recordings.
func Completions(dir, prefix string) (out []string) {
	for _, v := range []string{argLast + "\tthe newest recording that is not a replay", argLive + "\tthe newest live recording"} {
		if strings.HasPrefix(v, prefix) {
			out = append(out, v)
		}
	}
	all, _ := named(dir)
	for _, i := range slices.Backward(all) {
		name, h := filepath.Base(i.Path), i.Header
		switch id := h.ID; {
		case id != "" && strings.HasPrefix(id, prefix):
			out = append(out, fmt.Sprintf("%s\t%s, %s", id, h.Label, h.Start.Local().Format(time.DateTime)))
		case prefix != "" && strings.HasPrefix(name, prefix), id == "" && prefix == "":
			out = append(out, name+"\t"+describe(name, h))
		}
	}
	var labels []string
	for _, i := range slices.Backward(all) {
		h := i.Header
		if h.Label != "" && strings.HasPrefix(h.Label, prefix) && !slices.Contains(labels, h.Label) {
			labels = append(labels, h.Label)
			out = append(out, fmt.Sprintf("%s\t%s, %s", h.Label, h.ID, h.Start.Local().Format(time.DateTime)))
		}
	}
	return out
}

// LivePaths returns the recordings in a directory that are being written. It opens
// none of them.
func LivePaths(dir string) (paths []string) {
	queues, _ := fs.Glob(os.DirFS(dir), "*"+Ext+QueueExt)
	for _, q := range queues {
		if path := filepath.Join(dir, strings.TrimSuffix(q, QueueExt)); IsLive(path) {
			paths = append(paths, path)
		}
	}
	return paths
}
