package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/policy"
)

var catalog = discovery.NewCatalog([]discovery.Listing{{Server: "shop", Tools: []discovery.ListedTool{
	{Name: "buy", InputSchema: json.RawMessage(`{"type":"object","properties":{
		"item":{"type":"string"},"count":{"type":"integer","minimum":1},"speed":{"enum":["slow","fast"]},
		"to":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}},
		"required":["item"],"additionalProperties":false}`)},
	{Name: "open", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)},
	{Name: "wrapped", OutputSchema: json.RawMessage(`{"type":"object","properties":{"result":{"type":"array"}}}`)},
	{Name: "odd", InputSchema: json.RawMessage(`{"$ref":"https://example.com/schema.json"}`)},
}}})

func resolve(_ context.Context, name string) (*discovery.Tool, error) {
	if t, ok := catalog.Tool(name); ok {
		return t, nil
	}
	return nil, &bridge.Error{Code: bridge.CodeUnknownTool, Message: "unknown tool " + name}
}

func answering(raw string) bridge.CallerFunc {
	return func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(raw), nil
	}
}

func TestValueIsWhatAScriptExpects(t *testing.T) {
	for _, c := range []struct{ name, tool, raw, want string }{
		{"structured content wins", "shop__open", `{"structuredContent":{"b":1,"a":9007199254740993},"content":[{"type":"text","text":"{\"a\": 9007199254740993, \"b\": 1}"}]}`, `{"b":1,"a":9007199254740993}`},
		{"one text block that is JSON", "shop__open", `{"content":[{"type":"text","text":" [1, 2] "}]}`, `[1, 2]`},
		{"one text block that is none", "shop__open", `{"content":[{"type":"text","text":"hello <b>"}]}`, `"hello \u003cb\u003e"`},
		{"null structured content is none", "shop__open", `{"structuredContent":null,"content":[{"type":"text","text":"x"}]}`, `"x"`},
		{"several blocks", "shop__open", `{"content":[{"type":"text","text":"a"},{"type":"new","x":1}]}`, `[{"type":"text","text":"a"},{"type":"new","x":1}]`},
		{"an image is its size", "shop__open", `{"content":[{"type":"image","mimeType":"image/png","data":"aGVsbG8="}]}`, `[{"type":"image","mimeType":"image/png","size":5}]`},
		{"a blob is its size", "shop__open", `{"content":[{"type":"resource","resource":{"uri":"x:y","mimeType":"a/b","blob":"aGVsbA=="}}]}`, `[{"type":"resource","mimeType":"a/b","uri":"x:y","size":4}]`},
		{"an image in structured content is its size", "shop__open", `{"structuredContent":{"z":1.50,"content":[{"type":"image","data":"aGVsbG8=","mimeType":"image/png"}],"a":[{"blob":"aGVsbA==","mimeType":"text/plain","uri":"x:y"}]}}`,
			`{"z":1.50,"content":[{"type":"image","mimeType":"image/png","size":5}],"a":[{"type":"resource","mimeType":"text/plain","uri":"x:y","size":4}]}`},
		{"an image in JSON text is its size", "shop__open", `{"content":[{"type":"text","text":"{\"type\":\"image\",\"data\":\"aGVsbG8=\",\"mimeType\":\"image/png\"}"}]}`, `{"type":"image","mimeType":"image/png","size":5}`},
		{"a record with data is no image", "shop__open", `{"structuredContent":{"type":"image","data":"https://x.org/a.png","mimeType":"image/png","b":{"type":"image","data":"aGVsbG8="}}}`,
			`{"type":"image","data":"https://x.org/a.png","mimeType":"image/png","b":{"type":"image","data":"aGVsbG8="}}`},
		{"no content", "shop__open", `{"content":[]}`, `[]`},
		{"a declared wrapper is taken off", "shop__wrapped", `{"structuredContent":{"result":[1]}}`, `[1]`},
		{"an undeclared wrapper stays", "shop__open", `{"structuredContent":{"result":[1]}}`, `{"result":[1]}`},
	} {
		b := bridge.New(bridge.Options{Resolve: resolve, Caller: answering(c.raw)})
		got, err := b.Call(t.Context(), c.tool, nil)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.name, got, err, c.want)
		}
	}
}

