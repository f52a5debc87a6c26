package skills

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// header is a SKILL.md with these lines in its header.
func header(lines ...string) string { return "---\n" + strings.Join(lines, "\n") + "\n---\nbody\n" }

// broken has one text for each code, and the line that the code points to.
var broken = []struct {
	code string
	line int
	text string
}{
	{"file_too_large", 0, header("name: x", "description: y") + strings.Repeat("z", MaxFileBytes)},
	{"invalid_utf8", 3, "---\nname: x\n\xff"},
	{"bom", 1, "\ufeff" + header("name: x", "description: y")},
	{"no_frontmatter", 1, "# x"},
	{"no_frontmatter", 1, ""},
	{"no_frontmatter", 1, " ---\nname: x\n---\n"},
	{"leading_blank", 1, "\n \n" + header("name: x", "description: y")},
	{"unclosed_frontmatter", 2, "\n---\nname: x\n ---\n"},
	{"invalid_yaml", 5, header("name: x", "description: y", "metadata:", "\ta: b")},
	{"yaml_repaired", 3, header("name: x", "description: Use when: asked")},
	{"yaml_alias", 2, header("name: &n x", "description: y")},
	{"yaml_alias", 4, header("name: x", "description: y", "metadata: {<<: {a: b}}")},
	{"yaml_tag", 3, header("name: x", "description: !!str y")},
	{"yaml_flow_style", 4, header("name: x", "description: y", "metadata: {a: b, c: [d]}")},
	{"not_a_mapping", 2, header("- x")},
	{"not_a_mapping", 2, "---\n---\n"},
	{"duplicate_key", 4, header("name: x", "description: y", "name: z")},
	{"unknown_field", 3, header("name: x", "descripton: y")},
	{"missing_name", 2, header("description: y")},
	{"empty_name", 2, header("name:", "description: y")},
	{"empty_name", 2, header("name: ~", "description: y")},
	{"empty_name", 2, header("name: null", "description: y")},
	{"name_not_string", 3, header("name:", "  - x", "description: y")},
	{"name_too_long", 2, header("name: "+strings.Repeat("é", 65), "description: y")},
	{"name_not_lowercase", 2, header("name: X", "description: y")},
	{"name_edge_hyphen", 2, header("name: x-", "description: y")},
	{"name_double_hyphen", 2, header("name: a--b", "description: y")},
	{"name_bad_char", 2, header("name: a.b", "description: y")},
	{"missing_description", 2, header("name: x")},
	{"empty_description", 3, header("name: x", "description: ''")},
	{"description_not_string", 4, header("name: x", "description:", "  a: b")},
	{"description_too_long", 3, header("name: x", "description: |", "  "+strings.Repeat("é", 1024))},
	{"description_angle_bracket", 3, header("name: x", "description: a < b")},
	{"compatibility_not_string", 4, header("name: x", "description: y", "compatibility: [a]")},
	{"compatibility_empty", 4, header("name: x", "description: y", "compatibility:")},
	{"compatibility_too_long", 4, header("name: x", "description: y", "compatibility: "+strings.Repeat("c", 501))},
	{"metadata_not_map", 4, header("name: x", "description: y", "metadata: z")},
	{"metadata_value_not_string", 5, header("name: x", "description: y", "metadata:", "  a: [b]")},
	{"allowed_tools_not_string", 4, header("name: x", "description: y", "allowed-tools: [Read]")},
	{"body_too_long", 0, header("name: x", "description: y") + strings.Repeat("z\n", 500)},
}

func TestEveryRuleSpeaksWhereItIsBroken(t *testing.T) {
	met := map[string]bool{}
	for _, c := range broken {
		d := Parse([]byte(c.text))
		i := slices.IndexFunc(d.findings, func(f finding) bool { return f.code == c.code })
		if i < 0 {
			t.Errorf("%.60q: found %v, want %s", c.text, d.findings, c.code)
			continue
		}
		if got := d.findings[i].line; got != c.line {
			t.Errorf("%.60q: %s in line %d, want %d", c.text, c.code, got, c.line)
		}
		met[c.code] = true
	}
	// The rules about files rather than texts.
	for code, prepare := range map[string]func(dir string) error{
		"missing_skill_md": func(string) error { return nil },
		"skill_md_case":    func(dir string) error { return os.WriteFile(filepath.Join(dir, "skill.md"), nil, 0o600) },
		"unreadable":       func(dir string) error { return os.Mkdir(filepath.Join(dir, FileName), 0o700) },
		"symlink_escape":   func(dir string) error { return os.Symlink("/", filepath.Join(dir, FileName)) },
		"workflow_invalid": func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, FileName), []byte(header("name: x", "description: y")), 0o600); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "workflow.json"), []byte("{}"), 0o600)
		},
		"name_dir_mismatch": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, FileName), []byte(header("name: other", "description: y")), 0o600)
		},
	} {
		dir := t.TempDir()
		met[code] = true
		if err := prepare(dir); err != nil {
			t.Log(code, "is not tried:", err)
			continue
		}
		if d := ReadPath(dir); !slices.ContainsFunc(d.findings, func(f finding) bool { return f.code == code }) {
			t.Errorf("found %v, want %s", d.findings, code)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(rules)) {
		if !met[code] {
			t.Errorf("no text here breaks %s", code)
		}
	}
}

