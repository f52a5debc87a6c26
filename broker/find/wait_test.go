package find

import "testing"

func TestSharesWord(t *testing.T) {
	for _, c := range []struct {
		query, about string
		want         bool
	}{
		{"read the files of a folder", "fs @x/server-filesystem", true},
		{"a file", "profile", false},
		{"use it", "users", false}, // too short
		{"", "anything", false},
	} {
		if got := sharesWord(c.query, c.about); got != c.want {
			t.Errorf("sharesWord(%q, %q) = %v", c.query, c.about, got)
		}
	}
}
