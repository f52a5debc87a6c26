package index

import (
	"strings"
	"testing"
)

func TestWordsFileIsRead(t *testing.T) {
	l, err := parseLexicon(wordsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to string }{
		{"delete", "remove"}, {"removing", "deletes"}, {"pictures", "image"}, {"bug", "issue"}, {"repo", "repository"}, {"del", "delete"},
	} {
		found := false
		for _, s := range l.synonyms[stem(c.from)] {
			found = found || s.stem == stem(c.to)
		}
		if !found {
			t.Errorf("%q does not stand for %q: %v", c.from, c.to, l.synonyms[stem(c.from)])
		}
	}
	for verb := range strings.FieldsSeq("list get create show add set run find open close move send read write") {
		if l.stop[verb] {
			t.Errorf("the verb %q is a stop word", verb)
		}
	}
	// A synonym that is a stop word would never be found.
	for from, list := range l.synonyms {
		for _, s := range list {
			if l.stop[s.stem] {
				t.Errorf("%q stands for the stop word %q", from, s.stem)
			}
		}
	}
}

func TestMistakesInTheWordsFile(t *testing.T) {
	for _, text := range []string{"same: alone", "from: a b > c", "from: a", "join: a", "sme: a b"} {
		if _, err := parseLexicon("# head\n" + text); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("parseLexicon(%q): error %v, want one of line 2", text, err)
		}
	}
}

func TestStem(t *testing.T) {
	for _, same := range [][]string{
		{"list", "lists", "listed", "listing"}, {"repository", "repositories"}, {"delete", "deletion", "deleting"},
		{"analyze", "analysis", "analyses"}, {"person", "people"}, {"query", "queries"}, {"news"}, {"s3"}, {"火车"},
	} {
		for _, w := range same {
			if stem(w) != stem(same[0]) {
				t.Errorf("stem(%q) = %q, want that of %q, %q", w, stem(w), same[0], stem(same[0]))
			}
		}
	}
}

func TestValuesAreNoWords(t *testing.T) {
	for in, want := range map[string]string{
		"fetch https://example.com/list_files": "fetch url",
		"go to google.com":                     "go to url",
		"mail (ana@example.org), please":       "mail email, please",
		"read /home/me/notes.txt":              "read file",
		`open C:\a\b.doc`:                      "open file word document",
		"github/create_issue":                  "github/create_issue",
		"files.read_file":                      "files.read_file",
		"create/update and/or TCP/IP":          "create/update and/or TCP/IP",
		"version 1.2.3 of report.pdf":          "version 1.2.3 of file pdf",
	} {
		if got := withoutData(in); got != want {
			t.Errorf("withoutData(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"click", "clikc", 1}, {"same", "same", 0}, {"issue", "isue", 1}, {"search", "serach", 1}, {"kitten", "sitting", 3}, {"abc", "xyz", 3},
	} {
		if got := distance(c.a, c.b, 2); got != min(c.want, 3) {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
