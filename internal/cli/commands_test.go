package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A group that is given the name of a known thing names its command that shows it.
func TestGroupsNameTheCommandForAKnownThing(t *testing.T) {
	child := func(name string, known ...string) *cobra.Command {
		c := &cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}}
		if known != nil {
			c.ValidArgsFunction = func(_ *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
				for _, k := range known {
					if strings.HasPrefix(k, typed) {
						list = append(list, k+"\tits description")
					}
				}
				return list, 0
			}
		}
		return c
	}
	root := &cobra.Command{Use: "broker"}
	root.AddCommand(
		Group("tools", "", child("list", "memory"), child("show", "memory__read_graph", "memory__show")),
		Group("servers", "", child("list", "memory"), child("remove", "memory")),
		Group("pins", "", child("list", "memory"), child("diff", "memory"), child("approve", "memory")),
		Group("policy", "", child("check"), child("explain", "memory__read_graph")),
		Group("runs", "", child("list"), child("show", "r_abcdef"), child("resume", "r_abcdef")),
	)
	for line, want := range map[string]string{
		"tools memory__read_graph":  "hint: broker tools show memory__read_graph",
		"tools memory":              "hint: broker tools list memory",
		"servers memory":            "hint: broker servers list memory",
		"pins memory":               "hint: broker pins diff memory",
		"policy memory__read_graph": "hint: broker policy explain memory__read_graph",
		"runs r_abcdef":             "hint: broker runs show r_abcdef",
		"runs r_abc":                "hint: broker runs show r_abc",
		"tools memory__read_grap":   "hint: broker help lists the commands",
		"tools shows":               `hint: did you mean "show"?`,
		"policy memory":             "hint: broker help lists the commands",
		"nothing":                   "hint: broker help lists the commands",
	} {
		words := strings.Fields(line)
		cmd, rest, err := root.Find(words)
		if err != nil {
			cmd, rest = root, words
		}
		if err := UnknownCommand(cmd, rest[0]); !strings.HasSuffix(err.Error(), want) {
			t.Errorf("broker %s: %q, want %q", line, err, want)
		}
	}
}
