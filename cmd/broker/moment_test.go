package main

import (
	"testing"
)

// Anything other than a day or a subcommand of audit is refused.
func TestAuditRefusesOtherWords(t *testing.T) {
	c := auditCommand(&env{})
	for _, args := range [][]string{{""}, {"", ""}, {" "}, {"\x00"}, {"9"}, {"2026-02-31"}, {"yesterday", "noon"}, {"é"}} {
		if err := c.Args(c, args); err == nil {
			t.Errorf("audit %q is taken", args)
		}
	}
	for _, day := range []string{"today", "monday", "2h"} {
		if err := c.Args(c, []string{day}); err != nil {
			t.Errorf("audit %s: %v", day, err)
		}
	}
}
