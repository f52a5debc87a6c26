package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
)

func TestRateLimitsAreTyped(t *testing.T) {
	reset := time.Now().Add(90 * time.Second).Unix()
	for message, want := range map[string]time.Duration{
		"rate limited, retry after 1 s": time.Second,
		"Rate limit exceeded. Please try again in 20s. Visit https://x.example for more": 20 * time.Second,
		"429 Too Many Requests": 0,
		"Quota exceeded for quota metric 'Read requests'; please retry in 31.5s.": 31500 * time.Millisecond,
		"You have exceeded your current request quota. Try again after 3 s":       3 * time.Second,
		"Daily limit reached: please try again in 2 hours":                        2 * time.Hour,
		"too many API calls":                        0,
		"HTTP 429: slow down (retry after 7 s)":     7 * time.Second,
		"API rate limit exceeded for user ID 12345": 0,
		"You have exceeded a secondary rate limit. Please wait 2 minutes before you try again.":    2 * time.Minute,
		`{"error":{"code":429,"message":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"17.5s"}]}}`: 17500 * time.Millisecond,
		`{"ok":false,"error":"ratelimited","retry_after":30}`:                                      30 * time.Second,
		`{"error":"rate_limited","retryAfterMs":1500}`:                                             1500 * time.Millisecond,
		"ThrottlingException: Rate exceeded":                                                       0,
		"Too many requests; Retry-After: 5":                                                        5 * time.Second,
		"Rate limit reached for gpt: try again in 2m30s":                                           150 * time.Second,
		"too many requests, retry after 9999999 hours":                                             24 * time.Hour,
		fmt.Sprintf("rate limit exceeded; retry after %d", reset):                                  90 * time.Second,
		"rate-limited: quota resets in 1 hour":                                                     time.Hour,
	} {
		b := bridge.New(bridge.Options{Resolve: resolve, Caller: answering(`{"isError":true,"content":[` + text(message) + `]}`)})
		_, err := b.Call(t.Context(), "shop__open", nil)
		e, ok := errors.AsType[*bridge.Error](err)
		if !ok || e.Code != bridge.CodeRateLimited || e.MayHaveRun || e.Hint == "" || e.Message != message {
			t.Errorf("%q: %+v", message, err)
			continue
		}
		if got := time.Duration(e.RetryAfterMS) * time.Millisecond; got < want-2*time.Second*min(want/time.Minute, 1) || got > want {
			t.Errorf("%q: wait %v, want %v", message, got, want)
		}
	}
	for _, message := range []string{
		"issue 429 not found", "no such file: rate_limits.md", "the rate limit of this plan cannot be changed", "error: 4290 rows", "limited rates apply", "retry after 5 s", "storage quota exceeded: delete files and try again", "the result has too many rows", "HTTP 500: retry in 10 s",
		"timeout after 30 seconds", "",
	} {
		b := bridge.New(bridge.Options{Resolve: resolve, Caller: answering(`{"isError":true,"content":[` + text(message) + `]}`)})
		_, err := b.Call(t.Context(), "shop__open", nil)
		if e, ok := errors.AsType[*bridge.Error](err); !ok || e.Code != bridge.CodeTool || e.Retryable || e.RetryAfterMS != 0 {
			t.Errorf("%q: %+v", message, err)
		}
	}
}

