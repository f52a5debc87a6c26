package bridge_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

// The record of a call names the server and the tool that a resolver has refused, however
// the script has written them. What is not known stays as it was written.
func TestRecordsOfRefusedTools(t *testing.T) {
	refused := bridge.Refused(&discovery.Tool{Server: "notes", ID: "notes__delete_page", ListedTool: discovery.ListedTool{Name: "delete_page"}}, policy.Decision{Reason: "is denied by the policy"})
	for _, tt := range []struct {
		name         string
		err          error
		server, tool string
	}{
		{"notes.delete_page", refused, "notes", "delete_page"},
		{"notes__delete_page", refused, "notes", "delete_page"},
		{"Notes/deletePage", refused, "notes", "delete_page"},
		{"notes.delete_pages", &bridge.Error{Server: "notes", Code: bridge.CodeUnknownTool, Message: "server notes has no such tool"}, "", "notes.delete_pages"},
		{"notes.delete_page", errors.New("no answer"), "", "notes.delete_page"},
	} {
		b := bridge.New(bridge.Options{Resolve: func(context.Context, string) (*discovery.Tool, error) { return nil, tt.err }})
		if _, err := b.Call(t.Context(), tt.name, nil); err == nil {
			t.Errorf("%s was called", tt.name)
		}
		if r := b.Records()[0]; r.Server != tt.server || r.Tool != tt.tool {
			t.Errorf("%s, %v: the record has server %q and tool %q, want %q and %q", tt.name, tt.err, r.Server, r.Tool, tt.server, tt.tool)
		}
	}
}
