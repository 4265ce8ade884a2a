//go:build linux || darwin

package doctor

import "syscall"

// freeBytes returns how many bytes the user may still write to the disk of a directory.
func freeBytes(dir string) (int64, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil
}
