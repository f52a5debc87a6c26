package surface

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// asClient returns a request with a body, of a client with a token.
func asClient(ctx context.Context, client string, size int, known bool) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(strings.Repeat("x", size)))
	if !known {
		r.ContentLength = -1
	}
	r.Header.Set("Authorization", "Bearer "+client)
	return r
}

// limited returns a handler behind l, with the owner of the token already known.
func limited(l *largeBodies, next http.HandlerFunc) http.Handler {
	return auth.RequireBearerToken(func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}, nil)(l.limit(next))
}

func TestLargeBodiesInFlightAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l largeBodies
		release := make(chan struct{})
		var mu sync.Mutex
		running := map[string]int{}
		h := limited(&l, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			running[clientOf(r)]++
			mu.Unlock()
			<-release
			_, _ = io.Copy(io.Discard, r.Body)
		})
		var sent sync.WaitGroup
		send := func(client string, size int, known bool) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			sent.Go(func() { h.ServeHTTP(w, asClient(t.Context(), client, size, known)) })
			return w
		}
		var answers []*httptest.ResponseRecorder
		for i := range 3 * largePlaces {
			answers = append(answers, send("greedy", largeBody+1, i%2 == 0)) // of known and unknown length
		}
		synctest.Wait()
		if running["greedy"] != largePlaces {
			t.Errorf("%d large requests of one client are read at a time, want %d", running["greedy"], largePlaces)
		}
		send("modest", largeBody+1, true)
		send("small", largeBody, true)
		send("none", 0, true)
		synctest.Wait()
		if running["modest"] != 1 || running["small"] != 1 || running["none"] != 1 {
			t.Errorf("other clients and small requests wait: %v", running)
		}
		time.Sleep(largeWait + time.Second) // fake time
		synctest.Wait()
		refused := 0
		for _, w := range answers {
			if w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") != "" {
				refused++
			}
		}
		if refused != 2*largePlaces {
			t.Errorf("%d requests are refused after %v, want %d", refused, largeWait, 2*largePlaces)
		}
		close(release)
		sent.Wait()
		running["greedy"] = 0
		for range largePlaces {
			send("greedy", 1<<20, true)
		}
		sent.Wait()
		if running["greedy"] != largePlaces {
			t.Errorf("%d of %d requests are read after the places are free", running["greedy"], largePlaces)
		}
	})
}

// A script that runs for minutes does not keep the slot of its request.
func TestPlacesEndSoonAfterTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l largeBodies
		h := limited(&l, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			time.Sleep(time.Minute)
		})
		var sent sync.WaitGroup
		codes := make(chan int, 3*largePlaces)
		for range 3 * largePlaces {
			sent.Go(func() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, asClient(t.Context(), "a", largeBody+1, true))
				codes <- w.Code
			})
		}
		begun := time.Now()
		sent.Wait()
		close(codes)
		for code := range codes {
			if code != http.StatusOK {
				t.Errorf("a request is answered with %d", code)
			}
		}
		if took := time.Since(begun); took > time.Minute+3*decodeTime {
			t.Errorf("all took %v", took)
		}
	})
}
