package host

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A server that ends finishes the requests that run, does not wait for streams of
// news, and takes nothing more meanwhile. Requests that take too long are canceled.
func TestDrain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		limit   time.Duration
		release bool
		want    string
	}{
		{"a request finishes", time.Hour, true, "finished"},
		{"a request takes too long", time.Millisecond, false, "canceled"},
		{"no request may finish", 0, false, "canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			began, release := make(chan struct{}, 3), make(chan struct{})
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				began <- struct{}{}
				end := release
				if r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == "subscriptions/listen" {
					end = nil
				}
				select {
				case <-end:
					_, _ = io.WriteString(w, "finished")
				case <-r.Context().Done():
					_, _ = io.WriteString(w, "canceled")
				}
			})
			ctx, stop := context.WithCancel(t.Context())
			waits, served := make(chan int, 1), make(chan error, 1)
			go func() {
				served <- Serve(ctx, l, handler, ServeOptions{Limit: tt.limit, Waiting: func(n int) { waits <- n }})
			}()
			url, answers := "http://"+l.Addr().String(), make(chan string, 1)
			client := &http.Client{Transport: &http.Transport{}}
			ask := func(method, mcpMethod string, answer chan<- string) {
				req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, strings.NewReader(""))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Mcp-Method", mcpMethod)
				go func() {
					text := ""
					if resp, err := client.Do(req); err == nil {
						body, _ := io.ReadAll(resp.Body)
						resp.Body.Close()
						text = string(body)
					}
					answer <- text
				}()
				<-began
			}
			streams := make(chan string, 2)
			ask("GET", "", streams)
			ask("POST", "subscriptions/listen", streams)
			ask("POST", "tools/call", answers)

			stop()
			if tt.limit > 0 {
				if n := <-waits; n != 1 {
					t.Errorf("waits for %d requests, want the one that is no stream", n)
				}
			}
			if tt.release {
				for { // the listener is closed right after
					c, err := net.Dial("tcp", l.Addr().String())
					if err != nil {
						break
					}
					c.Close()
				}
				close(release)
			}
			if got := <-answers; got != tt.want {
				t.Errorf("the request was %q, want %q", got, tt.want)
			}
			for range 2 {
				if got := <-streams; got == "finished" {
					t.Error("a stream waited for its end")
				}
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}
