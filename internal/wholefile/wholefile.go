// Package wholefile replaces files atomically. The mode of a file is kept, and so is a
// symbolic link: the file that it leads to is replaced.
package wholefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write writes a file. An existing pipe or device is written to directly.
func Write(name string, write func(io.Writer) error) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	target := linkTarget(name)
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+"-*")
	if err != nil {
		return cannotMake(name, err)
	}
	err = errors.Join(write(temporary{f, name}), f.Close())
	if err == nil {
		err = Move(f.Name(), target)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// A temporary is the temporary file of the file to replace. Its write errors name that file.
type temporary struct {
	f    *os.File
	name string
}

// Write implements [io.Writer].
func (t temporary) Write(p []byte) (int, error) {
	n, err := t.f.Write(p)
	var path *fs.PathError
	if errors.As(err, &path) {
		path.Path = t.name
	}
	return n, err
}

// TempDir makes a temporary directory on the file system of the file to replace.
func TempDir(name string) (string, error) {
	dir, err := os.MkdirTemp(filepath.Dir(linkTarget(name)), ".mcptap-*")
	if err != nil {
		err = cannotMake(name, err)
	}
	return dir, err
}

// cannotMake returns the error for a file whose temporary file cannot be created. It names
// the file, not the temporary one.
func cannotMake(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("no such directory")
	}
	return fmt.Errorf("write %s: %w", name, err)
}

// Move moves a file to name, and gives it the mode of the file that it replaces.
func Move(made, name string) error {
	target := linkTarget(name)
	if info, err := os.Stat(target); err == nil {
		if err := os.Chmod(made, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return os.Rename(made, target)
}

// linkTarget returns the target of a link, which may not exist.
func linkTarget(name string) string {
	for range 40 { // as many as Linux follows
		to, err := os.Readlink(name)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	return name
}

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
