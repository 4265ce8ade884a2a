//go:build docs

package browsertest

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"slices"
	"testing"
)

// shrink rewrites a picture with 256 colours, in about a third of the bytes.
func shrink(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	full, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	count := map[color.Color]int{}
	size := full.Bounds()
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			count[full.At(x, y)]++
		}
	}
	var colours color.Palette
	for c := range count {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.Color) int { return count[b] - count[a] })
	colours = apart(colours)
	nearest := map[color.Color]uint8{}
	for c := range count {
		nearest[c] = uint8(colours.Index(c))
	}
	small := image.NewPaletted(size, colours)
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			small.SetColorIndex(x, y, nearest[full.At(x, y)])
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// apart returns the first 256 of the colours, skipping those similar to an earlier one, so that the many
// shades at the edges of letters do not use up the palette.
func apart(colours color.Palette) (taken color.Palette) {
	for _, c := range colours {
		near := false
		for _, t := range taken {
			near = near || distance(c, t) < 14*14
		}
		if !near && len(taken) < 256 {
			taken = append(taken, c)
		}
	}
	return taken
}

func distance(a, b color.Color) (sum int) {
	r, g, bl, _ := a.RGBA()
	r2, g2, b2, _ := b.RGBA()
	for _, d := range []int{int(r>>8) - int(r2>>8), int(g>>8) - int(g2>>8), int(bl>>8) - int(b2>>8)} {
		sum += d * d
	}
	return sum
}