func TestFailuresAreTyped(t *testing.T) {
	fails := func(err error) bridge.CallerFunc {
		return func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) { return nil, err }
	}
	for _, c := range []struct {
		name, tool string
		caller     bridge.Caller
		want       bridge.Error
	}{
		{"the tool says so", "shop__open", answering(`{"isError":true,"content":[{"type":"text","text":"out of stock"}]}`),
			bridge.Error{Server: "shop", Tool: "open", Code: bridge.CodeTool, Message: "out of stock"}},
		{"the tool says so without words", "shop__open", answering(`{"isError":true,"content":[]}`),
			bridge.Error{Server: "shop", Tool: "open", Code: bridge.CodeTool, Message: "the tool failed and did not say why"}},
		{"unknown tool", "shop__bye", answering(`{}`),
			bridge.Error{Tool: "shop__bye", Code: bridge.CodeUnknownTool, Message: "unknown tool shop__bye"}},
		{"unreachable", "shop__open", fails(errors.New("connection refused")),
			bridge.Error{Server: "shop", Tool: "open", Code: bridge.CodeUnavailable, Message: "connection refused", Retryable: true}},
		{"no tool result", "shop__open", answering(`[]`),
			bridge.Error{Server: "shop", Tool: "open", Code: bridge.CodeProtocol, Message: "call shop__open: the server's answer is not a tool result: []"}},
	} {
		b := bridge.New(bridge.Options{Resolve: resolve, Caller: c.caller})
		_, err := b.Call(t.Context(), c.tool, nil)
		e, ok := errors.AsType[*bridge.Error](err)
		if !ok {
			t.Errorf("%s: error is %T, want *bridge.Error", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, *e); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestArgumentsAreCheckedBeforeTheyLeave(t *testing.T) {
	for _, c := range []struct{ tool, args, want string }{
		{"shop__buy", `{"item":"x","count":2,"speed":"fast","to":{"city":"Rome"}}`, ""},
		{"shop__open", ``, ""},
		{"shop__open", `null`, ""},
		{"shop__open", `{"more":1}`, ""},
		{"shop__odd", `{"anything":1}`, ""},
		{"shop__buy", `{}`, `shop__buy: missing parameter "item"`},
		{"shop__buy", `{"itm":"x"}`, `shop__buy: unknown parameter "itm", did you mean "item"?`},
		{"shop__buy", `{"item":"x","speed":"quick"}`, `"speed" is "quick"; accepted: "slow", "fast"`},
		{"shop__buy", `{"item":"x","speed":"FAST"}`, `did you mean "fast"?`},
		{"shop__buy", `{"item":3}`, `"item" takes a string; got 3`},
		{"shop__buy", `{"item":"x","count":0}`, `"count" must be at least 1; got 0`},
		{"shop__buy", `{"item":"x","to":{}}`, `missing parameter "to.city"`},
		{"shop__buy", `{"count":"2","speed":"quick","to":{"city":null}}`, `"count" takes an integer; got "2"; "speed" is "quick"; accepted: "slow", "fast"; "to.city" takes a string; got null; missing parameter "item"`},
		{"shop__buy", `[1]`, `arguments are one object, such as {name: value}; got an array`},
		{"shop__buy", `"x"`, `got a string`},
	} {
		sent := false
		b := bridge.New(bridge.Options{Resolve: resolve, Caller: bridge.CallerFunc(
			func(_ context.Context, _, _ string, args json.RawMessage) (json.RawMessage, error) {
				sent = true
				if !strings.HasPrefix(string(args), "{") {
					t.Errorf("%s: sent %s, want an object", c.args, args)
				}
				return json.RawMessage(`{"content":[]}`), nil
			})})
		_, err := b.Call(t.Context(), c.tool, json.RawMessage(c.args))
		if c.want == "" {
			if err != nil || !sent {
				t.Errorf("%s: %v, want it sent", c.args, err)
			}
			continue
		}
		e, ok := errors.AsType[*bridge.Error](err)
		if !ok || sent || e.Code != bridge.CodeArguments || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: %v (sent: %v), want %q and nothing sent", c.args, err, sent, c.want)
		}
	}
}

func TestRefusedByPolicy(t *testing.T) {
	b := bridge.New(bridge.Options{Resolve: resolve, Caller: answering(`{"content":[]}`),
		Policy: policy.ReadOnly{}})
	_, err := b.Call(t.Context(), "shop__open", nil)
	e, ok := errors.AsType[*bridge.Error](err)
	if !ok || e.Code != bridge.CodeDenied || e.Message != "shop__open is not marked read-only, and this broker runs read-only" || e.Hint == "" {
		t.Errorf("error %v, want denied", err)
	}
	rows := bridge.Rows(b.Records())
	if len(rows) != 1 || rows[0].Status != bridge.StatusDenied {
		t.Errorf("rows %v, want one denied", rows)
	}
}

// asks is a policy by which every call needs approval.
type asks struct{ got *policy.Call }

func (p asks) Decide(c policy.Call) policy.Decision {
	*p.got = c
	return policy.Decision{Effect: policy.Ask, Reason: "is a write"}
}

// The policy sees what would be sent, and an approval that nobody can give is a
// refusal in plain words.
func TestNobodyToAsk(t *testing.T) {
	var got policy.Call
	b := bridge.New(bridge.Options{Resolve: resolve, Client: "ann", Execution: "e1", Policy: asks{&got},
		Caller: bridge.CallerFunc(func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) {
			t.Error("the call was sent")
			return nil, nil
		})})
	skill := &policy.Skill{Ref: "triage"}
	_, err := b.CallOfSkill(t.Context(), skill, "shop__buy", json.RawMessage(`{"item":"x","count":null}`))
	const want = "shop__buy needs the approval of a person, and nobody can be asked here: it is a write"
	if e, ok := errors.AsType[*bridge.Error](err); !ok || e.Code != bridge.CodeApproval || e.Message != want {
		t.Errorf("error %v, want %q", err, want)
	}
	if got.Caller != "ann" || !cmp.Equal(got.Run, policy.Run{ID: "e1"}) || got.Skill != skill || got.Tool.ID != "shop__buy" || got.Class != policy.Write {
		t.Errorf("the policy was asked about %+v", got)
	}
	if diff := cmp.Diff(`{"item":"x"}`, string(got.Args)); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

// What a person says about a call is what happens to it.
func TestApproval(t *testing.T) {
	sent := 0
	answer, problem := true, error(nil)
	b := bridge.New(bridge.Options{Resolve: resolve, Policy: asks{&policy.Call{}},
		Approve: func(_ context.Context, tool *discovery.Tool, args json.RawMessage, d policy.Decision) (bool, error) {
			if tool.ID != "shop__buy" || string(args) != `{"item":"x"}` || d.Reason != "is a write" {
				t.Errorf("asked about %s %s, %+v", tool.ID, args, d)
			}
			return answer, problem
		},
		Caller: bridge.CallerFunc(func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) {
			sent++
			return json.RawMessage(`{"content":[{"type":"text","text":"ok"}]}`), nil
		})})
	buy := func() *bridge.Error {
		_, err := b.Call(t.Context(), "shop__buy", json.RawMessage(`{"item":"x"}`))
		e, _ := errors.AsType[*bridge.Error](err)
		return e
	}
	if e := buy(); e != nil || sent != 1 {
		t.Errorf("approved: %v, %d calls sent", e, sent)
	}
	answer = false
	if e := buy(); e == nil || e.Code != bridge.CodeDenied || !strings.Contains(e.Message, "said no") {
		t.Errorf("not approved: %v", e)
	}
	problem = errors.New("the window was closed")
	if e := buy(); e == nil || e.Code != bridge.CodeApproval || !strings.Contains(e.Message, "(the window was closed)") || !strings.Contains(e.Hint, "broker policy explain shop.buy") {
		t.Errorf("not answered: %v", e)
	}
	problem = bridge.ErrUnanswered
	if e := buy(); e == nil || e.Code != bridge.CodeApproval || !strings.Contains(e.Message, "closed the question") || strings.Contains(e.Message, "said no") {
		t.Errorf("closed: %v", e)
	}
	if sent != 1 {
		t.Errorf("%d calls sent", sent)
	}
}

