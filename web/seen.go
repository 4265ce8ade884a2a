package web

import (
	"slices"
	"strings"
	"sync"

	"github.com/mcptap/mcptap/tap/filter"
)

const (
	// maxSeen is how many values of a key are offered for completion.
	maxSeen = 500
	// maxSeenOf is of how many recordings the values are remembered.
	maxSeenOf = 32
)

// A seen collects the values that a recording has, for the completion of
// filters. It may be used by several goroutines at once.
type seen struct {
	mu     sync.Mutex
	values [6]map[string]struct{}
}

// note takes what an item has.
func (s *seen) note(it *filter.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, v := range []string{it.Method, it.Tool, it.Prompt, it.URI, it.Session, it.Revision} {
		if v == "" || len(s.values[i]) >= maxSeen {
			continue
		}
		if _, ok := s.values[i][v]; ok {
			continue
		}
		if s.values[i] == nil {
			s.values[i] = map[string]struct{}{}
		}
		s.values[i][strings.Clone(v)] = struct{}{}
	}
}

// list returns what was collected so far.
func (s *seen) list() filter.Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all [6][]string
	for i, values := range s.values {
		for v := range values {
			all[i] = append(all[i], v)
		}
		slices.Sort(all[i])
	}
	return filter.Seen{Methods: all[0], Tools: all[1], Prompts: all[2], URIs: all[3], Sessions: all[4], Revisions: all[5]}
}

// A seenOf has the values of the recordings that were looked at last.
type seenOf struct {
	mu    sync.Mutex
	byKey map[string]*seen
	order []string
}

// of returns those of one recording.
func (s *seenOf) of(key string) *seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.byKey[key]; v != nil {
		return v
	}
	if s.byKey == nil {
		s.byKey = map[string]*seen{}
	}
	if len(s.order) == maxSeenOf {
		delete(s.byKey, s.order[0])
		s.order = s.order[1:]
	}
	v := &seen{}
	s.byKey[key], s.order = v, append(s.order, key)
	return v
}
