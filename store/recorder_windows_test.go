package store

import "testing"

func holdLock(t *testing.T, path string) (release func()) {
	t.Helper()
	t.Skip("SKIPPED: the test holds the file's lock as Unix programs do")
	return nil
}
