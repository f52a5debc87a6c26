package plugin_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/skillcases"
	"github.com/mcpbroker/mcpbroker/skills/pack"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
)

func agree(*plugin.Plugin, string) error { return nil }

// What decides what servers do is in the digest of a plugin, and nothing else.
func TestDigestChangesWithWhatWouldRun(t *testing.T) {
	const manifest, local, far = `{"name": "p"}`, `{"s": {"command": "node", "args": ["${CLAUDE_PLUGIN_ROOT}/run.js"]}}`, `{"s": {"url": "https://x.example"}}`
	digest := func(servers string, more ...skillcases.Entry) string {
		t.Helper()
		dir := t.TempDir()
		skillcases.Write(t, dir, append([]skillcases.Entry{entry("p/.claude-plugin/plugin.json", manifest), entry("p/.mcp.json", servers)}, more...))
		var asked string
		p, _, _, err := plugin.Install(filepath.Join(dir, "to"), filepath.Join(dir, "p"), nil, pack.Options{}, func(p *plugin.Plugin, digest string) error {
			asked = digest
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // from the files, and from what is remembered of them
			if again, err := p.Digest(); err != nil || again != asked {
				t.Errorf("installed it has the digest %s, %v, asked was for %s", again, err, asked)
			}
		}
		return asked
	}
	if one, other := digest(local), digest(local); one != other {
		t.Error("the folder is in the digest")
	}
	hidden := `{"s": {"command": "node", "COMMAND": "", "URL": "https://x.example"}}`
	seen := map[string]bool{}
	for i, d := range []string{
		digest(local), digest(strings.Replace(local, "run.js", "run2.js", 1)), digest(local, entry("p/run.js", "1")), digest(local, entry("p/run.js", "2")),
		digest(local, entry("p/run2.js", "1")), digest(hidden, entry("p/run.js", "1")), digest(hidden, entry("p/run.js", "2")),
	} {
		if seen[d] {
			t.Errorf("plugin %d has the digest of another", i)
		}
		seen[d] = true
	}
	if digest(far, entry("p/skills/k/SKILL.md", "1")) != digest(far, entry("p/skills/k/SKILL.md", "2")) {
		t.Error("a skill is in the digest of a server elsewhere")
	}
	if got := digest(`{}`); got != "" {
		t.Errorf("without servers it is %q", got)
	}
	dir := t.TempDir()
	skillcases.Write(t, dir, []skillcases.Entry{entry("p/.claude-plugin/plugin.json", manifest), entry("p/.mcp.json", local)})
	no := errors.New("no")
	if _, _, _, err := plugin.Install(filepath.Join(dir, "to"), filepath.Join(dir, "p"), nil, pack.Options{}, func(*plugin.Plugin, string) error { return no }); !errors.Is(err, no) {
		t.Errorf("nobody agreed: %v", err)
	}
	if list, _ := plugin.Installed(filepath.Join(dir, "to")); len(list) > 0 {
		t.Error("it was installed all the same")
	}
}
