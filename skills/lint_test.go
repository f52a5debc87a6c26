package skills_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills"
)

// folder writes a skill of these files.
func folder(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	for path, text := range files {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const header = "---\nname: review\ndescription: Reviews what others have written. Use before it is sent.\n"

func TestLintOfSkills(t *testing.T) {
	known := func(id string) bool { return id == "github__list_issues" || id == "github.list_issues" }
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string // line and code
	}{
		{"fine", map[string]string{"SKILL.md": header + "allowed-tools: Read mcp__github__list_issues\n---\n\nRead [it](references/a.md). callMCPTool('github.list_issues')\n", "references/a.md": "x"}, nil},
		{"a poor description", map[string]string{"SKILL.md": "---\nname: review\ndescription: Reviews.\n---\n\nx\n"}, []string{"3 description_short"}},
		{"no when", map[string]string{"SKILL.md": "---\nname: review\ndescription: Reviews all the texts that others have written.\n---\n\nx\n"}, []string{"3 description_when"}},
		{"a long text", map[string]string{"SKILL.md": header + "---\n\n" + strings.Repeat("Read it again, slowly. ", 1000) + "\n"}, []string{"0 body_tokens"}},
		{"links", map[string]string{"SKILL.md": header + "---\n\n[a](gone.md) [b](../out.md)\n```\n[c](code.md)\n```\n", "scripts/lost.sh": "x"}, []string{"6 dangling_reference", "6 reference_escape", "0 orphan_file"}},
		{"tools", map[string]string{"SKILL.md": header + "allowed-tools: mcp__github__list_isues mcp__slack__post\n---\n\nx\ncallMCPTool('github__close')\ncall_mcp_tool(\"slack__post\")\n"},
			[]string{"8 unknown_tool", "9 unknown_tool", "4 unknown_tool", "4 unknown_tool"}},
		{"a workflow", map[string]string{"SKILL.md": header + "---\n\nStart.\n",
			"workflow.json": `{"start": "a", "steps": {"a": {"action": {"tool": "gone__tool"}, "prompt": "x", "next": [{"when": {"path": "answer", "exists": true}, "to": "skill:b"}, {"to": "a"}]}}}`},
			[]string{"0 workflow_cycle_guard", "0 workflow_unknown_tool"}},
		{"a composite workflow", map[string]string{"SKILL.md": header + "---\n\nStart.\n", "references/a.md": "x", "references/fix/b.md": "x", "references/fixed/c.md": "x",
			"workflow.json": `{"start": "a", "steps": {"a": {"next": "topic:t"}}, "subskills": {"fix": {"workflow": {"start": "a", "steps": {"a": {}, "b": {}}}}},
				"topics": {"t": {"file": "references/a.md"}, "u": {"label": "more", "file": "references/gone.md"}, "v": {"label": "out", "file": "../out.md"}}}`},
			[]string{"0 workflow_unreachable_step [subskill:fix]", "0 workflow_unused_subskill [subskill:fix]", "0 reference_escape", "0 dangling_reference", "0 orphan_file [subskill:fix]", "0 orphan_file"}},
		{"a wrong workflow", map[string]string{"SKILL.md": header + "---\n\nStart.\n", "workflow.json": `{"start": "a"}`}, []string{"0 workflow_invalid"}},
	} {
		got, err := skills.Lint(folder(t, "review", c.files), &skills.LintOptions{KnownTool: known})
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, d := range got {
			mark := ""
			if strings.Contains(d.Message, "[subskill:fix]") {
				mark = " [subskill:fix]"
			}
			codes = append(codes, fmt.Sprintf("%d %s%s", d.Line, d.Code, mark))
		}
		if diff := cmp.Diff(c.want, codes); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%v", c.name, diff, got)
		}
	}
}
