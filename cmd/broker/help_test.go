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
	root := newRoot(&env{IO: cli.IO{In: strings.NewReader(""), Out: &out, Err: io.Discard}})
	root.SetOut(&out)
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out.String()
}

// Every way to ask for the help of the program prints the first command if there is no
// config, six groups, two examples, and exit codes last.
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
		for _, part := range []string{"\nSet up:\n", "\nUse:\n", "\nLook:\n", "\nKeep safe:\n", "\nRun for many:\n", "\nTools:\n", "\nExamples:\n  broker init ", "\n  broker search ", "\nFlags:\n", "\nExit codes:\n"} {
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

// The first page has at most 30 commands, and each exists. The others are on the page
// that it names, those of no daily use too.
func TestFirstPageIsShort(t *testing.T) {
	text := helpOf(t, "--help")
	_, groups, _ := strings.Cut(text, "\nSet up:")
	groups, _, _ = strings.Cut(groups, "\nExamples:")
	rows := regexp.MustCompile(`(?m)^  ([a-z]+) +[A-Z]`).FindAllStringSubmatch(groups, -1)
	if len(rows) < 20 || len(rows) > 30 {
		t.Errorf("%d commands on the first page:\n%s", len(rows), groups)
	}
	for _, row := range rows {
		if help := helpOf(t, row[1], "--help"); !strings.Contains(help, "broker "+row[1]) {
			t.Errorf("broker %s --help: %.80s", row[1], help)
		}
	}
	if !strings.Contains(text, "broker help commands") {
		t.Error("it does not say where all commands are")
	}
	all := helpOf(t, "help", "commands")
	for _, name := range []string{"tail", "redact", "eval", "store", "sandbox", "wait", "prompt", "version"} {
		if strings.Contains(groups, "\n  "+name+" ") || !strings.Contains(all, "\n"+name+"\n") {
			t.Errorf("%s is on the first page, or not on that of all commands", name)
		}
	}
	if tail, below := helpOf(t, "tail", "--help"), helpOf(t, "audit", "tail", "--help"); strings.ReplaceAll(below, "audit tail", "tail") != tail {
		t.Errorf("audit tail is not tail:\n%s", below)
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
