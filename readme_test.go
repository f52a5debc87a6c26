package mcpbroker_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// block is a fenced block of README.md: what stands after the fence, and the
// text up to the next one.
var block = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

func readme(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// blocks returns the blocks of one language in text.
func blocks(text, language string) []string {
	var found []string
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	return found
}

// What .ci/run runs is what the README says to run.
func TestReadmeSetUpIsTheTwoCommandsThatAreChecked(t *testing.T) {
	_, text, _ := strings.Cut(readme(t), "\n## Set up\n")
	text, _, _ = strings.Cut(text, "\n## ")
	want := []string{"go run ./examples/quickstart\n", "go test ./...\n"}
	if got := blocks(text, "sh"); !slices.Equal(got, want) {
		t.Errorf("commands under Set up = %q, want %q", got, want)
	}
	ci, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"go run ./examples/quickstart", "go test -race"} {
		if !strings.Contains(string(ci), command) {
			t.Errorf(".ci/run does not run %q", command)
		}
	}
}

func TestReadmeConfigIsValid(t *testing.T) {
	found := blocks(readme(t), "jsonc")
	if len(found) != 1 {
		t.Fatalf("%d config examples, want 1", len(found))
	}
	c, err := config.Parse("servers.json", []byte(found[0]))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Notes) > 0 {
		t.Errorf("config example has unknown keys: %q", c.Notes)
	}
}

func TestReadmeClientEntriesAreJSON(t *testing.T) {
	found := blocks(readme(t), "json")
	if len(found) != 3 {
		t.Errorf("%d entries to paste, want 3", len(found))
	}
	for _, text := range found {
		var entry map[string]map[string]struct {
			Command string
			Args    []string
		}
		if err := json.Unmarshal([]byte(text), &entry); err != nil {
			t.Errorf("%v in:\n%s", err, text)
			continue
		}
		for _, servers := range entry {
			if s := servers["broker"]; s.Command != "broker" || !slices.Contains(s.Args, "serve") {
				t.Errorf("entry does not run broker serve:\n%s", text)
			}
		}
	}
}

func TestReadmeLinksLeadSomewhere(t *testing.T) {
	for _, doc := range []string{"README.md", "docs/architecture.md", "docs/RATIONALE.md"} {
		data, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(string(data), -1) {
			target := m[1]
			if strings.HasPrefix(doc, "docs/") {
				target = "docs/" + target
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", doc, m[1])
			}
		}
	}
}
