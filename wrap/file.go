package wrap

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// BackupExt is what the name of a backup ends in. It stands beside the file.
const BackupExt = ".mcptap-backup"

// MaxSize is the size in bytes beyond which no file is read.
const MaxSize = 64 << 20

// ErrChanged says that somebody else wrote the file in the meantime.
var ErrChanged = errors.New("it changed in the meantime")

// Read returns a file. That it is not there is an error that is [fs.ErrNotExist].
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", path)
	case info.Size() > MaxSize:
		return nil, fmt.Errorf("%s has more than %d MiB", path, MaxSize>>20)
	}
	return os.ReadFile(path)
}

// Replace makes now of a file that reads was, all at once: nobody ever sees half
// of it, whatever happens. Its mode stays, and of a link the file behind it is
// replaced. When the file does not read was any more, it stays, and the error is
// [ErrChanged].
func Replace(path string, was, now []byte) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	there, err := os.ReadFile(real)
	if err != nil {
		return err
	}
	if !bytes.Equal(there, was) {
		return fmt.Errorf("%s: %w", path, ErrChanged)
	}
	return put(real, now, info.Mode().Perm())
}

// put writes a file beside the one to replace, and gives it its name when it is on
// the disk.
func put(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".mcptap-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// WriteBackup keeps what a file was before the tap was put into it, with the
// file's own mode, and returns the backup's path.
func WriteBackup(path string, was []byte) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return path + BackupExt, put(path+BackupExt, was, info.Mode().Perm())
}

// DropBackup removes the backup of a file that reads now, if that is what the
// backup holds.
func DropBackup(path string, now []byte) error {
	was, err := Read(path + BackupExt)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(was, now) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Remove(path + BackupExt)
}

// Load reads and parses the file of a place.
func Load(p Place) (*File, []byte, error) {
	src, err := Read(p.Path)
	if err != nil {
		return nil, nil, err
	}
	f, err := Parse(src, p.TOML(), p.Sections)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", p.Path, err)
	}
	return f, src, nil
}

// Without returns a file as it would be without the tap. Entries that cannot be
// unwrapped stay as they are.
func Without(src []byte, p Place) ([]byte, error) {
	f, err := Parse(src, p.TOML(), p.Sections)
	if err != nil {
		return nil, err
	}
	for i := range f.Entries() {
		if f.Entries()[i].Problem == "" {
			if _, err := f.Unwrap(i); err != nil {
				return nil, err
			}
		}
	}
	return f.Bytes(), nil
}
