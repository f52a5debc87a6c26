package skills

import "testing"

// A file that is kept again does not count twice.
func TestTheCacheCountsAFileOnce(t *testing.T) {
	c := NewCache("")
	f := Resource{URI: "skill://a/SKILL.md", Digest: "sha256:x", Size: 3}
	for _, text := range []string{"abc", "abc", "ab"} {
		c.put("docs", f, []byte(text))
		if c.size != len(text) {
			t.Errorf("%d bytes are counted, want %d", c.size, len(text))
		}
	}
}
