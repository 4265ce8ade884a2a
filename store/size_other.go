//go:build !unix

package store

import "os"

// occupied is what a file takes on the disk.
func occupied(info os.FileInfo) int64 { return info.Size() }
