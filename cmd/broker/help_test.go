package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// helpOf runs the broker in this process.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	root := (&app{IO: cli.IO{In: strings.NewReader(""), Out: &out, Err: io.Discard}}).root()
	root.SetOut(&out)
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out.String()
}

// Every way to ask for the help of the program prints the first command if there is no
// config, three groups, two examples, and exit codes last.
func TestHelpOfTheProgram(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Chdir(t.TempDir())
	config := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(config, []byte(`{"mcpServers": {}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"--help"}, {"-h"}, {"help"}} {
		text := helpOf(t, args...)
		at := -1
		for _, part := range []string{"\nSet up:\n", "\nUse and look:\n", "\nServe:\n", "\nExamples:\n  broker init ", "\n  broker search ", "\nFlags:\n", "\nExit codes:\n"} {
			i := strings.Index(text, part)
			if i <= at || strings.Count(text, part) != 1 {
				t.Errorf("%q: %q is at %d of\n%s", args, part, i, text)
			}
			at = i
		}
		if !strings.HasSuffix(text, "cancelled\n") || !strings.HasPrefix(text, "Begin with: broker init\n\n") {
			t.Errorf("%q begins %q and ends %q", args, text[:40], text[len(text)-40:])
		}
		if known := helpOf(t, append(args, "--config", config)...); strings.Contains(known, "Begin with") {
			t.Errorf("%q with a config: %.80s", args, known)
		}
	}
}

// Pages are listed by their names for help, and help prints the page with the title
// beside each name.
func TestPagesAreListedAsTheyAreTyped(t *testing.T) {
	_, list, _ := strings.Cut(helpOf(t, "help"), "\nPages")
	list, _, _ = strings.Cut(list, "\nExit codes:")
	rows := regexp.MustCompile(`(?m)^  (\S+) +(.+)$`).FindAllStringSubmatch(list, -1)
	if len(rows) < 15 {
		t.Fatalf("%d pages in\n%s", len(rows), list)
	}
	for _, row := range rows {
		for _, name := range []string{row[1], strings.TrimSuffix(row[1], ".md") + ".md"} {
			page := helpOf(t, "help", name)
			if title, _, _ := strings.Cut(page, "\n"); strings.Contains(page, "\nUsage:\n") && strings.Contains(page, "Global Flags:") || title == "" {
				t.Errorf("help %s prints %.200s", name, page)
			}
		}
	}
}
