package upstream

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A listener is a talker that records questions.
type listener struct {
	obliging
	mu    sync.Mutex
	asked []string
}

func (l *listener) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, text)
}

func (l *listener) Answer(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
	l.add(string(gate.Compact(q)))
	return l.obliging.Answer(ctx, q)
}

func (l *listener) PageDone(id string) { l.add(id) }

// A secret that a server repeats in any of its texts, in any escaping, is neither on
// disk nor sent to a client.
func TestSecretsInTextsOfTheServer(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t/wörd+9"
	for name, said := range map[string]string{"plain": secret, "escaped": `s3cr3t\/w\u00f6rd+9`, "in a URL": "s3cr3t%2Fw%C3%B6rd%2B9"} {
		for _, modern := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, modern %v", name, modern), func(t *testing.T) {
				t.Parallel()
				text := "it is " + said
				puppet := &fakeupstream.Puppet{Modern: modern}
				info := `{"name":"n ` + said + `","version":"` + said + `","title":"` + text + `"}`
				capabilities := `{"tools":{},"prompts":{},"resources":{},"logging":{},"extensions":{"io.modelcontextprotocol/skills":{}}}`
				puppet.On("initialize", fakeupstream.Result(`{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"serverInfo":`+info+`,"instructions":"`+text+`"}`))
				if modern {
					puppet.On("server/discover", fakeupstream.Result(`{"supportedVersions":["2026-07-28"],"capabilities":`+capabilities+`,"instructions":"`+text+`","_meta":{"io.modelcontextprotocol/serverInfo":`+info+`}}`))
				}
				puppet.On("tools/list", fakeupstream.Result(`{"tools":[{"name":"echo","title":"`+text+`","description":"`+text+`","inputSchema":{"type":"object","description":"`+text+`","properties":{"a":{"default":"`+said+`"}}},"annotations":{"title":"`+text+`"}},{"name":"as `+said+`","inputSchema":{"type":"object"}}]}`))
				puppet.On("prompts/list", fakeupstream.Result(`{"prompts":[{"name":"p","description":"`+text+`","arguments":[{"name":"a","description":"`+text+`"}]}]}`))
				puppet.On("resources/list", fakeupstream.Result(`{"resources":[{"uri":"a:b","name":"`+text+`","mimeType":"`+said+`"},{"uri":"a:`+said+`","name":"n"}]}`))
				puppet.On("skills/list", fakeupstream.Result(`{"skills":[{"uri":"skill://a/b/SKILL.md","frontmatter":{"name":"b","description":"`+text+`"}}]}`))
				puppet.On("skills/get", fakeupstream.Result(`{"skill":{"uri":"skill://a/b/SKILL.md","frontmatter":{"name":"b","description":"again `+text+`"}}}`))

				dir := t.TempDir()
				cfg := remoteConfig(serve(t, puppet))
				cfg.Type, cfg.Headers = "http", map[string]string{"X-Key": "${TOKEN}"}
				p := newPool(t, &Options{CacheDir: dir, Capabilities: obliging{}.Capabilities(), Expand: func(s string) (string, error) { return strings.ReplaceAll(s, "${TOKEN}", secret), nil }}, cfg)
				if st := p.Refresh(t.Context())[0]; st.State != StateReady || st.Tools != 1 {
					t.Fatalf("status = %+v", st)
				}
				heard := new(listener)
				skill, err := p.Skill(t.Context(), "s", "skill://a/b/SKILL.md")
				if err != nil || !strings.Contains(string(skill.Frontmatter), "again") {
					t.Errorf("the skill: %s, %v", skill.Frontmatter, err)
				}
				heard.add(string(gate.Compact(skill)))
				o := &CallOptions{Talker: heard, Caller: 1, OnLog: func(level, text string) { heard.add(level + text) },
					OnProgress: func(_, _ float64, text string) { heard.add(text) }}
				ask := func(frames ...string) {
					t.Helper()
					puppet.On("tools/call echo", frames...)
					raw, err := p.Call(t.Context(), "s", "echo", nil, o)
					heard.add(fmt.Sprintf("%s %v", raw, err))
				}
				done := fakeupstream.Result(`{"content":[]}`)
				page := `{"mode":"url","message":"` + text + `","url":"https://example.com/?k=` + said + `","elicitationId":"` + said + `"}`
				schema := `{"type":"object","properties":{"a":{"type":"string","title":"` + text + `","description":"` + text + `"}}}`
				questions := map[string]string{
					"elicitation/create":     `{"mode":"form","message":"` + text + `","requestedSchema":` + schema + `}`,
					"sampling/createMessage": `{"maxTokens":1,"systemPrompt":"` + text + `","messages":[{"role":"user","content":{"type":"text","text":"` + text + `"}}]}`,
				}
				for method, params := range questions {
					if modern {
						ask(fakeupstream.Result(`{"resultType":"input_required","inputRequests":{"q":{"method":"` + method + `","params":` + params + `}}}`))
					} else {
						ask(`{"jsonrpc":"2.0","id":9,"method":"`+method+`","params":`+params+`}`, done)
					}
				}
				ask(`{"jsonrpc":"2.0","id":10,"method":"elicitation/create","params":`+page+`}`, done)
				ask(`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32042,"message":"` + text + `","data":{"elicitations":[` + page + `]}}}`)
				ask(`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32050,"message":"` + text + `","data":{"a":"` + text + `"}}}`)
				ask(fakeupstream.Result(`{"isError":true,"content":[{"type":"text","text":"` + text + `"}]}`))
				ask(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"`+said+`","logger":"`+said+`","data":"`+text+`"}}`, done)
				ask(`{"jsonrpc":"2.0","id":$ID,"result":{"text":"` + text + `",}}`)

				heard.add(string(gate.Compact(p.Listings())))
				heard.add(fmt.Sprintf("%+v", p.Status()))
				kept, err := filepath.Glob(filepath.Join(dir, "*.json"))
				if err != nil || len(kept) != 1 {
					t.Errorf("kept: %q, %v", kept, err)
				}
				for _, name := range kept {
					content, err := os.ReadFile(name)
					if err != nil {
						t.Error(err)
					}
					heard.add(string(content))
				}
				shown := 0
				for _, text := range heard.asked {
					if strings.Contains(text, "s3cr3t") {
						t.Errorf("the secret is in %s", text)
					}
					if strings.Contains(text, "${TOKEN}") {
						shown++
					}
				}
				if shown < 6 {
					t.Errorf("%d texts of %d have the reference in its place", shown, len(heard.asked))
				}
			})
		}
	}
}
