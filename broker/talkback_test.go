package broker_test

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and servers use them still

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// versions are the protocol versions of clients that are tested: one of each
// era.
var versions = []string{"2025-11-25", "2026-07-28"}

// asking is a broker with a server "asks" of the given mode.
func asking(t *testing.T, mode fakeupstream.Mode, d broker.Deps, s broker.Settings) *broker.Broker {
	t.Helper()
	s.Servers = []upstream.Config{{Name: "asks", Command: fakeupstream.Command(), Args: fakeupstream.Args(mode)}}
	b := newBroker(t, d, s)
	b.Refresh(t.Context())
	return b
}

// combinations runs f with both eras on both sides.
func combinations(t *testing.T, f func(t *testing.T, b *broker.Broker, version string)) {
	for _, mode := range []fakeupstream.Mode{fakeupstream.Asks, fakeupstream.AsksLegacy} {
		for _, version := range versions {
			t.Run(fmt.Sprintf("server %s, client %s", mode, version), func(t *testing.T) {
				t.Parallel()
				f(t, asking(t, mode, broker.Deps{}, broker.Settings{}), version)
			})
		}
	}
}

type elicitation = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)

// user is a client that can be asked everything. Forms are answered by f.
func user(f elicitation) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			RootsV2:     &mcp.RootCapabilities{},
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
		},
		ElicitationHandler: func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if req.Params.URL != "" {
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			return f(ctx, req)
		},
		CreateMessageWithToolsHandler: func(context.Context, *mcp.CreateMessageWithToolsRequest) (*mcp.CreateMessageWithToolsResult, error) {
			return &mcp.CreateMessageWithToolsResult{Model: "m", Role: "assistant", Content: []mcp.Content{&mcp.TextContent{Text: "a poem"}}}, nil
		},
	}
}

func named(name string) elicitation {
	return func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": name}}, nil
	}
}

// script runs code through the client and returns what the model gets.
func script(t *testing.T, cs *mcp.ClientSession, code string, args map[string]any) broker.ExecuteAnswer {
	t.Helper()
	all := map[string]any{"code": code}
	maps.Copy(all, args)
	text, _ := call(t, cs, "execute_code", all)
	return answerOf(t, text)
}

func answerOf(t *testing.T, text string) broker.ExecuteAnswer {
	t.Helper()
	var a broker.ExecuteAnswer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("answer %.300s: %v", text, err)
	}
	return a
}

func TestServersAskTheClientThatSentTheScript(t *testing.T) {
	combinations(t, func(t *testing.T, b *broker.Broker, version string) {
		cs := connect(t, b, version, user(named("Ada")))
		a := script(t, cs, `return [await asks.form({}), await asks.page({}), await asks.sampling({}), await asks.samplingTools({})]`, nil)
		for _, want := range []string{`"name":"Ada"`, `"accept"`, "a poem"} {
			if a.ExitCode != 0 || !strings.Contains(string(a.Result), want) {
				t.Errorf("code %d, result %s, want %s in it; %s", a.ExitCode, a.Result, want, a.Stderr)
			}
		}
		if a := script(t, cs, `return await asks.roots({})`, nil); a.ExitCode != 0 || !strings.Contains(string(a.Result), "roots") {
			t.Errorf("roots: %+v", a)
		}
	})
}

func TestDeclineAndCancelReachTheServer(t *testing.T) {
	combinations(t, func(t *testing.T, b *broker.Broker, version string) {
		for _, action := range []string{"decline", "cancel"} {
			cs := connect(t, b, version, user(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: action}, nil
			}))
			a := script(t, cs, `return await asks.form({})`, nil)
			if a.ExitCode != 0 || !strings.Contains(string(a.Result), action) {
				t.Errorf("%s: %+v", action, a)
			}
		}
	})
}

