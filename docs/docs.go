// Package docs has the pages of the documentation, for the terminal and the console:
// the Markdown files beside it, as they are in the repository.
package docs

import (
	"embed"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

//go:embed *.md
var files embed.FS

// index is the page that lists the others.
const index = "README"

// A Topic is a page that the index lists.
type Topic struct {
	// Name is that of the file, without ".md".
	Name string
	// Title and Summary are what the index says of it, and Group the heading there.
	Title, Summary, Group string
}

var (
	entry   = lazyregexp.New(`^- \[(.+)\]\(([\w-]+)\.md\): (.+)$`)
	heading = lazyregexp.New(`^(#+) (.+)$`)
)

// Topics are the pages in the order of the index.
func Topics() []Topic {
	text, _ := Page(index)
	var topics []Topic
	group := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := heading.FindStringSubmatch(line); m != nil {
			group = m[2]
		} else if m := entry.FindStringSubmatch(line); m != nil {
			topics = append(topics, Topic{Name: m[2], Title: m[1], Summary: m[3], Group: group})
		}
	}
	return topics
}

// Page is the Markdown of the page of that name, with ".md" or without.
func Page(name string) (markdown string, ok bool) {
	text, err := files.ReadFile(strings.TrimSuffix(name, ".md") + ".md")
	return string(text), err == nil
}
