package mcpbroker_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

// fence is a block of a page: its language, and its text.
var fence = regexp.MustCompile("(?ms)^ *```([a-z]*)\n(.*?)^ *```$")

// pagesOf are the README, CONTRIBUTING and the pages of docs, by their paths.
func pagesOf(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no docs", err)
	}
	found := make(map[string]string)
	for _, file := range append(files, "README.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found[file] = string(text)
	}
	return found
}

// Every block of JSON in the README and docs is something that the broker reads, and
// goes through what reads it; or it is something that it answers.
func TestJSONInDocs(t *testing.T) {
	seen := make(map[string]int)
	for page, text := range pagesOf(t) {
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			if m[1] != "json" && m[1] != "jsonc" {
				continue
			}
			kind, err := readBlock(t, page, []byte(m[2]), m[1] == "jsonc")
			if err != nil {
				t.Errorf("%s: %s: %v in:\n%s", page, kind, err, m[2])
			}
			seen[kind]++
		}
	}
	for kind, least := range map[string]int{"config": 10, "project": 1, "policy": 12, "workflow": 1, "entry": 4} {
		if seen[kind] < least {
			t.Errorf("%d blocks are read as %s, want %d", seen[kind], kind, least)
		}
	}
}

// The config for Compose is one.
func TestDeployedConfig(t *testing.T) {
	text, err := os.ReadFile("deploy/servers.json")
	if err != nil {
		t.Fatal(err)
	}
	if kind, err := readBlock(t, "deploy/servers.json", text, false); kind != "config" || err != nil {
		t.Errorf("read as %s: %v", kind, err)
	}
}

// readBlock reads a block of JSON as what its keys say it is.
func readBlock(t *testing.T, page string, text []byte, comments bool) (kind string, err error) {
	plain, err := hujson.Standardize(slices.Clone(text))
	if err != nil {
		return "JSON", err
	}
	if !comments && !json.Valid(text) {
		return "JSON", errors.New("comments and trailing commas need jsonc")
	}
	var o map[string]json.RawMessage
	if err := json.Unmarshal(plain, &o); err != nil {
		return "JSON", err
	}
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return o[k] != nil })
	}
	switch {
	case page == "docs/policy.md" || has("scenarios"):
		return "policy", nil // the tests of package policy read them
	case has("profile", "include"):
		file := filepath.Join(t.TempDir(), ".broker.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.LoadProject(file)
		return "project", err
	case strings.Contains(string(text), `"serve"`):
		return "entry", readEntry(plain)
	case has("mcpServers", "servers", "broker"):
		c, err := config.Parse("servers.json", text)
		if err == nil && len(c.Notes) > 0 {
			err = errors.New(strings.Join(c.Notes, "\n"))
		}
		return "config", err
	case has("steps"):
		_, err := workflow.Parse(text)
		return "workflow", err
	case has("exit_code"):
		return "answer", nil
	}
	return "JSON", errors.New("neither a config nor anything else that is known here")
}

// readEntry reads what a client has of the broker.
func readEntry(text []byte) error {
	var entry map[string]map[string]struct {
		Command string
		Args    []string
	}
	if err := json.Unmarshal(text, &entry); err != nil {
		return err
	}
	for _, servers := range entry {
		if s := servers["broker"]; s.Command != "broker" || !slices.Contains(s.Args, "serve") {
			return errors.New("it does not run broker serve")
		}
	}
	return nil
}

// Links lead to files, and to headings in them.
func TestLinksLeadSomewhere(t *testing.T) {
	for page, text := range pagesOf(t) {
		for _, m := range regexp.MustCompile(`\]\(([^):]+)\)`).FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			file, heading, _ := strings.Cut(m[1], "#")
			target := filepath.Join(filepath.Dir(page), file)
			if file == "" {
				target = page
			}
			text, err := os.ReadFile(target)
			if info, e := os.Stat(target); e == nil && info.IsDir() {
				err = nil
			}
			if err != nil || heading != "" && !slices.Contains(headings(string(text)), heading) {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
		}
	}
}

// headings are the anchors of the headings of a page.
func headings(text string) []string {
	var anchors []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		anchor := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		anchors = append(anchors, strings.ReplaceAll(anchor, " ", "-"))
	}
	return anchors
}
