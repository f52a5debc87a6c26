package config

import (
	"slices"
	"testing"
)

// The folder of a project is no variable.
func TestFolderReferences(t *testing.T) {
	cfg := parse(t, `{"mcpServers": {"a": {"command": "x", "args": ["${workspaceFolder}/a", "${workspaceFolderBasename}", "${V}"]}}}`)
	s := *cfg.Server("a")
	if variables, secrets := s.Reads(); !slices.Equal(variables, []string{"V"}) || len(secrets) > 0 {
		t.Errorf("reads %q, %q", variables, secrets)
	}
	if got, _ := s.Restricted(nil); got.Args[0] != "${workspaceFolder}/a" {
		t.Errorf("restricted: %q", got.Args)
	}
	if got := Variables([]byte("${workspaceFolder} ${V}")); !slices.Equal(got, []string{"V"}) {
		t.Errorf("variables %q", got)
	}
	if _, err := (Sources{}).Expand("${workspaceFolder}"); err == nil {
		t.Error("it is known where it cannot be")
	}
}
