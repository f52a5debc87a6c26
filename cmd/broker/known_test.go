package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