func TestClientThatCannotBeAskedIsAnException(t *testing.T) {
	combinations(t, func(t *testing.T, b *broker.Broker, version string) {
		cs := connect(t, b, version, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
		a := script(t, cs, `const out = [];
for (const f of [asks.form, asks.page, asks.sampling, asks.roots])
  try { await f({}); out.push("answered") } catch (e) { out.push([e.name, e.code, e.server, e.message, e.hint].join(" | ")) }
return out`, nil)
		var got []string
		if err := json.Unmarshal(a.Result, &got); err != nil || len(got) != 4 {
			t.Fatalf("%+v", a)
		}
		for i, want := range []string{"form", "https://pay.example/1", "model", "roots"} {
			if !strings.HasPrefix(got[i], "ToolError | needs_input | asks | call asks/") || !strings.Contains(got[i], want) || !strings.Contains(got[i], "capability") {
				t.Errorf("%s: %s", want, got[i])
			}
		}
	})
}

// The client answers later than the script's whole time.
func TestWaitingForAPersonCostsTheScriptNoTime(t *testing.T) {
	combinations(t, func(t *testing.T, b *broker.Broker, version string) {
		const limit = 3 * time.Second
		cs := connect(t, b, version, user(func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			thinking := time.NewTimer(limit + limit/10)
			<-thinking.C
			return named("Ada")(ctx, req)
		}))
		a := script(t, cs, `return await asks.form({})`, map[string]any{"timeout": limit.Seconds()})
		if a.ExitCode != 0 || !strings.Contains(string(a.Result), "Ada") {
			t.Errorf("%+v", a)
		}
	})
}

// Two clients, one server, at the same time: each is asked for its own call.
func TestEachClientGetsItsOwnQuestion(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			b := asking(t, fakeupstream.Asks, broker.Deps{}, broker.Settings{})
			var wg, here sync.WaitGroup
			here.Add(2)
			for _, name := range []string{"Ann", "Bob"} {
				cs := connect(t, b, version, user(func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					here.Done()
					here.Wait() // until both are being asked
					if want := "Server \"asks\" asks:\n> Your name? for " + name; req.Params.Message != want {
						t.Errorf("%s is asked %q", name, req.Params.Message)
					}
					return named(name)(ctx, req)
				}))
				wg.Go(func() {
					a := script(t, cs, fmt.Sprintf(`return await asks.form({ message: " for %s" })`, name), nil)
					if !strings.Contains(string(a.Result), name) {
						t.Errorf("%s gets %+v", name, a)
					}
				})
			}
			wg.Wait()
		})
	}
}

// A server of the older protocols does not say whose call its question is for.
func TestQuestionThatCouldBeForTwoClientsIsRefused(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			b := asking(t, fakeupstream.AsksLegacy, broker.Deps{}, broker.Settings{})
			asked, leave := make(chan bool), make(chan bool)
			ann := connect(t, b, version, user(func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked <- true
				<-leave
				return named("Ann")(ctx, req)
			}))
			bob := connect(t, b, version, user(func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				t.Error("bob is asked")
				return named("Bob")(ctx, req)
			}))
			anns := make(chan broker.ExecuteAnswer, 1)
			go func() { anns <- script(t, ann, `return await asks.form({})`, nil) }()
			<-asked
			a := script(t, bob, `try { await asks.form({}) } catch (e) { return [e.code, e.retryable, e.message] }`, nil)
			if !strings.Contains(string(a.Result), `["needs_input",true,`) || !strings.Contains(string(a.Result), "several clients") {
				t.Errorf("bob gets %+v", a)
			}
			close(leave)
			if a := <-anns; !strings.Contains(string(a.Result), "Ann") {
				t.Errorf("ann gets %+v", a)
			}
		})
	}
}

func TestQuestionsOverHTTP(t *testing.T) {
	for _, mode := range []fakeupstream.Mode{fakeupstream.Asks, fakeupstream.AsksLegacy} {
		for _, version := range versions {
			t.Run(fmt.Sprintf("server %s, client %s", mode, version), func(t *testing.T) {
				b := asking(t, mode, broker.Deps{}, broker.Settings{})
				handler, err := b.Handler(broker.HTTPOptions{Addr: "127.0.0.1:0"})
				if err != nil {
					t.Fatal(err)
				}
				srv := httptest.NewServer(handler)
				t.Cleanup(srv.Close)
				c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, user(named("Ada")))
				cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: srv.URL + "/mcp"}, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = cs.Close() })
				a := script(t, cs, `return [await asks.form({}), await asks.sampling({})]`, nil)
				if a.ExitCode != 0 || !strings.Contains(string(a.Result), "Ada") || !strings.Contains(string(a.Result), "a poem") {
					t.Errorf("%+v", a)
				}
			})
		}
	}
}

