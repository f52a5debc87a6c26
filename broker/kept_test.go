package broker_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/results"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
)

func TestWhatIsCutIsReadInTheNextScript(t *testing.T) {
	t.Parallel()
	kept := files.Open(t.TempDir(), nil)
	b := newBroker(t, broker.Deps{Results: kept, Values: kept}, broker.Settings{})
	a := execute(t, b, `return await files.listRows({ n: 2000 })`)
	if !a.Truncated || a.Ref == "" || !strings.Contains(string(a.Result), "; results.get('"+a.Ref+"')] …") || !strings.Contains(a.Hint, a.Ref) {
		t.Fatalf("ref %q, hint %q, result %.60s", a.Ref, a.Hint, a.Result)
	}
	next := execute(t, b, fmt.Sprintf(`
		const whole = await results.get('%[1]s');
		const some = await results.get('%[1]s', { path: 'alpha', offset: 1998, limit: 5 });
		const title = await results.get('%[1]s', { path: 'alpha[7].title' });
		return [whole.alpha.length, whole.zeta, Object.keys(whole), some, title]`, a.Ref))
	if want := `[2000,9007199254740993,["zeta","alpha"],[{"id":1998,"title":"row 1998"},{"id":1999,"title":"row 1999"}],"row 7"]`; string(next.Result) != want {
		t.Errorf("the next script reads %s %s, want %s", next.Result, next.Stderr, want)
	}

	printed := execute(t, b, `for (let i = 0; i < 5000; i++) console.log('line ' + i)`)
	if printed.Ref == "" || !strings.Contains(printed.Stdout, "; results.get('"+printed.Ref+"')] …") {
		t.Fatalf("ref %q of what was printed: %.80s", printed.Ref, printed.Stdout)
	}
	next = execute(t, b, fmt.Sprintf(`const text = await results.get('%s'); return [text.length, text.split('\n')[4321]]`, printed.Ref))
	if want := `[48890,"line 4321"]`; string(next.Result) != want {
		t.Errorf("what was printed is %s %s, want %s", next.Result, next.Stderr, want)
	}

	for code, want := range map[string]string{
		`await results.get('r_nope')`: `results.get: there is no result "r_nope"`,
		`await results.get()`:         `results.get: there is no result ""`,
		fmt.Sprintf(`await results.get('%s', { path: 'beta' })`, a.Ref):      `there is no "beta"; here is an object with alpha, zeta`,
		fmt.Sprintf(`await results.get('%s', { offset: 'x' })`, a.Ref):       `results.get: offset`,
		fmt.Sprintf(`await results.get('%s', { ofset: 1 })`, a.Ref):          `results.get: `,
		fmt.Sprintf(`await results.get('%s', { path: 'beta' })`, a.Ref[:10]): `results.get: there is no result`,
	} {
		if got := execute(t, b, code); got.ExitCode != 1 || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: exit %d, %s, want %q", code, got.ExitCode, got.Stderr, want)
		}
	}
}

