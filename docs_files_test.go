package mcpbroker_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var inlineCode = regexp.MustCompile("`([^`\n]+)`")

// Files of the repository that pages name in their text are there. Files of deploy, which
// readers copy, are linked.
func TestFilesThatPagesNameAreThere(t *testing.T) {
	path := regexp.MustCompile(`^(deploy|images|examples|plugin)/[\w./-]+$`)
	deployed, err := filepath.Glob("deploy/*.*")
	if err != nil || len(deployed) < 5 {
		t.Fatal(deployed, err)
	}
	seen := 0
	for page, text := range pagesOf(t) {
		plain := fence.ReplaceAllString(text, "")
		for _, m := range inlineCode.FindAllStringSubmatch(plain, -1) {
			name := m[1]
			if path.MatchString(name) {
				seen++
				if _, err := os.Stat(name); err != nil {
					t.Errorf("%s names %s, which is not in the repository", page, name)
				}
			}
			file := "deploy/" + strings.TrimPrefix(name, "deploy/")
			if slices.Contains(deployed, file) && name != "servers.json" {
				seen++
				if !strings.Contains(plain, "deploy/"+filepath.Base(name)+")") {
					t.Errorf("%s names %s, and does not link to it", page, name)
				}
			}
		}
	}
	if seen < 12 {
		t.Errorf("%d files were looked at", seen)
	}
}

// Commands of pages work wherever the config and the state are: they do not have the
// default folders in them.
func TestCommandsOfPagesHaveNoFixedFolders(t *testing.T) {
	fixed := regexp.MustCompile(`(~|\$HOME|"\$HOME"|\$\{HOME\}|[ "'])/?\.(config|local/state)/broker`)
	for _, line := range []string{`tar -C "$HOME" .config/broker`, "cp ~/.config/broker/servers.json .", "ls $HOME/.local/state/broker"} {
		if !fixed.MatchString(line) {
			t.Errorf("%s passes", line)
		}
	}
	commands := 0
	for page, text := range pagesOf(t) {
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			if m[1] != "sh" {
				continue
			}
			for line := range strings.Lines(m[2]) {
				commands++
				if fixed.MatchString(line) {
					t.Errorf("%s: a fixed folder in: %s", page, line)
				}
			}
		}
	}
	if commands < 100 {
		t.Errorf("%d commands were looked at", commands)
	}
}

// The blocks of Go on the page for embedders use the packages that it imports, and no
// others, all of which are there.
func TestEmbeddersAreToldTheImports(t *testing.T) {
	page, err := os.ReadFile("docs/embed.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, m := range fence.FindAllStringSubmatch(string(page), -1) {
		if m[1] == "go" {
			code.WriteString(m[2])
		}
	}
	_, rest, _ := strings.Cut(code.String(), "import (\n")
	imports, uses, _ := strings.Cut(rest, "\n)")
	uses = regexp.MustCompile(`"[^"\n]*"|`+"`[^`]*`"+`|//.*`).ReplaceAllString(uses, "")
	var imported []string
	for _, m := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(imports, -1) {
		name := m[1][strings.LastIndex(m[1], "/")+1:]
		imported = append(imported, name)
		if own, ok := strings.CutPrefix(m[1], "github.com/mcpbroker/mcpbroker/"); ok {
			if _, err := os.Stat(own); err != nil {
				t.Errorf("%s is imported, and not there", m[1])
			}
		}
		if !regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(uses) {
			t.Errorf("%s is imported, and no block uses it", name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)(^|[^.\w])([a-z]+)\.[A-Z]`).FindAllStringSubmatch(uses, -1) {
		local := regexp.MustCompile(`(?m)\b` + m[2] + `\b[^\n]*:=|:= range|for _, ` + m[2] + `\b`)
		if !slices.Contains(imported, m[2]) && !local.MatchString(uses) {
			t.Errorf("a block uses %s, which no block imports", m[2])
		}
	}
	if len(imported) < 5 {
		t.Errorf("only %v is imported", imported)
	}
}
