package wrap

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// backupExt is the suffix of a backup, which is next to the original file.
const backupExt = ".mcptap-backup"

// maxSize limits the size of a configuration file, in bytes.
const maxSize = 64 << 20

// errChanged reports that another program modified the file after it was read.
var errChanged = errors.New("the file has changed in the meantime")

// read returns the content of a regular file of limited size.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxSize:
		return nil, fmt.Errorf("%s has more than %d MiB", path, maxSize>>20)
	}
	return os.ReadFile(path)
}

// replaceFile atomically replaces the content of a file, which must be was, with now. It keeps the mode,
// and replaces the target of a link. If the content is not was, it returns errChanged.
func replaceFile(path string, was, now []byte) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(real)
	if err != nil {
		return err
	}
	if !bytes.Equal(content, was) {
		return fmt.Errorf("%s: %w", path, errChanged)
	}
	return put(real, now, info.Mode().Perm())
}

// put writes a file under another name syncs it, and renames it.
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

// writeBackup writes was, the original content of a file, to its backup, with the mode of the file. It
// returns the path of the backup.
func writeBackup(path string, was []byte) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return path + backupExt, put(path+backupExt, was, info.Mode().Perm())
}

// dropBackup removes the backup of a file if its content equals now, that of the file.
func dropBackup(path string, now []byte) error {
	was, err := read(path + backupExt)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(was, now) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Remove(path + backupExt)
}

// Load reads and parses the file of a place.
func Load(p Place) (*File, error) {
	src, err := read(p.Path)
	if err != nil {
		return nil, err
	}
	f, err := parse(src, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Path, err)
	}
	return f, nil
}

// Apply writes the changes of a file that [Load] returned. Before changes that wrap, it writes a backup
// without the tap and returns its path. After changes that unwrap, it removes the backup if it equals
// the file.
func (f *File) Apply(unwrap bool) (backup string, err error) {
	path, was, now := f.place.Path, []byte(f.src), f.Bytes()
	if _, err := parse(now, f.place); err != nil {
		return "", fmt.Errorf("%s not written: the result would not parse: %w", path, err)
	}
	if unwrap {
		if err := replaceFile(path, was, now); err != nil {
			return "", err
		}
		return "", dropBackup(path, now)
	}
	own, err := without(was, f.place)
	if err != nil {
		return "", err
	}
	if backup, err = writeBackup(path, own); err != nil {
		return "", fmt.Errorf("a backup of %s: %w", path, err)
	}
	return backup, replaceFile(path, was, now)
}

// without returns a file without the tap. Entries that cannot be unwrapped are not changed.
func without(src []byte, p Place) ([]byte, error) {
	f, err := parse(src, p)
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
