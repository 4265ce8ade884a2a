package mocktest

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// A fakeT is a test that may fail.
type fakeT struct {
	testing.TB
	mu       sync.Mutex
	failed   []string
	logged   []string
	cleanups []func()
}

func (f *fakeT) Helper()           {}
func (f *fakeT) Cleanup(fn func()) { f.cleanups = append(f.cleanups, fn) }

func (f *fakeT) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = append(f.failed, fmt.Sprintf(format, args...))
}

func (f *fakeT) Logf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logged = append(f.logged, fmt.Sprintf(format, args...))
}

func (f *fakeT) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

// run runs a test that may fail to its end, and returns its failures.
func (f *fakeT) run(test func(t testing.TB)) string {
	over := make(chan struct{})
	go func() {
		defer close(over)
		test(f)
	}()
	<-over
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
	return strings.Join(f.failed, "\n")
}
