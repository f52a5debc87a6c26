package upstream

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and servers use them still

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var everything = questions.Capabilities{Form: true, URL: true, Sampling: true, SamplingTools: true, Roots: true}

// promises is what a pool promises that is asked everything but roots, which is
// how the broker has it.
func promises() *Options {
	return &Options{Capabilities: questions.Capabilities{Form: true, URL: true, Sampling: true, SamplingTools: true}}
}

// A person is a Talker whose answers are a function.
type person struct {
	can    questions.Capabilities
	answer func(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error)

	mu    sync.Mutex
	asked []string
	pages chan string
}

func newPerson(can questions.Capabilities) *person {
	return &person{can: can, answer: agree, pages: make(chan string, 1)}
}

func (p *person) Capabilities() questions.Capabilities { return p.can }

func (p *person) Answer(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
	p.mu.Lock()
	if e, ok := q.(*mcp.ElicitParams); ok {
		p.asked = append(p.asked, e.Message+e.URL)
	} else {
		p.asked = append(p.asked, fmt.Sprintf("%T", q))
	}
	p.mu.Unlock()
	return p.answer(ctx, q)
}

func (p *person) PageDone(id string) { p.pages <- id }

// agree answers everything.
func agree(_ context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
	switch q := q.(type) {
	case *mcp.ElicitParams:
		if q.URL != "" {
			return &mcp.ElicitResult{Action: "accept"}, nil
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
	case *mcp.CreateMessageWithToolsParams:
		return &mcp.CreateMessageWithToolsResult{Model: "m", Role: "assistant", Content: []mcp.Content{&mcp.TextContent{Text: "a poem"}}}, nil
	}
	return &mcp.ListRootsResult{Roots: []*mcp.Root{{URI: "file:///work"}}}, nil
}

// eras runs f with a server of each protocol era.
func eras(t *testing.T, f func(t *testing.T, p *Pool)) {
	for _, mode := range []fakeupstream.Mode{fakeupstream.Asks, fakeupstream.AsksLegacy} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			p := newPool(t, promises(), fake("s", mode))
			p.Refresh(t.Context())
			want := modernSince
			if mode == fakeupstream.AsksLegacy {
				want = legacyVersion
			}
			if got := p.Listings()[0].Protocol; got != want {
				t.Fatalf("the server speaks %s, want %s", got, want)
			}
			f(t, p)
		})
	}
}

func TestQuestionsAreAnswered(t *testing.T) {
	eras(t, func(t *testing.T, p *Pool) {
		for _, tt := range []struct{ tool, asked, answer string }{
			{"form", "Server \"s\" asks:\n> Your name?", `{"action":"accept","content":{"name":"Ada"}}`},
			{"page", "Server \"s\" asks you to open a page of pay.example:\n> Please payhttps://pay.example/1", `{"action":"accept"}`},
			{"sampling", "*mcp.CreateMessageWithToolsParams", "a poem"},
			{"sampling_tools", "*mcp.CreateMessageWithToolsParams", "a poem"},
			{"roots", "*mcp.ListRootsParams", "file:///work"},
		} {
			who := newPerson(everything)
			got, err := p.Call(t.Context(), "s", tt.tool, nil, &CallOptions{Talker: who})
			if err != nil {
				t.Errorf("%s: %v", tt.tool, err)
				continue
			}
			if text := textOf(t, got); !strings.Contains(text, tt.answer) {
				t.Errorf("%s: the server got %s, want %s in it", tt.tool, text, tt.answer)
			}
			if diff := cmp.Diff([]string{tt.asked}, who.asked); diff != "" {
				t.Errorf("%s: asked (-want +got):\n%s", tt.tool, diff)
			}
		}
	})
}

func TestDeclineAndCancelReachTheServer(t *testing.T) {
	eras(t, func(t *testing.T, p *Pool) {
		for _, action := range []string{"decline", "cancel"} {
			who := newPerson(everything)
			who.answer = func(context.Context, mcp.InputRequest) (mcp.InputResponse, error) {
				return &mcp.ElicitResult{Action: action}, nil
			}
			got, err := p.Call(t.Context(), "s", "form", nil, &CallOptions{Talker: who})
			if err != nil || !strings.Contains(textOf(t, got), action) {
				t.Errorf("%s: result %s, %v", action, got, err)
			}
		}
	})
}

func TestTwoQuestionsOfOneCall(t *testing.T) {
	eras(t, func(t *testing.T, p *Pool) {
		who := newPerson(everything)
		got, err := p.Call(t.Context(), "s", "twice", nil, &CallOptions{Talker: who})
		if err != nil || strings.Count(textOf(t, got), "Ada") != 2 || len(who.asked) != 2 {
			t.Errorf("result %s, %v; asked %q", got, err, who.asked)
		}
	})
}

