package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

// A bridge finds the tool, checks the arguments, asks the policy, sends the call
// and records what happened.
func Example() {
	catalog := discovery.NewCatalog([]discovery.Listing{{Server: "wiki", Tools: []discovery.ListedTool{
		{Name: "get_page", Annotations: discovery.Annotations{ReadOnly: new(true)}, InputSchema: json.RawMessage(
			`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`)},
		{Name: "delete_page"},
	}}})
	b := bridge.New(bridge.Options{
		Resolve: func(_ context.Context, name string) (*discovery.Tool, error) {
			if t, ok := catalog.Tool(name); ok {
				return t, nil
			}
			return nil, &bridge.Error{Code: bridge.CodeUnknownTool, Message: "unknown tool " + name}
		},
		Caller: bridge.CallerFunc(func(_ context.Context, _, _ string, args json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"content":[{"type":"text","text":"{\"sent\":` + fmt.Sprintf("%d", len(args)) + `}"}]}`), nil
		}),
		Policy: policy.ReadOnly{},
	})
	for _, call := range [][2]string{{"wiki__get_page", `{"title":"Go"}`}, {"wiki__get_page", `{"titel":"Go"}`}, {"wiki.delete_page", `{}`}} {
		value, err := b.Call(context.Background(), call[0], json.RawMessage(call[1]))
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(string(value))
	}
	for _, row := range bridge.Rows(b.Records()) {
		fmt.Println(row.Tool, row.Status)
	}
	// Output:
	// {"sent":14}
	// wiki__get_page: missing parameter "title" ("titel" was given)
	// wiki__delete_page is not marked read-only, and this broker runs read-only
	// wiki__get_page ok
	// wiki__get_page error
	// wiki__delete_page denied
}
