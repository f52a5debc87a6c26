package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// ran is what a command prints to stderr, and its exit code.
func ran(t *testing.T, args ...string) (stderr string, code int) {
	t.Helper()
	var out, errs strings.Builder
	a := &env{IO: cli.IO{In: strings.NewReader(""), Out: &out, Err: &errs}}
	code = runArgs(t.Context(), a, args)
	return errs.String(), code
}

// Every flag that does not take any text says what it takes.
func TestFlagsSayWhatTheyTake(t *testing.T) {
	const bad = `a"b`
	seen := 0
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Set(bad) == nil {
				return
			}
			seen++
			args := append(strings.Fields(c.CommandPath())[1:], "--"+f.Name+"="+bad)
			stderr, code := ran(t, args...)
			want := regexp.MustCompile("^" + regexp.QuoteMeta(fmt.Sprintf("broker: --%s is %q: use ", f.Name, bad)) + "[a-z].*\nhint: ")
			if !want.MatchString(stderr) || code != cli.ExitUsage && code != cli.ExitExecUsage {
				t.Errorf("broker %s: code %d, %s", strings.Join(args, " "), code, stderr)
			}
		})
		for _, child := range c.Commands() {
			visit(child)
		}
	}
	visit(newRoot(&env{}))
	if seen < 40 {
		t.Errorf("only %d flags were tried", seen)
	}
}

func TestTimesAreAboveZero(t *testing.T) {
	const times, days = ": use a time above 0, such as 90s", ": use today, yesterday, monday"
	for args, want := range map[string]string{
		"audit list --since=-5m": days, "audit stats --since 0s": days, "audit prune --older-than=-1h": times, "auth login github --timeout 0": times,
	} {
		stderr, code := ran(t, strings.Fields(args)...)
		if !strings.Contains(stderr, want) || code != cli.ExitUsage {
			t.Errorf("broker %s: code %d, %s", args, code, stderr)
		}
	}
}
