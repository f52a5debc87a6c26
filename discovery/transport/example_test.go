package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
)

// A peer that prints to its stdout what is not a message does not end the
// connection.
func ExampleLines() {
	stdout := strings.NewReader(`Server ready
{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
`)
	l := transport.NewLines(1<<20, func(text []byte, _ int, why error) error {
		fmt.Printf("%v: %s\n", why, text)
		return nil
	})
	go l.From(stdout)
	for {
		m, err := l.Read(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if request, ok := m.(*jsonrpc.Request); ok {
			fmt.Println("message:", request.Method)
		}
	}
	// Output:
	// invalid JSON: Server ready
	// message: notifications/tools/list_changed
}
