package peers

import (
	"bytes"
	"compress/flate"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/mcpbroker/mcpbroker/internal/tokens"
)

var update = flag.Bool("update", false, "write the vocabulary of internal/tokens")

const (
	vocabularyFile = "../../internal/tokens/o200k.flate"
	vocabularySize = 199_998 // without the special tokens, which no text has
)

// misread matches texts that the other implementation does not read as the
// expression of the encoding says: it loses U+007F, and of white space with several
// ends of lines, \s*[\r\n]+, it takes only the first one.
var misread = regexp.MustCompile(`\x7f|[\r\n][\t\v\f\pZ\x{85}]+[\r\n]`)

func theirs(t *testing.T) tokenizer.Codec {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	return codec
}

// The vocabulary is that of tiktoken. go test -update writes it.
func TestVocabulary(t *testing.T) {
	codec := theirs(t)
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	for id := range uint(vocabularySize) {
		token, err := codec.Decode([]uint{id})
		if err != nil || len(token) == 0 || len(token) > 255 {
			t.Fatalf("token %d: %q, %v", id, token, err)
		}
		if _, err := w.Write(append([]byte{byte(len(token))}, token...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(vocabularyFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s has %d bytes", vocabularyFile, b.Len())
	}
	got, err := os.ReadFile(vocabularyFile)
	if err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s has %d bytes, want %d others, %v: run go test -update", vocabularyFile, len(got), b.Len(), err)
	}
}

// Texts have as many tokens as tiktoken finds: all pages and programs of this
// repository, and random ones of characters from every class that pieces tells apart.
func TestCounts(t *testing.T) {
	codec := theirs(t)
	compare := func(what, text string) {
		t.Helper()
		want, err := codec.Count(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tokens.Count(text); err != nil || got != want {
			t.Errorf("%q has %d tokens, %v, want %d", what, got, err, want)
		}
	}
	files := 0
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(path, ".git/") {
			return err
		}
		switch filepath.Ext(path) {
		case ".go", ".md", ".json", ".jsonl", ".ts", ".txtar", ".html", ".yaml", ".js":
		default:
			return nil
		}
		text, err := os.ReadFile(filepath.Join("../..", path))
		if err == nil && len(text) < 100<<10 && files < 600 {
			files++
			compare(path, string(text))
		}
		return err
	})
	if err != nil || files < 100 {
		t.Errorf("%d files, %v", files, err)
	}
	letters := []string{"a", "B", "ſ", "'", "'s", "'LL", "'ve", "é", "Ä", "ǅ", "ʰ", "ª", "中", "日本", "ا", "\u0301", "\u0903", "1", "23", "Ⅷ", "½", " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2028", "\u0085",
		"/", "//", "-", ".", "\"", "{", "😀", "👨\u200d👩", "\u200b", "€", "_", "\x00", "\x7f", "the", "HTTP", "URLs", "x1"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var b strings.Builder
		for range 1 + random.IntN(12) {
			b.WriteString(letters[random.IntN(len(letters))])
		}
		if !misread.MatchString(b.String()) {
			compare(b.String(), b.String())
		}
	}
	for _, long := range []string{strings.Repeat("a", 5000), strings.Repeat("ab1-", 3000), strings.Repeat("日本", 2000), strings.Repeat(" ", 3000) + "x", strings.Repeat("=", 1000)} {
		compare(long[:10]+"…", long)
	}
}
