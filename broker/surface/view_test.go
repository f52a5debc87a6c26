package surface

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A definition that the SDK cannot serve costs its own place in the list, not
// the broker.
func TestOddDefinitionsAreLeftOut(t *testing.T) {
	f := &clientView{surface: New(Options{}, slog.New(slog.DiscardHandler)), server: mcp.NewServer(Implementation("1"), nil)}
	odd := &mcp.Tool{Name: "a__b", InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"object","x-mcp-header":"X"}}}`)}
	if err := f.addTool(Tool{Tool: odd}); err == nil {
		t.Error("the SDK takes a header parameter that is an object: this test needs another odd definition")
	}
	plain := &mcp.Tool{Name: "a__c", InputSchema: json.RawMessage(`{"type":"object"}`)}
	f.update(offer{tools: []Tool{{Tool: odd}, {Tool: plain}}})
	if len(f.tools) != 1 || f.tools["a__c"] == (fingerprint{}) {
		t.Errorf("shown are %v, want a__c alone", f.tools)
	}
}
