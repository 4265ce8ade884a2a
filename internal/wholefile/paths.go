package wholefile

import (
	"os"
	"path/filepath"
)

// Same reports whether two names lead to the same existing file.
func Same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// SamePath reports whether two names are the same path; the file need not exist.
func SamePath(a, b string) bool {
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}
