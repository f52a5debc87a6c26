package mcpbroker_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

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
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
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

// Every module that go.mod requires directly has a reason in docs/RATIONALE.md,
// and none has one that is not required.
func TestDependenciesHaveAReason(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("docs/RATIONALE.md")
	if err != nil {
		t.Fatal(err)
	}
	name := func(module string) string {
		return regexp.MustCompile(`/v[0-9]+$`).ReplaceAllString(strings.TrimPrefix(module, "github.com/"), "")
	}
	var required, explained []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1) {
		required = append(required, name(m[1]))
	}
	_, table, _ := strings.Cut(string(doc), "## Direct dependencies")
	for _, row := range regexp.MustCompile("(?m)^[|] `(.+)` [|] ").FindAllStringSubmatch(table, -1) {
		for module := range strings.SplitSeq(row[1], "`, `") {
			explained = append(explained, name(module))
		}
	}
	slices.Sort(required)
	slices.Sort(explained)
	if !slices.Equal(required, explained) {
		t.Errorf("go.mod requires %q\nand the table explains %q", required, explained)
	}
}
