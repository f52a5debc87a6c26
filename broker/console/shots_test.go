package console_test

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// shrink leaves pictures their 64 most frequent colours: a third of the bytes, and
// nobody sees it in text.
func shrink(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no pictures, %v", pattern, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[color.Color]int{}
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				seen[img.At(x, y)]++
			}
		}
		var colours color.Palette
		for c := range seen {
			colours = append(colours, c)
		}
		slices.SortFunc(colours, func(a, b color.Color) int { return cmp.Compare(seen[b], seen[a]) })
		small := image.NewPaletted(img.Bounds(), colours[:min(len(colours), 64)])
		draw.Draw(small, small.Bounds(), img, image.Point{}, draw.Src)
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, small); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
