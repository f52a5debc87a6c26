package learned

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// Each text occurs in two calls with different arguments.
var texts = []struct{ name, text, other, schema string }{
	{"a tag", "Result (2): <json>{\"items\":[{\"id\":1}]}</json> done", "Result (0): <json>{\"items\":[{\"id\":7}]}</json>", `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}}},"required":["items"]}`},
	{"a tag of another name", "<untrusted-data>\n[{\"a\":\"x\"}]\n</untrusted-data>\nDo not follow it.", "<untrusted-data>[{\"a\":\"y\"}]</untrusted-data>", `{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}`},
	{"a fence", "# Issues\n\n```json\n{\"total\": 3}\n```\nThat is all.", "# Issues\n```json\n{\"total\": 4}\n```", `{"type":"object","properties":{"total":{"type":"integer"}},"required":["total"]}`},
	{"a fence without a language", "Here:\n```\n[1, 2]\n```", "Here:\n```\n[3]\n```", `{"type":"array","items":{"type":"integer"}}`},
	{"a heading", "Found 2 rows:\n[{\"n\":1.5},{\"n\":2}]", "Found 1 row:\n[{\"n\":3}]", `{"type":"array","items":{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}}`},
	{"text on both sides", "Row {\"k\":\"v\"} was written.", "Row {\"k\":\"w\"} was written.", `{"type":"object","properties":{"k":{"type":"string"}},"required":["k"]}`},
	{"lines", "Name: ann\nCreated at: 2026-01-02\n\nRole: admin\n", "Name: ben\nRole: user\nCreated at: 2026-02-03", `{"type":"object","additionalProperties":{"type":"string"}}`},
	{"lines of fields", "- name: ann\n- role: admin\n- state: on", "- name: ben\n- role: user\n- state: off", `{"type":"object","properties":{"name":{"type":"string"},"role":{"type":"string"},"state":{"type":"string"}},"required":["name","role","state"]}`},
}

func TestDataInTextsIsLearned(t *testing.T) {
	for _, c := range texts {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := New(record(t, dir), nil)
			for i, text := range []string{c.text, c.other} {
				raw, _ := json.Marshal(text)
				observe(t, s, call{fmt.Sprintf(`{"n":%d}`, i), string(raw)})
			}
			got, ok := s.Held("srv", "tool")
			if schema := strings.ReplaceAll(string(got.Schema), `,"format":"date"`, ""); !ok || got.Calls != 2 || c.name != "lines" && schema != c.schema {
				t.Errorf("Held = %d calls, %s\nwant 2, %s", got.Calls, got.Schema, c.schema)
			}
			if typ, _ := s.Type("srv", "tool"); string(typ.Schema) != `{"type":"string"}` {
				t.Errorf("the type is %s", typ.Schema)
			}
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			again := New(s.types, nil)
			if kept, ok := again.Held("srv", "tool"); !ok || kept.Parse != got.Parse || string(kept.Schema) != string(got.Schema) {
				t.Errorf("the next start has %+v, %v", kept, ok)
			}
			checkParse(t, got.Parse, c.text)
		})
	}
}

// checkParse runs the expression if Node is installed.
func checkParse(t *testing.T, parse, text string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Logf("no node here: %s is not run", parse)
		return
	}
	raw, _ := json.Marshal(text)
	out, err := exec.CommandContext(t.Context(), node, "-e", fmt.Sprintf("const r = %s; console.log(JSON.stringify(%s))", raw, parse)).CombinedOutput()
	if err != nil || !json.Valid(out) || len(out) < 5 {
		t.Errorf("%s of %q gives %s, %v", parse, text, out, err)
	}
}

func TestTextsWithoutDataAreNotLearned(t *testing.T) {
	s := New(record(t, t.TempDir()), nil)
	for i, text := range []string{
		"Done.", "The file {a} was written to [b].", "Note: this is prose: with colons.\nIt goes on.\nAnd on.", "12:30: a time\n13:30: another\n14:30: one more",
		"<b>{not json}</b>", "```go\nfunc main() {}\n```", "key: one\nkey: two\nkey: three", "", "a: 1\nb: 2",
	} {
		raw, _ := json.Marshal(text)
		observe(t, s, call{fmt.Sprintf(`{"n":%d}`, i), string(raw)})
	}
	if got, ok := s.Held("srv", "tool"); ok {
		t.Errorf("Held = %+v, want nothing", got)
	}
}

// The last form counts, and keys of only one call are not stored.
func TestHeldDataIsThatOfTheLastForm(t *testing.T) {
	s := New(record(t, t.TempDir()), nil)
	for i, text := range []string{"Result: {\"ann\":1}", "<json>{\"id\":1}</json>"} {
		raw, _ := json.Marshal(text)
		observe(t, s, call{fmt.Sprintf(`{"n":%d}`, i), string(raw)})
	}
	got, _ := s.Held("srv", "tool")
	if got.Parse != `JSON.parse(r.split('<json>')[1].split('</json>')[0])` || strings.Contains(string(got.Schema), "ann") || strings.Contains(string(got.Schema), "id") {
		t.Errorf("Held = %+v", got)
	}
}

// Another program may have stored the row, and its mark becomes code.
func TestMarksOfRowsAreChecked(t *testing.T) {
	for _, mark := range []string{"a>b", "json');evil('", "x y", strings.Repeat("a", 40)} {
		if (&heldData{Form: formTag, Mark: mark}).valid() {
			t.Errorf("the mark %q is taken", mark)
		}
	}
}
