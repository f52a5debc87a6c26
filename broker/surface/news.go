package surface

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sendNews sends a client of an older protocol without a session the notifications that
// a session would receive: that lists have changed. Any replica can answer, and
// repeatedly, since all of them have the same lists.
func (s *Surface) sendNews(w http.ResponseWriter, r *http.Request, server *mcp.Server) {
	if accept := r.Header.Get("Accept"); !strings.Contains(accept, "text/event-stream") && !strings.Contains(accept, "*/*") {
		http.Error(w, "Accept must contain text/event-stream", http.StatusBadRequest)
		return
	}
	n := &news{w: w, done: make(chan struct{})}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	// Clients count how often they connect again without an id that is new to them,
	// and give up.
	if err := n.send("id: " + rand.Text() + "\ndata:\n\n"); err != nil {
		return
	}
	session, err := server.Connect(r.Context(), n, &mcp.ServerSessionOptions{State: &mcp.ServerSessionState{
		InitializeParams:  &mcp.InitializeParams{ProtocolVersion: r.Header.Get("Mcp-Protocol-Version")},
		InitializedParams: &mcp.InitializedParams{},
	}})
	if err != nil {
		s.log.Warn("send news", "err", err)
		return
	}
	defer session.Close()
	if r.Header.Get("Last-Event-Id") != "" { // it may have missed something
		if n.send(`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n") != nil {
			return
		}
	}
	select {
	case <-r.Context().Done():
	case <-n.done:
	}
}

// news is a stream of notifications from the server. It implements mcp.Transport and
// mcp.Connection.
type news struct {
	mu   sync.Mutex // guards w, and closes
	w    http.ResponseWriter
	done chan struct{}
	over bool
}

// Connect implements mcp.Transport.
func (n *news) Connect(context.Context) (mcp.Connection, error) { return n, nil }

// SessionID implements mcp.Connection.
func (n *news) SessionID() string { return "" }

// Read implements mcp.Connection: clients say nothing here.
func (n *news) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-n.done:
		return nil, io.EOF
	}
}

// Write implements mcp.Connection.
func (n *news) Write(_ context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	return n.send("data: " + string(text) + "\n\n")
}

func (n *news) send(event string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over {
		return io.ErrClosedPipe
	}
	if _, err := io.WriteString(n.w, event); err != nil {
		return err
	}
	return http.NewResponseController(n.w).Flush()
}

// Close implements mcp.Connection.
func (n *news) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.over {
		n.over = true
		close(n.done)
	}
	return nil
}
