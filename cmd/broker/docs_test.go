package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Commands and flags that the README and docs name are there: in the text
// between backquotes, in blocks on lines of their own.
func TestDocsNameCommandsThatExist(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	inText, inBlock := regexp.MustCompile("`broker ([^`\n]+)`"), regexp.MustCompile("(?m)^broker (.+)$")
	seen := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split(string(text), "```") {
			named := inText
			if i%2 == 1 {
				named = inBlock
			}
			for _, m := range named.FindAllStringSubmatch(part, -1) {
				line, _, _ := strings.Cut(m[1], "  ") // what stands behind is an explanation
				seen++
				if problem := unknownIn(strings.Fields(line)); problem != "" {
					t.Errorf("%s: broker %s: there is no %s", filepath.Base(page), line, problem)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d commands were found", seen)
	}
}

// unknownIn is the first command or flag in words that does not exist.
func unknownIn(words []string) string {
	cmd := (&app{}).root()
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
			if next == nil && cmd.HasAvailableSubCommands() {
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
