package index

import (
	"cmp"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
)

func TestEverydayWordsAndPhrasesFindTools(t *testing.T) {
	x := newIndex(t, catalog(
		discovery.ListedTool{Name: "delete_server", Description: "Delete a server."},
		discovery.ListedTool{Name: "create_server", Description: "Create a server."},
		discovery.ListedTool{Name: "list_directory", Description: "List a directory."},
		discovery.ListedTool{Name: "create_refund", Description: "Create a refund."},
		discovery.ListedTool{Name: "get_forecast", Description: "Get the weather forecast."},
		discovery.ListedTool{Name: "list_contacts", Description: "List contacts."},
	))
	for query, want := range map[string]string{
		"get rid of the machine":         "delete_server",
		"tear it down":                   "delete_server",
		"throw the box out":              "", // words may stand between, but only articles and such
		"throw it out":                   "delete_server",
		"spin up another machine":        "create_server",
		"the customer wants money back":  "create_refund",
		"do I need an umbrella":          "get_forecast",
		"people I know":                  "list_contacts",
		"folders":                        "list_directory",
		"what time does the parade pass": "",
	} {
		got := ids(t, x, Query{Text: query})
		if want != "" && (len(got) == 0 || got[0] != "git_hub__"+want) {
			t.Errorf("Search(%q) = %v, want %s first", query, got, want)
		}
	}
}

// A phrase counts as one word: its words do not count by themselves, and the answer says
// what it was taken for.
func TestAPhraseIsOneWord(t *testing.T) {
	x := newIndex(t, catalog(
		discovery.ListedTool{Name: "delete_note"}, discovery.ListedTool{Name: "create_note"}, discovery.ListedTool{Name: "approve_note"},
	))
	for query, want := range map[string]string{"get rid of a note": "get rid", "Throw away notes": "Throw away", "sign off the note": "sign off"} {
		h, err := x.Search(t.Context(), Query{Text: query, Explain: true})
		if err != nil || len(h.Hits) == 0 {
			t.Fatal(query, h, err)
		}
		if m := h.Hits[0].Words; len(m) != 2 || m[0].Word != want || len(h.Unmatched) > 0 || len(h.Replaced) != 1 || h.Replaced[0].From != want {
			t.Errorf("Search(%q): words %+v, unmatched %v, replaced %v, want %q as one word", query, m, h.Unmatched, h.Replaced, want)
		}
	}
}

var update = flag.Bool("update", false, "write everyday.bin")

// The table in the program is that of everyday.txt. The tables that ship with the program
// stay small, and have no query that is measured.
func TestEverydayTable(t *testing.T) {
	text, err := os.ReadFile("everyday.txt")
	if err != nil {
		t.Fatal(err)
	}
	data, err := encodeEveryday(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("everyday.bin", data, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(data) != everydayFile {
		t.Fatal("everyday.bin is not made from everyday.txt: go test ./index -run EverydayTable -update")
	}
	e, err := readSayings(string(data))
	if err != nil {
		t.Fatal(err)
	}
	if e.n < 2000 || len(everydayFile)+len(relatedFile) > 1_500_000 {
		t.Errorf("%d sayings, %d bytes", e.n, len(everydayFile)+len(relatedFile))
	}
	said := map[string]bool{}
	for i := range e.n {
		stems, _ := e.saying(i)
		if len(e.meaning(i)) == 0 && !strings.Contains(stems, " ") {
			t.Errorf("%q stands for itself only", stems)
		}
		if strings.Count(stems, " ") > 1 {
			said[stems] = true
		}
	}
	files := []string{"testdata/paraphrase-core.jsonl", "testdata/paraphrase-apart.jsonl", "testdata/paraphrase.jsonl", "testdata/queries.jsonl"}
	if retrieval != "" {
		files = append(files, filepath.Join(retrieval, "queries.jsonl"))
	}
	for _, f := range files {
		for _, q := range loadQueries(t, f) {
			var stems []string
			pieces(q.Text, func(p piece) bool {
				if !fillers[p.whole] {
					stems = append(stems, sayingStem(p.whole))
				}
				return true
			})
			if said[strings.Join(stems, " ")] {
				t.Errorf("everyday.txt has the query %q of %s", q.Text, f)
			}
		}
	}
}

// Whatever a query has, a search ends, with scores in order.
func TestOddQueries(t *testing.T) {
	x := newIndex(t, catalog(discovery.ListedTool{Name: "delete_server"}, discovery.ListedTool{Name: "list_issues", Description: "Issues."}))
	for name, query := range map[string]string{
		"a mark without a letter": "get \u0301 rid of it", "marks only": "\u0301 \u0301\u0302", "one letter": "x", "stop words": "what is it that is in the",
		"1 MB": strings.Repeat("get rid of what is in there ", 40_000), "mixed scripts": "get rid от 服务器 مع it", "right to left": "\u202eget rid\u202c of server",
		"emoji": "get 🗑️ rid 😀 of", "code": "func main() { get(rid, of) }", "schema": `{"type":"object","properties":{"get":{"type":"string"}}}`,
		"control characters": "get\x00rid\x1b[31mof\r\n", "invalid UTF-8": "get \xff\xfe rid", "a phrase cut short": "how", "a phrase of fillers": "get the a my of", "": "",
	} {
		h, err := x.Search(t.Context(), Query{Text: query, Explain: true})
		if err != nil || !slices.IsSortedFunc(h.Hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) }) {
			t.Errorf("%s: %+v, %v", name, h.Hits, err)
		}
	}
}

