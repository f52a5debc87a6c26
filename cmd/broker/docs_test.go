package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Commands and flags that the README and docs name are there: in the text
// between backquotes, in blocks on lines of their own.
func TestDocsNameCommandsThatExist(t *testing.T) {
	inText, inBlock := regexp.MustCompile("`broker ([^`\n]+)`"), regexp.MustCompile(`(?m)^\s*(?:\$ )?broker ([a-z].*)$`)
	seen := 0
	all := pages(t)
	readmes, err := filepath.Glob("../../tools/release/readme/*.md") // of packages
	if err != nil || len(readmes) == 0 {
		t.Fatal("no READMEs of packages", err)
	}
	for _, file := range readmes {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = regexp.MustCompile("(?m)^    (.+)$").ReplaceAllString(string(text), "```sh\n$1\n```")
	}
	for page, text := range all {
		check := func(line string) {
			line, _, _ = strings.Cut(line, "  ") // what stands behind is an explanation
			line, _, _ = strings.Cut(line, " |") // another program
			line, _, _ = strings.Cut(line, " #")
			seen++
			if problem := unknownIn(strings.Fields(line)); problem != "" {
				t.Errorf("%s: broker %s: there is no %s", page, line, problem)
			}
		}
		for _, m := range inText.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			check(m[1])
		}
		for _, b := range fence.FindAllStringSubmatch(text, -1) {
			commands := inBlock.FindAllStringSubmatch(b[2], -1)
			for _, m := range commands {
				check(m[1])
			}
			if len(commands) > 0 && !slices.Contains([]string{"sh", "console", "ini", "yaml"}, b[1]) {
				t.Errorf("%s: a block with %q is marked %q: \"console\" is run, \"sh\" is not", page, commands[0][0], b[1])
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d commands were found", seen)
	}
}

// unknownIn is the first command or flag in words that does not exist.
func unknownIn(words []string) string {
	cmd := newRoot(&env{})
	cmd.InitDefaultHelpCmd()
	cmd.InitDefaultCompletionCmd()
	inNames := true
	for _, word := range words {
		word = strings.Trim(word, "[],.")
		switch {
		case word == "--":
			return ""
		case strings.HasPrefix(word, "--"):
			name, _, _ := strings.Cut(word[2:], "=")
			if inNames = false; cmd.Flag(name) == nil {
				return word
			}
		case inNames && regexp.MustCompile(`^[a-z|-]+$`).MatchString(word):
			var next *cobra.Command
			for name := range strings.SplitSeq(word, "|") {
				for _, c := range cmd.Commands() {
					if c.Name() == name || c.HasAlias(name) {
						next = c
					}
				}
			}
			if next == nil && cmd.HasAvailableSubCommands() && cmd.Args(cmd, []string{word}) != nil {
				return word
			}
			if inNames = next != nil; inNames {
				cmd = next
			}
		default:
			inNames = false
		}
	}
	return ""
}
