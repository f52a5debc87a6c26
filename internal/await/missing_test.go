package await

import (
	"testing"
)

// A search explains the servers that it names.
func TestMentions(t *testing.T) {
	for _, tt := range []struct {
		query, name string
		want        bool
	}{
		{"notion page", "notion", true},
		{"list github issues", "github-work", true},
		{"Read a FILE", "file_store", true},
		{"a list", "a", false}, // too short to mean a server
		{"resize a picture", "notion", false},
		{"notional value", "notion", false},
	} {
		if got := mentions(tt.query, tt.name); got != tt.want {
			t.Errorf("mentions(%q, %q) = %v", tt.query, tt.name, got)
		}
	}
}