func TestBadEverydayTables(t *testing.T) {
	for _, data := range []string{"", "sayings1", everydayFile[:20], "sayings2" + everydayFile[8:], sayingsMagic + "\xff\xff\xff\xff\xff\xff\xff\xff"} {
		if _, err := readSayings(data); err == nil {
			t.Errorf("readSayings(%.20q): no error", data)
		}
	}
	for text, want := range map[string]string{"delete: bin\ndelete bin\n": "line 2", ": bin": "line 1", "delete:": "line 1", "delete: bin, , toss": "says nothing", "delete: of the": "says nothing"} {
		if _, err := encodeEveryday(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("encodeEveryday(%q): %v, want %q", text, err, want)
		}
	}
}

// encodeEveryday returns the table of a text in the format that its head explains.
func encodeEveryday(text string) ([]byte, error) {
	sayings := map[string][]string{} // words of tools, by stems
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		to, list, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(to) == "" || strings.TrimSpace(list) == "" {
			return nil, fmt.Errorf("line %d: want words of tools, a colon, and what stands for them", n)
		}
		for said := range strings.SplitSeq(list, ",") {
			var stems []string
			for w := range strings.FieldsSeq(said) {
				if !fillers[w] {
					stems = append(stems, sayingStem(w))
				}
			}
			if len(stems) == 0 {
				return nil, fmt.Errorf("line %d: %q says nothing", n, said)
			}
			key := strings.Join(stems, " ")
			for w := range strings.FieldsSeq(to) {
				if !slices.ContainsFunc(sayings[key], func(have string) bool { return stem(have) == stem(w) }) {
					sayings[key] = append(sayings[key], w)
				}
			}
		}
	}
	numbers := map[string]int{}
	var targets []string
	keys := slices.Sorted(maps.Keys(sayings))
	for _, key := range keys {
		for _, w := range sayings[key] {
			if _, ok := numbers[w]; !ok {
				numbers[w] = len(targets)
				targets = append(targets, w)
			}
		}
	}
	b := []byte(sayingsMagic)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(keys)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(targets)))
	at := len(b)
	b = append(b, make([]byte, 4*(len(keys)+len(targets)))...)
	offset := func() {
		binary.LittleEndian.PutUint32(b[at:], uint32(len(b)))
		at += 4
	}
	for _, key := range keys {
		offset()
		b = append(append(b, byte(len(key))), key...)
		b = append(b, byte(len(sayings[key])))
		for _, w := range sayings[key] {
			b = binary.LittleEndian.AppendUint16(b, uint16(numbers[w]))
		}
	}
	for _, w := range targets {
		offset()
		for _, s := range []string{stem(w), w} {
			b = append(append(b, byte(len(s))), s...)
		}
	}
	return b, nil
}
