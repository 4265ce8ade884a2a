package browsertest

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestShots(t *testing.T) {
	dir := os.Getenv("SHOTS_DIR")
	if dir == "" {
		t.Skip()
	}
	base, _ := startWeb(t, dir)
	for _, line := range strings.Split(os.Getenv("SHOTS"), "\n") {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		w, _ := strconv.Atoi(f[1])
		h, _ := strconv.Atoi(f[2])
		p := newTab(t, at(t, base, f[4]), w, h, f[3] == "dark")
		p.wait("document.querySelector('.row, .rec, .stats')")
		eval[int](p, "new Promise(r => setTimeout(() => r(1), 700))")
		if len(f) > 5 {
			eval[int](p, strings.Join(f[5:], " ")+"; new Promise(r => setTimeout(() => r(1), 500))")
		}
		p.picture("shot-" + f[0])
	}
}