// The bytes of an image, a file and a text are read as base64.
func TestBytesAreReadAsBase64(t *testing.T) {
	t.Parallel()
	kept := files.Open(t.TempDir(), nil)
	b := newBroker(t, broker.Deps{Results: kept, Values: kept}, broker.Settings{Servers: cookbookServers(t)})
	a := execute(t, b, `
		const image = (await browser.takeScreenshot({ url: 'https://example.com' })).find((part) => part.type === 'image');
		const bytes = Buffer.from(await results.get(image.ref, { encoding: 'base64' }), 'base64');
		return [bytes.length === image.size, bytes.subarray(1, 4).toString(), Object.keys(await results.get(image.ref)), image.ref]`)
	var ref string
	if err := json.Unmarshal(a.Result, &[]any{new(any), new(any), new(any), &ref}); err != nil || !strings.HasPrefix(string(a.Result), `[true,"PNG",["type","mimeType","size","ref"]`) {
		t.Fatalf("%s %s", a.Result, a.Stderr)
	}
	long := execute(t, b, `return 'ü'.repeat(20000)`)
	text := execute(t, b, fmt.Sprintf(`return Buffer.from(await results.get('%s', { encoding: 'base64' }), 'base64').toString() === JSON.stringify('ü'.repeat(20000))`, long.Ref))
	if string(text.Result) != "true" {
		t.Errorf("a text: %s %s", text.Result, text.Stderr)
	}
	for options, want := range map[string]string{
		`{ encoding: 'hex' }`:               "encoding: it is 'base64'",
		`{ encoding: 'base64', offset: 1 }`: "without path, offset and limit",
		`{ encoding: 64 }`:                  "encoding: it is 'base64'",
	} {
		if got := execute(t, b, fmt.Sprintf(`return await results.get('%s', %s)`, ref, options)); got.ExitCode != 1 || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: exit %d, %s, want %q", options, got.ExitCode, got.Stderr, want)
		}
	}
	small := newBroker(t, broker.Deps{Results: kept, Values: kept}, broker.Settings{Servers: cookbookServers(t), Limits: sandbox.Limits{ResultBytes: 64}})
	if got := execute(t, small, fmt.Sprintf(`return await results.get('%s', { encoding: 'base64' })`, ref)); !strings.Contains(got.Stderr, "67 bytes are too many for base64 in a script: at most 46 (config: sandbox.maxResult)") {
		t.Errorf("over the limit: exit %d, %s", got.ExitCode, got.Stderr)
	}
}

func TestValuesLastFromScriptToScript(t *testing.T) {
	kept := files.Open(t.TempDir(), nil)
	b := newBroker(t, broker.Deps{Results: kept, Values: kept}, broker.Settings{})
	first := execute(t, b, `
		await store.set('cursor', { page: 3, big: 9007199254740993n, text: 'ü' });
		await store.set('gone', 1);
		await store.set('undefined', 1);
		await store.set('undefined', undefined);
		return [await store.get('nothing') === undefined, await store.delete('gone'), await store.delete('gone')]`)
	if string(first.Result) != `[true,true,false]` {
		t.Errorf("first script: %s %s", first.Result, first.Stderr)
	}
	second := execute(t, b, `return [await store.get('cursor'), await store.keys()]`)
	if want := `[{"page":3,"big":9007199254740993,"text":"ü"},["cursor"]]`; string(second.Result) != want {
		t.Errorf("second script: %s %s, want %s", second.Result, second.Stderr, want)
	}
	if len(second.ToolsCalled) != 0 {
		t.Errorf("tools_called %+v, want none", second.ToolsCalled)
	}
	for code, want := range map[string]string{
		`await store.set(5, 1)`:                               `the key must be a text that is not empty, as in store.set('cursor', { page: 3 })`,
		`await store.set('big', 'x'.repeat(2 * 1024 * 1024))`: `store.set: the value of "big" has 2097154 bytes; at most 1048576 bytes, which is fixed`,
	} {
		if got := execute(t, b, code); got.ExitCode != 1 || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: exit %d, %s, want %q", code, got.ExitCode, got.Stderr, want)
		}
	}
}

// What one token keeps, another does not see.
func TestNoClientReadsAnother(t *testing.T) {
	kept := files.Open(t.TempDir(), nil)
	b := newBroker(t, broker.Deps{Results: kept, Values: kept}, broker.Settings{})
	run := func(owner, code string) broker.ExecuteAnswer {
		return b.Execute(t.Context(), broker.ExecuteRequest{Code: code, Owner: owner})
	}
	a := run("alice", `await store.set('k', 1); return 'x'.repeat(20000)`)
	if a.Ref == "" {
		t.Fatalf("no ref: %+v", a)
	}
	read := fmt.Sprintf(`const kept = await results.get('%s').then(s => s.length, () => 0); return [await store.get('k') ?? 0, await store.keys(), kept]`, a.Ref)
	for owner, want := range map[string]string{"alice": `[1,["k"],20000]`, "bob": `[0,[],0]`, state.Local: `[0,[],0]`} {
		if got := run(owner, read); string(got.Result) != want {
			t.Errorf("%q reads %s %s, want %s", owner, got.Result, got.Stderr, want)
		}
	}
}