func TestUnansweredQuestionsFailTheCall(t *testing.T) {
	eras(t, func(t *testing.T, p *Pool) {
		mute := newPerson(everything)
		mute.answer = func(context.Context, mcp.InputRequest) (mcp.InputResponse, error) {
			return nil, errors.New("nobody is there")
		}
		liar := newPerson(everything)
		liar.answer = func(context.Context, mcp.InputRequest) (mcp.InputResponse, error) {
			return &mcp.ListRootsResult{}, nil
		}
		for _, tt := range []struct {
			name, tool string
			o          *CallOptions
			says       []string
		}{
			{"no caller", "form", nil, []string{"form", "Your name?", "elicitation.form"}},
			{"no forms", "form", &CallOptions{Talker: newPerson(questions.Capabilities{URL: true})}, []string{"elicitation.form"}},
			{"no pages", "page", &CallOptions{Talker: newPerson(questions.Capabilities{Form: true})}, []string{"https://pay.example/1", "elicitation.url"}},
			{"no model", "sampling", &CallOptions{Talker: newPerson(questions.Capabilities{})}, []string{"model", "capability sampling"}},
			{"no tools for it", "sampling_tools", &CallOptions{Talker: newPerson(questions.Capabilities{Sampling: true})}, []string{"sampling.tools"}},
			{"no roots", "roots", &CallOptions{Talker: newPerson(questions.Capabilities{})}, []string{"roots"}},
			{"nobody answers", "form", &CallOptions{Talker: mute}, []string{"Your name?", "but nobody is there"}},
			{"a wrong answer", "form", &CallOptions{Talker: liar}, []string{"another kind"}},
		} {
			_, err := p.Call(t.Context(), "s", tt.tool, nil, tt.o)
			input, ok := errors.AsType[*InputError](err)
			if !ok {
				t.Errorf("%s: %v, want an InputError", tt.name, err)
				continue
			}
			for _, say := range tt.says {
				if !strings.Contains(input.Error(), say) {
					t.Errorf("%s: %q does not say %q", tt.name, input, say)
				}
			}
		}
		if _, err := p.Call(t.Context(), "s", "sampling", nil, &CallOptions{Talker: newPerson(everything)}); err != nil {
			t.Errorf("the server is of no use afterwards: %v", err)
		}
	})
}

func TestEndlessQuestionsEnd(t *testing.T) {
	p := newPool(t, promises(), fake("s", fakeupstream.Asks))
	who := newPerson(everything)
	_, err := p.Call(t.Context(), "s", "forever", nil, &CallOptions{Talker: who})
	if err == nil || len(who.asked) > link.MaxQuestions {
		t.Errorf("err = %v after %d questions", err, len(who.asked))
	}
}

// A server that can do without the answer is believed.
func TestServerThatGoesOnWithoutAnswer(t *testing.T) {
	p := newPool(t, promises(), fake("s", fakeupstream.AsksLegacy))
	got, err := p.Call(t.Context(), "s", "stubborn", nil, nil)
	if err != nil || textOf(t, got) != "went on" {
		t.Errorf("result %s, %v", got, err)
	}
}

// A server that was promised nothing refuses by itself; the script hears the
// same as when the broker does.
func TestServerThatKnowsItMayNotAsk(t *testing.T) {
	p := newPool(t, nil, fake("s", fakeupstream.AsksLegacy))
	_, err := p.Call(t.Context(), "s", "form", nil, nil)
	if input, ok := errors.AsType[*InputError](err); !ok || !strings.Contains(input.Error(), "elicitation") {
		t.Errorf("err = %v", err)
	}
}

// While a person thinks, neither the server's time nor the caller's runs.
func TestQuestionStopsTheClocks(t *testing.T) {
	eras(t, func(t *testing.T, p *Pool) {
		s := p.roster.Load().servers[0]
		s.mu.Lock()
		s.cfg.CallTimeout = time.Second
		s.mu.Unlock()
		who := newPerson(everything)
		paused, resumed := make(chan bool, 1), make(chan bool, 1)
		who.answer = func(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
			if len(paused) != 1 || len(resumed) != 0 {
				t.Error("the caller's clock runs")
			}
			thinking := time.NewTimer(1500 * time.Millisecond)
			<-thinking.C
			return agree(ctx, q)
		}
		_, err := p.Call(t.Context(), "s", "form", nil, &CallOptions{Talker: who, Pause: func() func() {
			paused <- true
			return func() { resumed <- true }
		}})
		if err != nil || len(resumed) != 1 {
			t.Errorf("%v; resumed %d times", err, len(resumed))
		}
	})
}