// The bridge repeats only a read-only call, once, if the server said how long to wait
// and there is time.
func TestReadsAreRetriedOnce(t *testing.T) {
	limited := func(wait string) string {
		return `{"isError":true,"content":[` + text("rate limited, retry after "+wait) + `]}`
	}
	for _, c := range []struct {
		name, tool, first, second string
		limit                     time.Duration
		sent                      int
		took                      time.Duration
		fails                     bool
	}{
		{"a read", "get_item", limited("2 s"), `{"content":[]}`, time.Minute, 2, 2 * time.Second, false},
		{"a read that is limited again", "get_item", limited("2 s"), limited("2 s"), time.Minute, 2, 2 * time.Second, true},
		{"a read whose server is lost", "get_item", limited("2 s"), "", time.Minute, 2, 2 * time.Second, true},
		{"a read without a time", "get_item", `{"isError":true,"content":[` + text("too many requests") + `]}`, "", time.Minute, 1, 0, true},
		{"a read with a long time", "get_item", limited("60 s"), "", time.Hour, 1, 0, true},
		{"a read without the time for it", "get_item", limited("5 s"), "", 5 * time.Second, 1, 0, true},
		{"a write", "buy", limited("1 s"), "", time.Minute, 1, 0, true},
		{"a tool of which nobody knows", "frobnicate", limited("1 s"), "", time.Minute, 1, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tools := discovery.NewCatalog([]discovery.Listing{{Server: "shop", Tools: []discovery.ListedTool{{Name: "get_item"}, {Name: "buy"}, {Name: "frobnicate"}}}})
				sent, started := 0, time.Now()
				var recorded bridge.Record
				b := bridge.New(bridge.Options{
					Record: func(r bridge.Record) { recorded = r },
					Resolve: func(_ context.Context, name string) (*discovery.Tool, error) {
						tool, _ := tools.Tool(name)
						return tool, nil
					},
					Caller: bridge.CallerFunc(func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) {
						if sent++; sent == 1 {
							return json.RawMessage(c.first), nil
						}
						if c.second == "" {
							return nil, errors.New("the connection was lost")
						}
						return json.RawMessage(c.second), nil
					}),
				})
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				_, err := b.Call(ctx, "shop__"+c.tool, nil)
				if sent != c.sent || time.Since(started) != c.took || (err != nil) != c.fails || len(b.Records()) != 1 {
					t.Errorf("sent %d times in %v, %v; %d records", sent, time.Since(started), err, len(b.Records()))
				}
				if last := map[bool]string{false: c.first, true: c.second}[sent == 2]; string(recorded.Result) != last {
					t.Errorf("the record has the result %s, want that of the last time: %s", recorded.Result, last)
				}
			})
		})
	}
}

// Only a refused request is known not to have run: a text about a rate limit may be about
// the last of several steps of a tool that writes.
func TestTextsAboutLimitsDoNotRepeatWrites(t *testing.T) {
	tools := discovery.NewCatalog([]discovery.Listing{{Server: "shop", Tools: []discovery.ListedTool{{Name: "get_item"}, {Name: "buy"}, {Name: "delete_all"}, {Name: "frobnicate"}}}})
	refused := &bridge.Error{Code: bridge.CodeProtocol, Message: "HTTP 429"}
	refused.RateLimited(0)
	for _, c := range []struct {
		tool, text string
		failure    *bridge.Error
		retryable  bool
	}{
		{"get_item", "too many requests", nil, true},
		{"buy", "too many requests", nil, false},
		{"delete_all", "rate limit exceeded after 3 of 10 items", nil, false},
		{"frobnicate", `{"error":"rate_limited"}`, nil, false},
		{"buy", "", refused, true},
		{"delete_all", "", refused, true},
	} {
		failure := c.failure
		b := bridge.New(bridge.Options{
			Resolve: func(_ context.Context, name string) (*discovery.Tool, error) {
				tool, _ := tools.Tool(name)
				return tool, nil
			},
			Caller: bridge.CallerFunc(func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) {
				if failure != nil {
					return nil, failure
				}
				return json.RawMessage(`{"isError":true,"content":[` + text(c.text) + `]}`), nil
			}),
		})
		_, err := b.Call(t.Context(), "shop__"+c.tool, nil)
		e, ok := errors.AsType[*bridge.Error](err)
		if !ok || e.Code != bridge.CodeRateLimited || e.Retryable != c.retryable || e.Hint == "" {
			t.Errorf("%s, %q: %+v", c.tool, c.text, err)
		}
	}
}