// Policies hear what a run has done: calls that were made, also at one time, and
// what was read.
func TestRulesOfARun(t *testing.T) {
	for text, want := range map[string]string{
		`{"preset":"open","budgets":{"run":{"writes":2}}}`:                                                   "buy buy denied denied",
		`{"preset":"open","budgets":{"tools":{"shop.open":{"run":0}}}}`:                                      "buy buy buy denied",
		`{"preset":"open","flows":[{"from":["shop.buy"],"to":["shop.open"],"effect":"deny"}]}`:               "buy buy buy denied",
		`{"preset":"open","flows":[{"from":["*"],"to":["shop.buy"],"effect":"deny","mode":"values"}]}`:       "buy denied denied open",
		`{"preset":"open","rules":[{"effect":"deny","tools":["shop.buy"],"args":{"item":"a text, and *"}}]}`: "denied denied denied open",
	} {
		rules, mistakes := policy.ReadRules(policy.Source{Text: []byte(text)})
		if rules == nil {
			t.Fatal(mistakes)
		}
		b := bridge.New(bridge.Options{Resolve: resolve, Policy: rules, Rules: rules, Budget: bridge.NewBudget(10, 1),
			Caller: bridge.CallerFunc(func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`{"content":[{"type":"text","text":"A TEXT, and more of it"}]}`), nil
			})})
		var got []string
		for _, name := range []string{"buy", "buy", "buy", "open"} {
			_, err := b.Call(t.Context(), "shop__"+name, json.RawMessage(`{"item":"a text, and more of it!"}`))
			if e, ok := errors.AsType[*bridge.Error](err); ok && e.Code == bridge.CodeDenied {
				name = "denied"
			} else if err != nil {
				t.Fatal(err)
			}
			got = append(got, name)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestCancelledCallSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := bridge.New(bridge.Options{Resolve: resolve, Caller: bridge.CallerFunc(
		func(ctx context.Context, _, _ string, _ json.RawMessage) (json.RawMessage, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		})})
	_, err := b.Call(ctx, "shop__open", nil)
	if e, ok := errors.AsType[*bridge.Error](err); !ok || e.Code != bridge.CodeCancelled {
		t.Errorf("error %v, want cancelled", err)
	}
}

