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

// The README links to the answers to common questions: the section of each link
// contains the relevant command or key.
func TestQuestionsHaveAnswers(t *testing.T) {
	_, table, _ := strings.Cut(readme(t), "Often asked:\n")
	rows := regexp.MustCompile(`(?m)^\| (.+\?) \| \[[^\]]+\]\(([^)#]+)(?:#([^)]+))?\)`).FindAllStringSubmatch(table, -1)
	answers := map[string]string{
		"OAuth": "broker auth login", "forbid deletes": "broker policy deny '*' --class destructive", "yesterday": "broker audit yesterday",
		"team": "systemctl enable --now broker", "back it up": "tar -czf broker-backup.tar.gz", "all pages": "next_cursor", "embed": "broker.New(",
	}
	for about, want := range answers {
		i := slices.IndexFunc(rows, func(row []string) bool { return strings.Contains(row[1], about) })
		if i < 0 {
			t.Errorf("the README does not ask about %s", about)
			continue
		}
		page, err := os.ReadFile(rows[i][2])
		if err != nil {
			t.Fatal(err)
		}
		if section := sectionOf(string(page), rows[i][3]); !strings.Contains(section, want) {
			t.Errorf("%s: %s#%s has no %s", rows[i][1], rows[i][2], rows[i][3], want)
		}
	}
	if len(rows) != len(answers) {
		t.Errorf("%d questions, %d of them checked", len(rows), len(answers))
	}
}

// sectionOf returns the part of a page below the heading with an anchor, including its
// subsections, or all of it.
func sectionOf(page, anchor string) string {
	if anchor == "" {
		return page
	}
	level, section := 0, ""
	for line := range strings.Lines(page) {
		n := len(line) - len(strings.TrimLeft(line, "#"))
		switch found := n > 0 && slices.Contains(headings(line), anchor); {
		case found:
			level = n
		case level > 0 && n > 0 && n <= level && strings.HasPrefix(line[n:], " "):
			return section
		}
		if level > 0 {
			section += line
		}
	}
	return section
}
