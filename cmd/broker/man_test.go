package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// Each command has a page with all its flags, in which no text is a request.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	root := newRoot(&env{IO: cli.IO{Out: &strings.Builder{}, Err: &strings.Builder{}}})
	if err := cli.WriteManPages(root, dir, "2026-01-31", version); err != nil {
		t.Fatal(err)
	}
	request := regexp.MustCompile(`(?m)^['.](?:TH|SH|PP|TP|B|BR|nf|fi)?(?: |$)|^[^'.]|^$`)
	pages := 0
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		pages++
		text, err := os.ReadFile(filepath.Join(dir, cli.ManName(c)+".1"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if !request.MatchString(line) {
				t.Errorf("%s: %q is a request", cli.ManName(c), line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(string(text), strings.ReplaceAll("--"+f.Name, "-", `\-`)) {
				t.Errorf("%s has no --%s", cli.ManName(c), f.Name)
			}
		})
		for _, child := range c.Commands() {
			if cli.HasPage(child) {
				check(child)
			}
		}
	}
	check(root)
	for _, hidden := range []string{"eval", "redact", "man"} {
		if _, err := os.Stat(filepath.Join(dir, "broker-"+hidden+".1")); err != nil {
			t.Errorf("a hidden command has no page: %v", err)
		}
	}
	if written, _ := os.ReadDir(dir); len(written) != pages || pages < 50 {
		t.Errorf("%d pages of %d commands", len(written), pages)
	}
}