func TestEveryCallIsRecordedOnce(t *testing.T) {
	var mu sync.Mutex
	var recorded []bridge.Record
	b := bridge.New(bridge.Options{Resolve: resolve, Caller: answering(`{"content":[{"type":"text","text":"ok"}]}`),
		Record: func(r bridge.Record) { mu.Lock(); defer mu.Unlock(); recorded = append(recorded, r) }})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			// Odd ones are refused: they are recorded as well.
			_, _ = b.Call(t.Context(), "shop__buy", json.RawMessage(fmt.Sprintf(`{"item":%s}`, []string{`"x"`, `1`}[i%2])))
		})
	}
	wg.Wait()
	seen := map[int]bool{}
	status := map[bridge.Status]int{}
	for _, r := range recorded {
		seen[r.Seq] = true
		status[r.Status]++
	}
	if len(seen) != 20 || status[bridge.StatusOK] != 10 || status[bridge.StatusError] != 10 {
		t.Errorf("%d different records, by status %v; want 20, ten of each", len(seen), status)
	}
	if got := b.Bytes(); got != 10*int64(len(`"ok"`)) {
		t.Errorf("Bytes() = %d, want 40", got)
	}
}

func TestRowsMergeTheCallsOfATool(t *testing.T) {
	rec := func(id string, s bridge.Status, us int, err string) bridge.Record {
		return bridge.Record{ID: id, Status: s, Duration: time.Duration(us) * time.Microsecond, Error: err}
	}
	got := bridge.Rows([]bridge.Record{
		rec("a", "ok", 400, ""), rec("a", "ok", 400, ""), rec("b", "ok", 2000, ""), rec("a", "ok", 500, ""), rec("a", "error", 100, "no x"), rec("b", "denied", 0, "no"),
		rec("a", "error", 3000, "no y"), rec("a", "ok", 200, ""), rec("a", "error", 500, "no x"), rec("c", "ok", 0, ""), rec("b", "ok", 1000, ""),
	})
	want := []bridge.Row{
		{Tool: "a", Status: "ok", MS: 2, N: 4}, {Tool: "b", Status: "ok", MS: 3, N: 2}, {Tool: "a", Status: "error", MS: 1, N: 2, Error: "no x"},
		{Tool: "b", Status: "denied", Error: "no"}, {Tool: "a", Status: "error", MS: 3, Error: "no y"}, {Tool: "c", Status: "ok"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	// Reads between reads of other calls, as in a loop of a script.
	var records []bridge.Record
	for range 12 {
		records = append(records, rec("files__read", "ok", 1000, ""), rec("files__stat", "ok", 1000, ""))
	}
	if rows := bridge.Rows(records); len(rows) != 2 || rows[0].N != 12 || rows[1].N != 12 || rows[0].MS != 12 {
		t.Errorf("24 calls in turn are %+v, want two rows", rows)
	}
	if b, err := json.Marshal(bridge.Rows(nil)); err != nil || string(b) != "[]" {
		t.Errorf("no calls are %s, %v; want []", b, err)
	}
}

// Bridges that share a budget make no more calls together than it has, and no
// more at one time.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := bridge.NewBudget(10, 2)
		var mu sync.Mutex
		running, most, made := 0, 0, 0
		o := bridge.Options{Resolve: resolve, Budget: budget, Caller: bridge.CallerFunc(func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) {
			mu.Lock()
			running++
			made++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return json.RawMessage(`{"content":[]}`), nil
		})}
		refused := 0
		var wg sync.WaitGroup
		for _, b := range []*bridge.Bridge{bridge.New(o), bridge.New(o)} {
			for range 8 {
				wg.Go(func() {
					_, err := b.Call(t.Context(), "shop__open", nil)
					if e, ok := errors.AsType[*bridge.Error](err); ok && e.Code == bridge.CodeCallLimit && e.Tool == "shop__open" {
						mu.Lock()
						refused++
						mu.Unlock()
					}
				})
			}
		}
		wg.Wait()
		if made != 10 || most != 2 || refused != 6 {
			t.Errorf("%d calls made, %d at one time, %d refused; want 10, 2, 6", made, most, refused)
		}
		full := bridge.NewBudget(10, 0) // no place ever
		o.Budget = full
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b := bridge.New(o)
		if _, err := b.Call(ctx, "shop__open", nil); err == nil || len(b.Records()) != 1 {
			t.Errorf("a call that waited in vain: %v, %d records", err, len(b.Records()))
		}
	})
}

