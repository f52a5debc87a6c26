package fakeupstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewStateful returns the server of mode Stateful. Its tools are count_session (the number of its
// calls in this server), where (its process and folder), more (adds the tool extra), whoami (the
// last word of FAKE_PERSON, and its process), and remember, which adds a line to the file
// FAKE_NOTES as careless servers do: it reads all of it, and writes all of it later.
func NewStateful() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "stateful", Version: "1"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}})
	add := func(name string, h func(args json.RawMessage) (string, error)) {
		s.AddTool(&mcp.Tool{Name: name, Description: "Keeps state.", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				out, err := h(req.Params.Arguments)
				return text(out), err
			})
	}
	count := 0
	add("count_session", func(json.RawMessage) (string, error) {
		count++ // its client sends calls one after the other
		return strconv.Itoa(count), nil
	})
	add("where", func(json.RawMessage) (string, error) {
		dir, err := os.Getwd()
		return strconv.Itoa(os.Getpid()) + " " + dir, err
	})
	add("whoami", func(json.RawMessage) (string, error) {
		secret := os.Getenv("FAKE_PERSON")
		return "by " + secret[strings.LastIndex(secret, " ")+1:] + " " + strconv.Itoa(os.Getpid()), nil
	})
	add("more", func(json.RawMessage) (string, error) {
		add("extra", func(json.RawMessage) (string, error) { return "extra", nil })
		return "added", nil
	})
	add("remember", func(args json.RawMessage) (string, error) {
		var in struct{ Text string }
		if err := json.Unmarshal(args, &in); err != nil {
			return "", err
		}
		path := os.Getenv("FAKE_NOTES")
		notes, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			return "", err
		}
		time.Sleep(2 * time.Millisecond)
		notes = append(notes, in.Text+"\n"...)
		return strconv.Itoa(strings.Count(string(notes), "\n")), os.WriteFile(path, notes, 0o600)
	})
	return s
}

func runStateful() error {
	err := NewStateful().Run(context.Background(), &mcp.StdioTransport{})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
