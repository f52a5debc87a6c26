package index

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// In this space "beverage" and "tea" point alike, "tractor" elsewhere.
const plainVectors = `5 3
the 1 1 1
tea 0.9 0.1 0
beverage 2 0.3 0
tractor 0 0.1 3
brew 0.8 0.2 0.1
`

func buildVectors(t testing.TB, source string) *Vectors {
	t.Helper()
	path := filepath.Join(t.TempDir(), "v.bin")
	if _, err := BuildVectors(strings.NewReader(source), 100, path); err != nil {
		t.Fatal(err)
	}
	v, err := LoadVectors(path)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVectorsFindWordsOfLikeMeaning(t *testing.T) {
	v := buildVectors(t, plainVectors)
	if v.Len() != 4 || v.Dims() != 3 {
		t.Errorf("%d words of %d dimensions, want 4 of 3: stop words are left out", v.Len(), v.Dims())
	}
	x := openIndex(t, &Options{Vectors: v}, loadTools(t, filepath.Join("testdata", "tools.jsonl")),
		Entry{ID: "1", Kind: "skill", Name: "brew tea"}, Entry{ID: "2", Kind: "skill", Name: "tractor"})
	h, err := x.Search(t.Context(), Query{Text: "beverage"})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Hits) != 1 || h.Hits[0].ID != "1" {
		t.Errorf("Search(beverage) = %+v, want the skill that brews tea alone", h.Hits)
	}
	if h, _ := x.Search(t.Context(), Query{Text: "tractor"}); len(h.Hits) == 0 || h.Hits[0].ID != "2" {
		t.Errorf("Search(tractor) = %+v, want the skill of that name first", h.Hits)
	}
}

func TestBadVectors(t *testing.T) {
	for source, want := range map[string]string{
		"":                        "has none",
		"tea 1 2\nmilk 1 2 3\n":   "line 2",
		"tea 1 two\n":             `"two" is not a number`,
		"tea 1 NaN\n":             "not a number",
		"tea one\nmilk two three": "line 2",
	} {
		_, err := BuildVectors(strings.NewReader(source), 10, filepath.Join(t.TempDir(), "v.bin"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("BuildVectors(%q): error %v, want one with %q", source, err, want)
		}
	}
}

func TestDamagedTableIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.bin")
	v, err := BuildVectors(strings.NewReader(plainVectors), 100, path)
	if err != nil {
		t.Fatal(err)
	}
	good := v.encode()
	for name, b := range map[string][]byte{
		"empty": {}, "text": []byte(plainVectors), "cut": good[:len(good)-9], "flipped": append(append([]byte(nil), good[:20]...), append([]byte{good[20] ^ 1}, good[21:]...)...),
	} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadVectors(path); err == nil || !strings.Contains(err.Error(), "--build-vectors") {
			t.Errorf("%s: error %v, want one that says how to make it again", name, err)
		}
	}
	if _, err := LoadVectors(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error for a file that is not there")
	}
}

func FuzzDecodeVectors(f *testing.F) {
	v, err := readVectors(strings.NewReader(plainVectors), 9)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(v.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := decodeVectors(b); err == nil && len(v.data) != len(v.scale)*v.dims {
			t.Errorf("%d numbers for %d words of %d dimensions", len(v.data), len(v.scale), v.dims)
		}
	})
}