func TestQuestionEndsWithItsCall(t *testing.T) {
	eras(t, func(t *testing.T, p *Pool) {
		ctx, cancel := context.WithCancel(t.Context())
		who, ended := newPerson(everything), make(chan error, 1)
		who.answer = func(ctx context.Context, _ mcp.InputRequest) (mcp.InputResponse, error) {
			cancel()
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}
		if _, err := p.Call(ctx, "s", "form", nil, &CallOptions{Talker: who}); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
		if err := <-ended; err == nil {
			t.Error("the question has not ended")
		}
	})
}

// In the older protocols a question does not say which call it belongs to.
func TestQuestionIsNeverPutToSomebodyElse(t *testing.T) {
	p := newPool(t, promises(), fake("s", fakeupstream.AsksLegacy))
	ann, bob := newPerson(everything), newPerson(everything)
	asked, leave := make(chan bool), make(chan bool)
	ann.answer = func(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
		asked <- true
		<-leave
		return agree(ctx, q)
	}
	anns := make(chan error, 1)
	call := func(who *person, caller any) error {
		_, err := p.Call(t.Context(), "s", "form", nil, &CallOptions{Talker: who, Caller: caller})
		return err
	}
	go func() { anns <- call(ann, "ann") }()
	<-asked // and her call stays under way
	err := call(bob, "bob")
	if input, ok := errors.AsType[*InputError](err); !ok || !input.Retry || !strings.Contains(err.Error(), "several clients") || len(bob.asked) > 0 {
		t.Errorf("bob's call: %v; he was asked %q", err, bob.asked)
	}
	// Her own second call may ask her.
	go func() { anns <- call(ann, "ann") }()
	<-asked
	close(leave)
	for range 2 {
		if err := <-anns; err != nil {
			t.Errorf("ann's call: %v", err)
		}
	}
	if err := call(bob, "bob"); err != nil || len(bob.asked) != 1 {
		t.Errorf("bob's call alone: %v, asked %q", err, bob.asked)
	}
}

// In the newer one it does.
func TestQuestionsOfSeveralCallersAtOnce(t *testing.T) {
	p := newPool(t, promises(), fake("s", fakeupstream.Asks))
	var wg, here sync.WaitGroup
	here.Add(3)
	for i := range 3 {
		wg.Go(func() {
			who := newPerson(everything)
			who.answer = func(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
				here.Done()
				here.Wait() // until all are being asked
				return agree(ctx, q)
			}
			args := json.RawMessage(fmt.Sprintf(`{"message":" (%d)"}`, i))
			_, err := p.Call(t.Context(), "s", "form", args, &CallOptions{Talker: who, Caller: i})
			if want := fmt.Sprintf("Server \"s\" asks:\n> Your name? (%d)", i); err != nil || len(who.asked) != 1 || who.asked[0] != want {
				t.Errorf("%v; asked %q, want %q", err, who.asked, want)
			}
		})
	}
	wg.Wait()
}

func TestPagesThatComeFirst(t *testing.T) {
	p := newPool(t, promises(), fake("s", fakeupstream.AsksLegacy))
	who := newPerson(everything)
	_, err := p.Call(t.Context(), "s", "pages_first", nil, &CallOptions{Talker: who})
	if input, ok := errors.AsType[*InputError](err); !ok || !input.Retry || !strings.Contains(err.Error(), "https://sign.example/in") || len(who.asked) != 1 {
		t.Errorf("%v; asked %q", err, who.asked)
	}
	if _, err := p.Call(t.Context(), "s", "page_done", json.RawMessage(`{"id":"p2"}`), nil); err != nil {
		t.Fatal(err)
	}
	if id := <-who.pages; id != "s/p2" {
		t.Errorf("page %q is done", id)
	}
}

func TestProgressAndLogReachTheCaller(t *testing.T) {
	eras(t, func(t *testing.T, p *Pool) {
		progress, log := make(chan string, 1), make(chan string, 1)
		_, err := p.Call(t.Context(), "s", "narrated", nil, &CallOptions{
			Talker:     newPerson(everything),
			OnProgress: func(n, total float64, m string) { progress <- fmt.Sprint(n, "/", total, " ", m) },
			OnLog:      func(level, text string) { log <- level + " " + text },
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := <-progress; got != "3/7 half way" {
			t.Errorf("progress %q", got)
		}
		if got := <-log; got != "warning asks: disk is full" {
			t.Errorf("log %q", got)
		}
		if lines := p.roster.Load().servers[0].out.Stderr.Lines(); len(lines) != 1 || lines[0] != "[warning] asks: disk is full" {
			t.Errorf("kept %q", lines)
		}
	})
}
