package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// update puts the new recording in the place of the old one, if the person wants
// it. A file of text is written anew in its format; a recording keeps its id and its
// label. What a server said to a part of it takes nobody's place: it would leave hardly
// anything of a recording that cannot be made again.
func (r *replayer) update() error {
	if r.cut() || r.unanswered() {
		r.a.say("nothing was replaced, since not all was played, or nothing was answered")
		return exitCode(exitNo)
	}
	if !r.o.yes {
		fmt.Fprintf(r.a.stderr, "Replace %s with what the server says now? [y/N] ", escape(r.from.name))
		answer, _ := bufio.NewReader(r.a.stdin).ReadString('\n')
		if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
			r.a.say("nothing was replaced")
			return exitCode(exitNo)
		}
	}
	made, err := store.Open(r.made)
	if err != nil {
		return err
	}
	made.SetMaxRaw(math.MaxInt64)
	if isTextFile(r.arg) {
		err = r.rewriteText(made)
	} else {
		err = r.rewriteRecording(made)
	}
	if err != nil {
		return fmt.Errorf("--update: %w", err)
	}
	return store.Remove(r.made)
}

// rewriteText writes the new recording over a file of text.
func (r *replayer) rewriteText(made *store.Recording) error {
	f, err := os.Open(r.arg)
	if err != nil {
		return err
	}
	first, err := bufio.NewReader(f).ReadByte()
	f.Close()
	if err != nil {
		return err
	}
	format := "txtar"
	if first == '{' {
		format = "ndjson"
	}
	return writeFile(r.arg, func(w io.Writer) error { return exportTo(r.ctx, w, format, made) })
}

// rewriteRecording writes the new recording over a recording.
func (r *replayer) rewriteRecording(made *store.Recording) error {
	info, err := made.Info()
	if err != nil {
		return err
	}
	h := info.Header
	h.ID, h.Label = r.from.info.Header.ID, r.from.info.Header.Label
	return writeRecording(r.from.path, func(name string) error {
		return copyRecording(r.ctx, made, name, h, func(*tap.Frame) error { return nil })
	})
}
