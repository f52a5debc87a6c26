package surface

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
