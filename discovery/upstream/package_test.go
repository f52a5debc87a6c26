package upstream

import (
	"slices"
	"testing"
)

func TestNPMCaches(t *testing.T) {
	dir, own := t.TempDir(), t.TempDir()
	t.Setenv("npm_config_cache", dir)
	expand := func(s string) (string, error) { return s, nil }
	got := NPMCaches(t.Context(), []Config{
		{Name: "a", Command: "npx", Args: []string{"-y", "a"}, AsWritten: true}, {Name: "b", Command: "sh", Args: []string{"-c", "npx -y b"}},
		{Name: "c", Command: "npx", Env: map[string]string{"npm_config_cache": own}}, {Name: "d", Command: "uvx"},
	}, expand)
	if want := []string{dir, own}; !slices.Equal(got, want) {
		t.Errorf("NPMCaches = %q, want %q", got, want)
	}
}
