package cache

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
)

// manyTools is an entry of n tools with all that a server can say.
func manyTools(n int) Entry {
	yes := true
	e := Entry{Era: link.EraModern, Transport: "stdio", Asks: true, Listing: discovery.Listing{
		Server: "s", Description: `quotes " and \ and <tags>`, Instructions: "line\nline\u2028", Problems: []string{"a", "b"},
		Origin: discovery.Origin{Command: "npx x"}, Skills: []discovery.ListedSkill{{URI: "skill://a", Frontmatter: json.RawMessage(`{"name":"a"}`)}},
		Prompts: []discovery.ListedPrompt{{Name: "p"}}, Tools: []discovery.ListedTool{},
	}}
	for i := range n {
		t := discovery.ListedTool{
			Name: "tool" + string(rune('a'+i%26)), Title: "Título 题", Description: "says \"hello\"\n\tand \u0007 and 😀 <b>&amp;</b>",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","enum":["}","\"]"]},"b":[1,-2.5e3,null]}}`),
		}
		if i%2 == 0 {
			t.OutputSchema = json.RawMessage(`{"type":"object"}`)
			t.Annotations = discovery.Annotations{ReadOnly: &yes}
		}
		e.Listing.Tools = append(e.Listing.Tools, t)
	}
	return e
}

// decodeByLibrary is Decode in the words of encoding/json.
func decodeByLibrary(b []byte, server string) (Entry, bool) {
	var e Entry
	if json.Unmarshal(b, &e) != nil || e.Version != listingVersion || e.Listing.Server != server {
		return Entry{}, false
	}
	return e, true
}

func TestEntriesAreDecodedAsTheLibraryDoes(t *testing.T) {
	t.Parallel()
	whole := manyTools(3).Encode()
	texts := []string{
		string(whole), string(manyTools(0).Encode()), "", "null", "{}", "[]", "{} {}", string(whole) + "x", " " + string(whole) + "\n",
		`{"version":2,"listing":{"server":"s"}}`,
		`{"version":2,"listing":{"server":"s","tools":null}}`,
		`{"version":2,"listing":null}`,
		`{"version":2,"listing":[]}`,
		`{"version":3,"listing":{"server":"s"}}`,
		`{"version":2,"listing":{"server":"t"}}`,
		`{"version":2,"listing":{"server":"s","tools":{}}}`,
		`{"version":2,"listing":{"server":"s","tools":[1]}}`,
		`{"version":2,"listing":{"server":"s","tools":[{"name":1}]}}`,
		`{"version":2,"listing":{"server":"s","tools":[{"name":null,"inputSchema":null,"annotations":{"readOnlyHint":1}}]}}`,
		`{"version":2,"listing":{"server":"s","tools":[{"name":"\ud83d\ude00\ud83d","inputSchema": {"a": [1, 2]} ,"annotations":{"readOnlyHint":false}}],"unknown":{"a":[{}]}}}`,
		"{\"version\":2,\"listing\":{\"server\":\"s\",\"tools\":[{\"name\":\"a\xff\"}]}}",
		`{"version":2,"listing":{"server":"s","tools":[{"name":"a","inputSchema":{"a":01}}]}}`,
	}
	for i := range whole { // a file that was cut
		texts = append(texts, string(whole[:i]))
	}
	for _, text := range texts {
		want, wanted := decodeByLibrary([]byte(text), "s")
		got, ok := Decode([]byte(text), "s")
		if diff := cmp.Diff(want, got); ok != wanted || diff != "" {
			t.Errorf("%.200s: ok = %v, want %v; entry (-library +Decode):\n%s", text, ok, wanted, diff)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	text := manyTools(1000).Encode()
	for name, decode := range map[string]func([]byte, string) (Entry, bool){"scan": Decode, "library": decodeByLibrary} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, ok := decode(text, "s"); !ok {
					b.Fatal("not decoded")
				}
			}
		})
	}
}
