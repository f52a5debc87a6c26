package cli

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// evil has what a terminal obeys, what a reader does not see, and a line that
// looks like one of the broker's.
const evil = "ev\x1b[2Jil\u009b31m\u202ex\u2066\x07\u200b\x7f\r\nFORGED\u2028FORGED\vFORGED\u0085FORGED"

// steers finds what must not reach a terminal: what it obeys, what hides from the
// reader, and lines that only seem to be the broker's.
var steers = regexp.MustCompile(`[^\PC\n\t]|[\x{2028}\x{2029}]|(?m:^FORGED)`)

// JSON that is printed is the value that it was.
func TestPrintedJSONIsTheSame(t *testing.T) {
	for _, v := range []string{"plain", evil, "\U000e0041\U0001f468\u200d\U0001f469", "é\u00ad\ufeff"} {
		var out strings.Builder
		if err := WriteJSON(NewScreen(&out), v, ""); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got != v {
			t.Errorf("%q is printed as %s, %v", v, out.String(), err)
		}
		for _, r := range out.String() {
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf) && r != 0x200d {
				t.Errorf("%q is printed with %q", v, r)
			}
		}
	}
}

// A character that comes in pieces is whole on a screen.
func TestScreensJoinPieces(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out)
	for _, b := range []byte("é日\u202e👍 \x1b[2J") {
		if _, err := s.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = s.Write([]byte("\xe6\x97"))
	s.Flush()
	if got, want := out.String(), "é日·👍 ·[2J\ufffd"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Commands, and what prints for them, print by what makes it harmless.
func TestOnePrinter(t *testing.T) {
	direct := regexp.MustCompile(`fmt\.Fprint(f|ln)?\(|io\.(WriteString|Copy)\(\w+\.(Out|Err)|\.(Out|Err)\.Write|os\.Std(out|err)\b|fmt\.Print`)
	exempt := regexp.MustCompile(`cli\.Exact\(|cli\.IO\{In: os\.Stdin|fmt\.Fprintf?\(&|^\s*//`)
	files, err := filepath.Glob("../../cmd/broker/*.go")
	if err != nil {
		t.Fatal(err)
	}
	commands := len(files)
	err = filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if filepath.Ext(name) == ".go" {
			files = append(files, name)
		}
		return err
	})
	if err != nil || commands < 50 {
		t.Fatalf("%d files of commands, %v", commands, err)
	}
	for i, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") || i >= commands && !bytes.Contains(text, []byte(`mcpbroker/internal/cli"`)) {
			continue
		}
		for i, line := range strings.Split(string(text), "\n") {
			if direct.MatchString(line) && !exempt.MatchString(line) {
				t.Errorf("%s:%d prints by itself, use cli.Fprintf or cli.Fprintln: %s", name, i+1, line)
			}
		}
	}
}
