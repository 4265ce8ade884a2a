package web

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap/filter"
)

const (
	// maxSeen is how many values of a key are offered for completion.
	maxSeen = 500
	// maxSeenOf is how many recordings have their values remembered.
	maxSeenOf = 32
)

// A seen collects the values in a recording, for the completion of filters. It may be
// used by several goroutines at once.
type seen struct {
	mu     sync.Mutex
	values [6]map[string]struct{}
}

// note adds the values of an item.
func (s *seen) note(it *filter.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, v := range []string{it.Method, it.Tool, it.Prompt, it.URI, it.Session, it.Revision} {
		if _, known := s.values[i][v]; known || v == "" || len(s.values[i]) >= maxSeen {
			continue
		}
		if s.values[i] == nil {
			s.values[i] = map[string]struct{}{}
		}
		s.values[i][strings.Clone(v)] = struct{}{}
	}
}

// list returns the values so far.
func (s *seen) list() filter.Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all [6][]string
	for i, values := range s.values {
		all[i] = slices.Sorted(maps.Keys(values))
	}
	return filter.Seen{Methods: all[0], Tools: all[1], Prompts: all[2], URIs: all[3], Sessions: all[4], Revisions: all[5]}
}

// A seenOf has the values of several recordings, by key.
type seenOf struct {
	mu    sync.Mutex
	byKey bounded.Map[string, *seen]
}

// of returns the values of a recording.
func (s *seenOf) of(key string) *seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.byKey.Get(key)
	if !ok {
		v = &seen{}
		s.byKey.Max = maxSeenOf
		s.byKey.Put(key, v)
	}
	return v
}
