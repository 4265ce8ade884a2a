package wrap

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// BackupExt is the suffix of a backup, which is beside the file.
const BackupExt = ".mcptap-backup"

// MaxSize is the largest size, in bytes, of a file that is read.
const MaxSize = 64 << 20

// ErrChanged reports that another program wrote the file in the meantime.
var ErrChanged = errors.New("it changed in the meantime")

// Read returns a file.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > MaxSize:
		return nil, fmt.Errorf("%s has more than %d MiB", path, MaxSize>>20)
	}
	return os.ReadFile(path)
}

// Replace atomically replaces a file that holds was. The mode stays, and so does a
// link: the file that it leads to is replaced. If the file no longer holds was,
// Replace returns [ErrChanged].
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

// put writes a file under another name and renames it when it is on the disk.
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

// WriteBackup saves what a file was, with the file's mode, and returns the path of
// the backup.
func WriteBackup(path string, was []byte) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return path + BackupExt, put(path+BackupExt, was, info.Mode().Perm())
}

// DropBackup removes the backup of a file if it equals now, what the file holds.
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
func Load(p Place) (*File, error) {
	src, err := Read(p.Path)
	if err != nil {
		return nil, err
	}
	f, err := Parse(src, p.TOML(), p.Sections)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Path, err)
	}
	f.place = p
	return f, nil
}

// Apply writes a file that [Load] returned with its changes. When they wrap, it
// first saves the file without the tap and returns the path of that backup; when
// they unwrap and leave what the backup holds, it removes the backup.
func (f *File) Apply(unwrap bool) (backup string, err error) {
	path, was, now := f.place.Path, []byte(f.src), f.Bytes()
	if _, err := Parse(now, f.toml, f.place.Sections); err != nil {
		return "", fmt.Errorf("%s not written: the result would not parse: %w", path, err)
	}
	if unwrap {
		if err := Replace(path, was, now); err != nil {
			return "", err
		}
		return "", DropBackup(path, now)
	}
	own, err := Without(was, f.place)
	if err != nil {
		return "", err
	}
	if backup, err = WriteBackup(path, own); err != nil {
		return "", fmt.Errorf("a backup of %s: %w", path, err)
	}
	return backup, Replace(path, was, now)
}

// Without returns a file without the tap. Entries that cannot be unwrapped stay as
// they are.
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