func TestWithoutAStoreScriptsSaySo(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	a := execute(t, b, `try { await store.set('a', 1) } catch (e) { return e.message }`)
	var message string
	if err := json.Unmarshal(a.Result, &message); err != nil || message != "store.set: this broker keeps nothing between executions" {
		t.Errorf("%s, %v", a.Result, err)
	}
	if cut := execute(t, b, `return 'x'.repeat(20000)`); cut.Ref != "" || !cut.Truncated {
		t.Errorf("ref %q", cut.Ref)
	}
}

// An image goes to the client as an image when the script returns it, and never
// as text.
func TestImagesFollowTheAnswer(t *testing.T) {
	kept := files.Open(t.TempDir(), nil)
	b := newBroker(t, broker.Deps{Results: kept, Values: kept}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "shifty")}})
	cs := connect(t, b, "2025-11-25", nil)
	run := func(code string) (broker.ExecuteAnswer, []mcp.Content) {
		t.Helper()
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": code}})
		if err != nil || res.IsError {
			t.Fatalf("%v %+v", err, res)
		}
		var a broker.ExecuteAnswer
		if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &a); err != nil {
			t.Fatal(err)
		}
		return a, res.Content[1:]
	}
	a, media := run(`const r = await shifty.getImage(); console.log(r[0].size); return { picture: r[0], again: r }`)
	if len(media) != 1 {
		t.Fatalf("%d blocks after the text, want the image once: %s", len(media), a.Result)
	}
	if i, ok := media[0].(*mcp.ImageContent); !ok || i.MIMEType != "image/png" || string(i.Data) != "\x89PNG picture" {
		t.Errorf("block %+v", media[0])
	}
	var result struct {
		Picture struct {
			Type, MIMEType, Ref string
			Size                int
		}
	}
	if err := json.Unmarshal(a.Result, &result); err != nil || result.Picture.Type != "image" || result.Picture.Size != 12 || result.Picture.Ref == "" || a.Stdout != "12\n" {
		t.Errorf("result %s, stdout %q, %v", a.Result, a.Stdout, err)
	}
	if _, media := run(`const r = await shifty.getImage(); return r.length`); len(media) != 0 {
		t.Errorf("an image that was not returned is in the answer")
	}
	later, media := run(fmt.Sprintf(`return results.get('%s')`, result.Picture.Ref))
	if want := fmt.Sprintf(`{"type":"image","mimeType":"image/png","size":12,"ref":"%s"}`, result.Picture.Ref); string(later.Result) != want || len(media) != 1 {
		t.Errorf("a later script gets %s and %d blocks, want %s and the image", later.Result, len(media), want)
	}
}

// People read what was cut as a resource, each client its own.
func TestKeptResultsAreResources(t *testing.T) {
	store := files.Open(t.TempDir(), nil)
	b := newBroker(t, broker.Deps{Results: store, Values: store}, broker.Settings{})
	theirs, err := results.Put(t.Context(), store, "alice", state.Text, []byte("hers"))
	if err != nil {
		t.Fatal(err)
	}
	a := execute(t, b, `return '\u202e\u200b'.repeat(3) + 'x'.repeat(20000)`)
	cs := connect(t, b, "2025-11-25", nil)
	list, err := cs.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, r := range list.Resources {
		if strings.HasPrefix(r.URI, "broker://results/") {
			kept = append(kept, r.URI)
		}
	}
	uri := "broker://results/" + a.Ref
	if len(kept) != 1 || kept[0] != uri {
		t.Errorf("listed %q, want %q", kept, uri)
	}
	read, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil || len(read.Contents) != 1 || read.Contents[0].MIMEType != state.JSON || len(read.Contents[0].Text) != 20002 {
		t.Errorf("read %+v, %v", read, err)
	}
	if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "broker://results/" + theirs}); err == nil {
		t.Error("another client's result can be read")
	}
}
