package transport

//lint:file-ignore SA1019 sampling and logging are deprecated since 2026-07-28, and servers still use them

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// paramsOf maps the methods that a server may call to the SDK's type of their
// parameters, and to whether parameters are required.
var paramsOf = map[string]struct {
	make     func() any
	required bool
}{
	"ping":                                 {func() any { return new(mcp.PingParams) }, false},
	"roots/list":                           {func() any { return new(mcp.ListRootsParams) }, false},
	"sampling/createMessage":               {func() any { return new(mcp.CreateMessageWithToolsParams) }, true},
	"elicitation/create":                   {func() any { return new(mcp.ElicitParams) }, true},
	"notifications/cancelled":              {func() any { return new(mcp.CancelledParams) }, true},
	"notifications/tools/list_changed":     {func() any { return new(mcp.ToolListChangedParams) }, false},
	"notifications/prompts/list_changed":   {func() any { return new(mcp.PromptListChangedParams) }, false},
	"notifications/resources/list_changed": {func() any { return new(mcp.ResourceListChangedParams) }, false},
	"notifications/resources/updated":      {func() any { return new(mcp.ResourceUpdatedNotificationParams) }, true},
	"notifications/message":                {func() any { return new(mcp.LoggingMessageParams) }, true},
	"notifications/progress":               {func() any { return new(mcp.ProgressNotificationParams) }, true},
	"notifications/elicitation/complete":   {func() any { return new(mcp.ElicitationCompleteParams) }, true},
}

// refusedParams replace parameters that the SDK must not see. They are invalid for
// every method.
var refusedParams = json.RawMessage("[]")

// vet returns the part of a message that the SDK may see. The SDK decodes and handles
// requests of servers in its own goroutines, where a panic ends the process; so vet
// decodes the parameters first and checks the required ones. It returns nil for an
// invalid notification.
func vet(m jsonrpc.Message) jsonrpc.Message {
	req, ok := m.(*jsonrpc.Request)
	if !ok {
		return m
	}
	if string(req.Params) == "null" {
		req.Params = nil
	}
	if checkParams(req) == nil {
		return req
	}
	if !req.IsCall() {
		return nil
	}
	return &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: refusedParams}
}

// checkParams decodes the parameters of a server's request as the SDK does.
func checkParams(req *jsonrpc.Request) (err error) {
	want, known := paramsOf[req.Method]
	switch {
	case !known: // the SDK answers it without decoding params
		return nil
	case len(req.Params) == 0 && want.required:
		return fmt.Errorf("%s has no params", req.Method)
	case len(req.Params) == 0:
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decode the params of %s: %v", req.Method, p)
		}
	}()
	params := want.make()
	if err := json.Unmarshal(req.Params, params); err != nil {
		return err
	}
	if form, ok := params.(*mcp.ElicitParams); ok {
		return checkForm(form.RequestedSchema)
	}
	return nil
}

// checkForm refuses choices of a form that are null.
func checkForm(v any) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := checkForm(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, e := range v {
			list, _ := e.([]any)
			switch key {
			case "oneOf", "anyOf", "allOf", "prefixItems":
				for _, choice := range list {
					if choice == nil {
						return fmt.Errorf("%s of a form has null", key)
					}
				}
			}
			if err := checkForm(e); err != nil {
				return err
			}
		}
	}
	return nil
}
