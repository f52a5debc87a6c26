package scan

import "testing"

// Two servers of one kind, also those of two clients, are no imitations of each other.
func TestSiblings(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"slack-work", "slack_home", true},
		{"filesystem", "filesystem-cursor", true},
		{"memory-codex", "memory-claude-code", true},
		{"notes-opencode", "notes", true},
		{"github", "github-helper", false},
		{"cursor", "codex", false},
		{"-cursor", "-codex", false},
		{"memory-cursor-tools", "memory", false},
		{"precursor", "pre", false},
	} {
		if got := sibling(tt.a, tt.b); got != tt.want {
			t.Errorf("sibling(%q, %q) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}
