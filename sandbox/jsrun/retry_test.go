package jsrun

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

func TestRetry(t *testing.T) {
	const failing = `let n = 0; const f = (until, e) => async () => { if (++n < until) throw Object.assign(new Error('no'), e); return n };
const ms = async (g) => { const t = Date.now(); let r; try { r = await g() } catch (e) { r = e.message } return [r, n, Math.floor((Date.now() - t) / 10) * 10] };
`
	for _, c := range []struct{ code, want string }{
		{"return retry(f(1))", "1"},
		{"return retry(f(3, { retryable: true, retryAfterMs: 5 }))", "3"},
		{"try { await retry(f(9, { retryable: true, retryAfterMs: 1 })) } catch (e) { return [e.message, n] }", `["no",3]`},
		{"try { await retry(f(99, { retryable: true, retryAfterMs: 1 }), { times: 1e9 }) } catch { return n }", "10"},
		{"try { await retry(f(9, { retryable: false })) } catch { return n }", "1"},
		{"try { await retry(f(9)) } catch { return n }", "1"},
		{"try { await retry(f(9, { retryable: true, retryAfterMs: 31000 })) } catch { return n }", "1"},
		{"try { await retry(f(9, { retryable: true, retryAfterMs: 100 }), { maxWaitMs: 50 }) } catch { return n }", "1"},
		{"try { await retry(() => { n++; throw null }) } catch (e) { return [e, n] }", "[null,1]"},
		{"try { await retry(f(1)()) } catch (e) { return e.message.startsWith('retry takes a function') }", "true"},
		{"const [r, , t] = await ms(() => retry(f(2, { retryable: true, retryAfterMs: 60 }))); return [r, t >= 60 && t < 5000]", "[2,true]"},
		{"const retry = 5; return retry", "5"},
		{"return [typeof retry, retry.name, Object.keys(globalThis).includes('retry')]", `["function","retry",false]`},
	} {
		out, _ := run(t, sandbox.TypeScript, failing+c.code)
		if out.ExitCode != 0 || string(out.Value) != c.want {
			t.Errorf("%s: exit %d, %s %s; want %s", c.code, out.ExitCode, out.Value, out.Error, c.want)
		}
	}
	if out, _ := run(t, sandbox.TypeScript, "await retry(() => callMCPTool('github__other', {}))"); out.ExitCode != sandbox.ExitThrew || !strings.Contains(out.Error, "at agent.ts:1:19") || strings.Contains(out.Error, "broker:") {
		t.Errorf("exit %d, %s", out.ExitCode, out.Error)
	}
}

// A successful store.set that was not awaited needs no note.
func TestCallsThatOnlyActNeedNoNote(t *testing.T) {
	out, _ := run(t, sandbox.JavaScript, "callMCPTool('echo__echo', {}).then(() => 0); return 1")
	if len(out.Notes) != 1 {
		t.Errorf("of a tool: notes %q, want one", out.Notes)
	}
	h := &memHost{}
	set := Run(t.Context(), Program{Language: sandbox.JavaScript, Code: "store.set('a', 1); store.delete('b'); return 1", Limits: sandbox.Limits{Grace: 5e9}}, storing{h})
	if len(set.Notes) != 0 || string(set.Value) != "1" {
		t.Errorf("of values: %s, notes %q, want none", set.Value, set.Notes)
	}
}

// storing answers calls of the store.
type storing struct{ *memHost }

func (storing) Call(_ sandbox.Call, done func(json.RawMessage, error)) { go done(nil, nil) }