// What a tool says of its failure is in tools_called too, where nobody asked for
// all of it.
func TestRowsAreBounded(t *testing.T) {
	var n int
	b := bridge.New(bridge.Options{
		Resolve: func(_ context.Context, name string) (*discovery.Tool, error) {
			if n++; n%2 == 0 {
				return nil, &bridge.Error{Code: bridge.CodeUnknownTool, Message: "unknown tool " + name}
			}
			return &discovery.Tool{ID: fmt.Sprintf("s__t%d", n), Server: "s"}, nil
		},
		Caller: bridge.CallerFunc(func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) {
			return nil, errors.New("bad\u202e\x1b[31m\nhint: obey " + strings.Repeat("x", 1<<20))
		}),
	})
	for range 100 {
		if _, err := b.Call(t.Context(), strings.Repeat("name\u200b ", 60), nil); err == nil {
			t.Fatal("the call succeeds")
		}
	}
	rows := bridge.Rows(b.Records())
	calls, size := 0, 0
	for _, r := range rows {
		calls += max(r.N, 1)
		size += len(r.Tool) + len(r.Error)
		if gate.Hides(r.Tool+r.Error) || strings.Contains(r.Tool, "\n") || strings.Contains(r.Error, "\nhint") {
			t.Errorf("row %+q: %+q", r.Tool, r.Error)
		}
	}
	if calls != 100 || size > 7000 {
		t.Errorf("%d calls in %d rows with %d bytes, want 100 in at most 7000 bytes", calls, len(rows), size)
	}
	if last := rows[len(rows)-1]; last.Tool != "…" || last.Status != bridge.StatusError {
		t.Errorf("the last row is %+v", last)
	}
}

// The approver sees tokens, and the server gets their values.
func TestApprovalShowsTokens(t *testing.T) {
	for args, revealed := range map[string]string{`{"a":"«email:1·abcdef»"}`: `{"a":"ann@acme.com"}`, `{"a":"«secret:2·abcdef» and x"}`: `{"a":"hunter2 and x"}`, `{"a":"plain"}`: ``} {
		var shown, sent string
		b := bridge.New(bridge.Options{Resolve: resolve, Policy: asking{},
			Caller: bridge.CallerFunc(func(_ context.Context, _, _ string, args json.RawMessage) (json.RawMessage, error) {
				sent = string(args)
				return json.RawMessage(`{"content":[]}`), nil
			}),
			Reveal: func(_ *discovery.Tool, args json.RawMessage) (json.RawMessage, error) {
				if revealed == "" {
					return args, nil
				}
				return json.RawMessage(revealed), nil
			},
			Approve: func(_ context.Context, _ *discovery.Tool, args json.RawMessage, _ policy.Decision) (bool, error) {
				shown = string(args)
				return true, nil
			}})
		_, err := b.Call(t.Context(), "shop__open", json.RawMessage(args))
		want := revealed
		if want == "" {
			want = args
		}
		if err != nil || shown != args || sent != want {
			t.Errorf("%s: shown %s, sent %s, %v", args, shown, sent, err)
		}
	}
}

// asking is a policy that asks about everything.
type asking struct{}

func (asking) Decide(policy.Call) policy.Decision {
	return policy.Decision{Effect: policy.Ask, Code: "rule", Reason: "needs a look"}
}
