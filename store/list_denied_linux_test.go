package store

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A recording that may not be read is not damaged.
func TestListDenied(t *testing.T) {
	dir := shelf(t, "aaaa0001 first")
	infos, err := List(dir)
	if err == nil {
		err = os.Chmod(infos[0].Path, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // root may read everything: continue as another user on this thread, which ends with the test
		runtime.LockOSThread()
		if _, err := unix.SetfsuidRetUid(65534); err != nil {
			t.Fatal(err)
		}
		defer unix.SetfsuidRetUid(0) // to remove the files
	}
	if got := Stat(infos[0].Path); got.Status != Denied || got.Header.ID != "aaaa0001" {
		t.Errorf("%+v", got)
	}
}
