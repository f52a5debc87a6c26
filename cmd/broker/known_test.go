package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
		group("tools", "", child("list", "memory"), child("show", "memory__read_graph", "memory__show")),
		group("servers", "", child("list", "memory"), child("remove", "memory")),
		group("pins", "", child("list", "memory"), child("diff", "memory"), child("approve", "memory")),
		group("policy", "", child("check"), child("explain", "memory__read_graph")),
		group("runs", "", child("list"), child("show", "r_abcdef"), child("resume", "r_abcdef")),
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
		if err := unknownCommand(cmd, rest[0]); !strings.HasSuffix(err.Error(), want) {
			t.Errorf("broker %s: %q, want %q", line, err, want)
		}
	}
}

// Flags of other interpreters that take code say how broker exec takes it.
func TestCodeOnTheCommandLine(t *testing.T) {
	for _, tt := range []struct {
		command, flag string
		code          bool
	}{
		{"exec", "-e", true}, {"exec", "-c", true}, {"exec", "--eval", true}, {"exec", "--code", true}, {"exec", "-p", true},
		{"exec", "-x", false}, {"exec", "--jsno", false}, {"search", "-e", false},
	} {
		c := &cobra.Command{Use: tt.command}
		c.Flags().BoolP("plan", "", false, "")
		_, notExist := errors.AsType[*pflag.NotExistError](c.ParseFlags([]string{tt.flag}))
		if !notExist {
			t.Fatalf("%s exists", tt.flag)
		}
		hint := flagHint(c, c.ParseFlags([]string{tt.flag}))
		if strings.Contains(hint, "| broker exec -") != tt.code {
			t.Errorf("%s %s: hint %q", tt.command, tt.flag, hint)
		}
	}
}

// A rule of a class that no known tool has says if tools are not known yet.
func TestRulesOfAClassSayWhatIsNotKnown(t *testing.T) {
	for _, tt := range []struct {
		unlisted []string
		want     string
	}{
		{nil, "no known tool of that class\n"},
		{[]string{"memory"}, "no known tool of that class; the tools of memory are not known yet: broker index lists them\n"},
		{[]string{"a", "b"}, "no known tool of that class; the tools of a, b are not known yet: broker index lists them\n"},
	} {
		var out strings.Builder
		a := &app{stdout: &out}
		if err := a.printRule(ruleEdit{Action: "added", Effect: "deny", Tools: "*", Class: "deletes", unlisted: tt.unlisted}); err != nil || !strings.HasSuffix(out.String(), tt.want) {
			t.Errorf("%v: %v, %q", tt.unlisted, err, &out)
		}
	}
}
