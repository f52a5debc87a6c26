package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/related"
)

// Words that stand near the same words are related, the table can be read, and the same
// sources make the same table.
func TestTableOfASmallCorpus(t *testing.T) {
	var b strings.Builder
	for range 40 {
		for _, v := range []string{"car", "truck", "bus"} {
			b.WriteString(`{"source":"ours","name":"drive","description":"` + v + ` engine wheel driver road fuel"}` + "\n")
		}
		for _, v := range []string{"apple", "pear", "plum"} {
			b.WriteString(`{"source":"ours","name":"eat","description":"` + v + ` juice tree fruit sweet ripe"}` + "\n")
		}
		b.WriteString(`{"source":"theirs","name":"x","description":"car apple car apple"}` + "\n")
	}
	dir := t.TempDir()
	tools, stop := filepath.Join(dir, "t.jsonl"), filepath.Join(dir, "words.txt")
	for path, text := range map[string]string{tools: b.String(), stop: "stop: the a\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := newCorpus()
	if err := c.readStopWords(stop); err != nil {
		t.Fatal(err)
	}
	if err := c.read(tools, []string{"ours"}); err != nil {
		t.Fatal(err)
	}
	v := c.vocabulary()
	m := c.near(v)
	list := relateAll(v, m.reduce(4), c.synonyms, 0)
	again := relateAll(v, c.near(v).reduce(4), c.synonyms, 0)
	if string(encode(list)) != string(encode(again)) {
		t.Error("another table from the same sources")
	}
	table, err := related.Read(string(encode(list)))
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{"car": "truck", "bus": "car", "appl": "pear", "plum": "pear"} {
		var got []string
		for n := range table.Of(word) {
			got = append(got, n.Stem)
		}
		if !slices.Contains(got, want) {
			t.Errorf("%s is related to %v, want %s among them", word, got, want)
		}
	}
}

func TestSplitTakesNamesApart(t *testing.T) {
	for text, want := range map[string]string{"listHTTPRoutes": "list http routes", "create_bucket v2": "create bucket v", "Émile's <b>": "mile s b", "": ""} {
		if got := strings.Join(split(text), " "); got != want {
			t.Errorf("split(%q) = %q, want %q", text, got, want)
		}
	}
}
