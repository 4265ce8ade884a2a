package wholefile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestErrorNamesTheFile checks that an error while writing names the file, and leaves none behind.
func TestErrorNamesTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.har")
	err := Write(name, func(w io.Writer) error {
		w.(temporary).f.Close() // every write fails, as on a full disk
		_, err := w.Write([]byte("x"))
		return fmt.Errorf("page: %w", err)
	})
	if want := "page: write " + name + ": file already closed"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if left, _ := os.ReadDir(filepath.Dir(name)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