func TestClientThatGivesUpEndsTheQuestion(t *testing.T) {
	for _, mode := range []fakeupstream.Mode{fakeupstream.Asks, fakeupstream.AsksLegacy} {
		t.Run(string(mode), func(t *testing.T) {
			b := asking(t, mode, broker.Deps{}, broker.Settings{})
			ctx, cancel := context.WithCancel(t.Context())
			asked := make(chan context.Context, 1)
			cs := connect(t, b, "2025-11-25", user(func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked <- ctx
				<-ctx.Done()
				return nil, ctx.Err()
			}))
			failed := make(chan error, 1)
			go func() {
				_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": `await asks.form({})`}})
				failed <- err
			}()
			question := <-asked
			cancel()
			if err := <-failed; err == nil {
				t.Error("a cancelled call was answered")
			}
			<-question.Done() // the question is taken back
		})
	}
}

// ended is a logger, and a channel of the exit codes of scripts that ended.
func ended() (*slog.Logger, <-chan int64) {
	codes := make(chan int64, 16)
	return slog.New(endHandler{slog.DiscardHandler, codes}), codes
}

type endHandler struct {
	slog.Handler
	codes chan int64
}

func (endHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h endHandler) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if r.Message == "executed" && a.Key == "code" {
			h.codes <- a.Value.Int64()
		}
		return true
	})
	return nil
}
func (h endHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// rounds is a client of protocol 2026-07-28 that answers by hand.
func rounds() *mcp.ClientOptions {
	o := user(named("Ada"))
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	return o
}

func params(code string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": code}}
}

// firstRound sends code and wants so many questions for an answer.
func firstRound(t *testing.T, cs *mcp.ClientSession, code string, questions int) *mcp.CallToolResult {
	t.Helper()
	res, err := cs.CallTool(t.Context(), params(code))
	if err != nil || !res.NeedsInput() || len(res.InputRequests) != questions || res.RequestState == "" || len(res.Content) > 0 {
		t.Fatalf("first round: %+v, %v; want %d questions", res, err, questions)
	}
	return res
}

func answers(res *mcp.CallToolResult, name string) *mcp.CallToolParams {
	p := params("something else, which is not looked at")
	p.RequestState, p.InputResponses = res.RequestState, mcp.InputResponseMap{}
	for id := range res.InputRequests {
		p.InputResponses[id] = &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": name}}
	}
	return p
}

func TestScriptLivesOnBetweenTheRounds(t *testing.T) {
	b := asking(t, fakeupstream.Asks, broker.Deps{}, broker.Settings{})
	cs := connect(t, b, "2026-07-28", rounds())
	res := firstRound(t, cs, `let n = 1;
const both = await Promise.all([asks.form({}), asks.form({})]);
n++;
return [n, both, await asks.form({})]`, 2)
	res, err := cs.CallTool(t.Context(), answers(res, "Ada"))
	if err != nil || len(res.InputRequests) != 1 {
		t.Fatalf("second round: %+v, %v", res, err)
	}
	if res, err = cs.CallTool(t.Context(), answers(res, "Bea")); err != nil || len(res.Content) != 1 {
		t.Fatalf("third round: %+v, %v", res, err)
	}
	a := answerOf(t, res.Content[0].(*mcp.TextContent).Text)
	if !strings.HasPrefix(string(a.Result), "[2,") || strings.Count(string(a.Result), "Ada") != 2 || strings.Count(string(a.Result), "Bea") != 1 {
		t.Errorf("%+v", a)
	}
}

// A server that asks two things at once is one round for the client.
func TestQuestionsOfOneCallAreOneRound(t *testing.T) {
	b := asking(t, fakeupstream.Asks, broker.Deps{}, broker.Settings{})
	firstRound(t, connect(t, b, "2026-07-28", rounds()), `return await asks.twice({})`, 2)
}

func TestRequestStateWorksOnceAndForOneClient(t *testing.T) {
	b := asking(t, fakeupstream.Asks, broker.Deps{}, broker.Settings{})
	cs := connect(t, b, "2026-07-28", rounds())
	res := firstRound(t, cs, `return await asks.form({})`, 1)

	ct, st := mcp.NewInMemoryTransports()
	ss, err := b.Server("another").Connect(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, rounds()).Connect(t.Context(), ct, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close(); _ = ss.Wait() })
	if _, err := other.CallTool(t.Context(), answers(res, "Eve")); err == nil || !strings.Contains(err.Error(), "requestState") {
		t.Errorf("another client comes in: %v", err)
	}
	guess := answers(res, "Eve")
	guess.RequestState = "guess"
	if _, err := cs.CallTool(t.Context(), guess); err == nil {
		t.Error("a guess is taken")
	}
	// A session of its own is no matter: the client is the same.
	again := connect(t, b, "2026-07-28", rounds())
	done, err := again.CallTool(t.Context(), answers(res, "Ada"))
	if err != nil || !strings.Contains(done.Content[0].(*mcp.TextContent).Text, "Ada") {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := cs.CallTool(t.Context(), answers(res, "Ada")); err == nil || !strings.Contains(err.Error(), "run the script again") {
		t.Errorf("the state works twice: %v", err)
	}
}

func TestRoundWithoutAnswersIsAnException(t *testing.T) {
	b := asking(t, fakeupstream.Asks, broker.Deps{}, broker.Settings{})
	cs := connect(t, b, "2026-07-28", rounds())
	p := answers(firstRound(t, cs, `try { await asks.form({}) } catch (e) { return [e.code, e.message] }`, 1), "Ada")
	p.InputResponses = nil
	res, err := cs.CallTool(t.Context(), p)
	if err != nil || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "came back without an answer") {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestClientThatNeverComesBack(t *testing.T) {
	log, codes := ended()
	b := asking(t, fakeupstream.Asks, broker.Deps{Logger: log}, broker.Settings{AnswerTimeout: 50 * time.Millisecond})
	cs := connect(t, b, "2026-07-28", rounds())
	res := firstRound(t, cs, `try { await asks.form({}) } catch (e) { if (e.code === "needs_input" && e.message.includes("nobody answered")) throw "seen" }`, 1)
	if code := <-codes; code != 1 {
		t.Errorf("the script ended with %d, want 1: the exception that it threw", code)
	}
	if _, err := cs.CallTool(t.Context(), answers(res, "Ada")); err == nil {
		t.Error("an answer that came too late was taken")
	}
}

func TestClientThatNeverAnswers(t *testing.T) {
	b := asking(t, fakeupstream.Asks, broker.Deps{}, broker.Settings{AnswerTimeout: 50 * time.Millisecond})
	cs := connect(t, b, "2025-11-25", user(func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	a := script(t, cs, `try { await asks.form({}) } catch (e) { return [e.code, e.message] }`, nil)
	if !strings.Contains(string(a.Result), "needs_input") || !strings.Contains(string(a.Result), "nobody answered for 0.05 s") {
		t.Errorf("%+v", a)
	}
}

func TestClosingEndsPausedScripts(t *testing.T) {
	log, codes := ended()
	b, err := broker.New(broker.Deps{Logger: log, Runner: newRunner(t)}, broker.Settings{Servers: []upstream.Config{
		{Name: "asks", Command: fakeupstream.Command(), Args: fakeupstream.Args(fakeupstream.Asks)}}})
	if err != nil {
		t.Fatal(err)
	}
	b.Start(t.Context())
	firstRound(t, connect(t, b, "2026-07-28", rounds()), `await asks.form({})`, 1)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	select {
	case code := <-codes:
		if code == 0 {
			t.Error("the script ended well")
		}
	default:
		t.Error("Close has left the script")
	}
}

func TestProgressAndLogReachTheClient(t *testing.T) {
	combinations(t, func(t *testing.T, b *broker.Broker, version string) {
		var mu sync.Mutex
		var got []string
		last := make(map[any]float64)
		o := user(named("Ada"))
		o.ProgressNotificationHandler = func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, req.Params.Message)
			if token := req.Params.ProgressToken; req.Params.Progress <= last[token] {
				t.Errorf("progress %g after %g", req.Params.Progress, last[token])
			} else {
				last[token] = req.Params.Progress
			}
		}
		cs := connect(t, b, version, o)
		p := params(`return await asks.narrated({})`)
		p.SetProgressToken("t")
		if res, err := cs.CallTool(t.Context(), p); err != nil || res.IsError {
			t.Fatalf("%+v, %v", res, err)
		}
		for _, want := range []string{"call 1: asks__narrated", "asks.narrated: 3/7 half way", "asks [warning]: asks: disk is full"} {
			eventually(t, want, func() bool {
				mu.Lock()
				defer mu.Unlock()
				return slices.Contains(got, want)
			})
		}
	})
}
