package surface

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
)

// held makes a server wait at each notification/initialized until goOn is closed, so
// that later messages wait in the queue of the connection.
func held(goOn <-chan struct{}) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/initialized" {
				<-goOn
			}
			return next(ctx, method, req)
		}
	}
}

// largePing is a request of half a megabyte with ignored content.
func largePing(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"a":%q}}`, id, strings.Repeat("x", 512<<10))
}

const (
	waiting  = 40
	mayStay  = 4 << 20 // of 20 MiB
	stillHas = "of large messages that waited at one time, nothing stays"
)

// Large messages that waited at the same time are not kept after their answers, whether
// or not their client has waited for these.
func TestMessagesThatWaitedAreNotKept(t *testing.T) {
	for _, gone := range []bool{false, true} {
		goOn := make(chan struct{})
		s := New(Options{Mode: ModeCode, Observe: held(goOn)}, slog.New(slog.DiscardHandler))
		all := newHTTPSessions()
		d := &profileRouter{o: HTTPOptions{}, base: s, sessions: all, handlers: make(map[*Surface]http.Handler)}
		mux := http.NewServeMux()
		mux.Handle("/mcp", d)
		srv := httptest.NewServer(mux)
		_, id := postTo(t, srv.URL, "", "", hello("", ""))
		before := heap()
		postTo(t, srv.URL, "", id, initialized)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range waiting {
			wg.Go(func() {
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/mcp", strings.NewReader(largePing(100+i)))
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Accept", "application/json, text/event-stream")
				req.Header.Set(sessionHeader, id)
				if res, err := http.DefaultClient.Do(req); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
			})
		}
		eventually.True(t, "all wait", func() bool {
			all.mu.Lock()
			defer all.mu.Unlock()
			return all.byID[id].large == waiting
		})
		if gone {
			cancel()
			wg.Wait()
		}
		close(goOn)
		wg.Wait()
		cancel()
		http.DefaultClient.CloseIdleConnections()
		eventually.True(t, stillHas, func() bool { return int64(heap())-int64(before) < mayStay })
		if status, _ := postTo(t, srv.URL, "", id, ping); status != http.StatusOK {
			t.Errorf("the session answers %d", status)
		}
		srv.Close()
	}
}

// The same holds over stdio.
func TestLinesThatWaitedAreNotKept(t *testing.T) {
	goOn := make(chan struct{})
	s := New(Options{Mode: ModeCode, Observe: held(goOn)}, slog.New(slog.DiscardHandler))
	theirIn, ourOut := io.Pipe()
	ourIn, theirOut := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- ServeLines(t.Context(), s.Server("test"), Peer{}, theirIn, theirOut) }()
	answers := bufio.NewReader(ourIn)
	answer := func() (m struct{ ID any }) {
		line, err := answers.ReadBytes('\n')
		if err != nil || json.Unmarshal(line, &m) != nil {
			t.Fatalf("%s, %v", line, err)
		}
		return m
	}
	fmt.Fprintln(ourOut, hello("", ""))
	answer()
	before := heap()
	fmt.Fprintln(ourOut, initialized)
	for i := range waiting {
		fmt.Fprintln(ourOut, largePing(100+i))
	}
	close(goOn)
	for range waiting {
		answer()
	}
	eventually.True(t, stillHas, func() bool { return int64(heap())-int64(before) < mayStay })
	_ = ourOut.Close()
	<-done
}
