package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpbroker/mcpbroker/internal/cli"
)

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
		a := &app{IO: cli.IO{Out: &out}}
		if err := a.printRule(ruleEdit{Action: "added", Effect: "deny", Tools: "*", Class: "deletes", unlisted: tt.unlisted}); err != nil || !strings.HasSuffix(out.String(), tt.want) {
			t.Errorf("%v: %v, %q", tt.unlisted, err, &out)
		}
	}
}
