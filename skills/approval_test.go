package skills_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/skills"
)

func TestApprovalsAreKeptBesideSwitches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "servers.state.json")
	approved := func(want string) {
		t.Helper()
		if got, err := skills.Approved(skills.SwitchFile(path), "a"); err != nil || got != want {
			t.Errorf("approved: %q, %v, want %q", got, err, want)
		}
	}
	approved("")
	if err := skills.SetSwitch(skills.SwitchFile(path), skills.KindSkill, "a", false); err != nil {
		t.Fatal(err)
	}
	if err := skills.SetApproval(skills.SwitchFile(path), "a", "sha256:1"); err != nil {
		t.Fatal(err)
	}
	approved("sha256:1")
	if s, err := skills.ReadSwitches(skills.SwitchFile(path)); err != nil || s.On(skills.KindSkill, "a") {
		t.Errorf("the skill was switched on: %v", err)
	}
	if err := skills.SetApproval(skills.SwitchFile(path), "b", "sha256:2"); err != nil {
		t.Fatal(err)
	}
	if err := skills.SetApproval(skills.SwitchFile(path), "a", ""); err != nil {
		t.Fatal(err)
	}
	approved("")
	if got, err := skills.Approved(skills.SwitchFile(path), "b"); err != nil || got != "sha256:2" {
		t.Errorf("another one: %q, %v", got, err)
	}
	if err := os.WriteFile(path, []byte(`{"skills": {"a": {"approved": 7}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	// What cannot be read approves nothing.
	if got, err := skills.Approved(skills.SwitchFile(path), "a"); err == nil || got != "" || !strings.Contains(err.Error(), path) {
		t.Errorf("broken: %q, %v", got, err)
	}
}
