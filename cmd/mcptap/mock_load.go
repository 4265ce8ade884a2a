package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/mock/recorded"
	"github.com/mcptap/mcptap/replay"
)

// loadMock reads a recording, or a text of one, as people commit it beside their
// tests. With #2 at the end of its name only the second session is played.
func (a *app) loadMock(ctx context.Context, arg string, opt replay.Options) (*mock.Recording, error) {
	path, session := arg, 0
	if !isTextFile(arg) {
		name, after, _ := strings.Cut(arg, "#")
		number, err := strconv.Atoi(after)
		if err == nil && number > 0 && isTextFile(name) {
			path, session = name, number
		} else if path, session, err = a.findSession(arg); err != nil {
			return nil, err
		}
	}
	rec, err := recorded.Load(ctx, path, opt)
	if err != nil {
		return nil, err
	}
	if session > 0 && !rec.Only(session) {
		return nil, errors.Join(fmt.Errorf("%s has no session #%d in which something was said", quote(path), session), rec.Close())
	}
	return rec, nil
}

// isTextFile reports whether an argument names a text of a recording.
func isTextFile(name string) bool { return recorded.IsText(name) }