func TestFoundCodesAreInTheTable(t *testing.T) {
	for _, c := range broken {
		for _, f := range Parse([]byte(c.text)).findings {
			if _, ok := rules[f.code]; !ok {
				t.Errorf("%s is not in the table", f.code)
			}
			if f.message == "" || strings.HasSuffix(f.message, ".") || strings.Contains(f.message, "%!") {
				t.Errorf("%s: message %q", f.code, f.message)
			}
		}
	}
}

func TestRepairQuotesOnlyWhatIsBroken(t *testing.T) {
	for _, c := range []struct{ header, key, want string }{
		{"name: x\ndescription: Use it: it's good", "description", "Use it: it's good"},
		{"name: x\ndescription: y\nargument-hint: [a] [b]", "argument-hint", "[a] [b]"},
		{"name: x\ndescription: \"A\" or b: c", "description", `"A" or b: c`},
		{"name: x\ndescription: |\n  two: lines\n  more\nlicense: a: b", "description", "two: lines\nmore"},
		{"name: x\ndescription: @home: yes", "description", "@home: yes"},
		// Colons in any line, and in any style.
		{"name: x\ndescription: Use when\n  the user says: hello\n  or: goodbye\nversion: 1", "description", "Use when the user says: hello or: goodbye"},
		{"name: x\ndescription: Use it: now\n  and later", "description", "Use it: now and later"},
		{"name: x\ndescription: Starts here\nand goes on\nversion: 1", "description", "Starts here and goes on"},
		{"name: x\ndescription:\n  Use when: asked\n  Not when: told\nversion: 1", "description", "Use when: asked Not when: told"},
		{"name: x\ndescription: [Beta]\nversion: 1", "description", "[Beta]"},
		{"name: x\ndescription: >-\n  First.\n\nTriggers — on any of: a, b,\n  c\nAlso use: d\nversion: 1", "description", "First.\nTriggers — on any of: a, b, c\nAlso use: d"},
		{"name: x\ndescription: [Beta] Does: things", "description", "[Beta] Does: things"},
		{"name: x\ndescription: >\n  a: b\n  c\n d\nlicense: y: z", "description", "a: b c d"},
		{"name: x\ndescription: |-\nThe pair is: here\n\tmore\nversion: 1", "description", "The pair is: here\nmore"},
		{"name: x\ndescription: \"Says \"hi\" when\n  asked: so\"\nversion: 1", "description", `"Says "hi" when asked: so"`},
		{"name: x\ndescription: it's *bold*: yes\n  `code`: no # really", "description", "it's *bold*: yes `code`: no # really"},
		{"name: x\ndescription: y\nmetadata:\n  short: do: this\n  tags:\n    - a: b: c\nversion: '2'", "version", "2"},
		{"name: x\ndescription: y\nwhen_to_use: if: then\n  else: not", "when_to_use", "if: then else: not"},
	} {
		d := Parse([]byte("---\n" + c.header + "\n---\n"))
		got := d.Extra[c.key]
		if c.key == "description" {
			got = d.Description
		}
		if ok, list := d.Judge(Lenient); !ok || got != c.want {
			t.Errorf("%q: %s = %q, want %q (%v)", c.header, c.key, got, c.want, list)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range broken {
		if len(c.text) < 2000 {
			f.Add([]byte(c.text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := Parse(data)
		for _, m := range []Mode{Strict, Lenient} {
			ok, list := d.Judge(m)
			if ok && d.Description == "" {
				t.Errorf("mode %d takes %q without a description: %v", m, data, list)
			}
			if ok && m != Lenient && d.Name == "" {
				t.Errorf("mode %d takes %q without a name: %v", m, data, list)
			}
		}
		for _, f := range d.findings {
			if _, ok := rules[f.code]; !ok {
				t.Errorf("%s is not in the table", f.code)
			}
		}
	})
}
