package surface

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// drip sends a request whose body never arrives, and returns the first line of the
// response, or "" if the connection is closed.
func drip(t *testing.T, url, head string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, head+" HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		t.Errorf("%s is neither answered nor ended", head)
	}
	return answer
}

// A body that does not arrive ends its request; a long response is not interrupted.
func TestBodiesHaveADeadline(t *testing.T) {
	const limit = 100 * time.Millisecond
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			http.Error(w, "the body did not come", http.StatusRequestTimeout)
			return
		}
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			t.Error("an answer ends with the deadline of its request")
		case <-time.After(3 * limit):
			_, _ = io.WriteString(w, "all of it")
		}
	})
	s := New(Options{Mode: ModeCode}, slog.New(slog.DiscardHandler))
	h, err := s.Handler(HTTPOptions{Addr: "127.0.0.1:0", API: api, bodyTime: limit})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	for _, head := range []string{"POST /mcp", "POST /api/skills", "PUT /api/skills", "DELETE /mcp"} {
		if answer := drip(t, srv.URL, head); answer != "" && !strings.HasPrefix(answer, "HTTP/1.1 4") {
			t.Errorf("%s: %s", head, answer)
		}
	}
	res, err := http.Post(srv.URL+"/api/skills", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || string(text) != "all of it" {
		t.Errorf("the answer is %q, %v", text, err)
	}
}
