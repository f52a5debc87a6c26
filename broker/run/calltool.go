package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/run/output"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// A CallRequest is one tool call without a script around it.
type CallRequest struct {
	// Tool names the tool, in any of the forms that a script may use.
	Tool string
	// Arguments is a JSON object, or nil. An object in a string, or one that is wrapped
	// in another as "arguments", is unwrapped.
	Arguments json.RawMessage
	// Client and the fields below are as in Request.
	Client, ClientInfo string
	Owner, Team        string
	Session            string
	Progress           func(calls int, message string)
	Talker             upstream.Talker
}

// CallTool calls one tool with the checks, errors and record of a call by a script. The result is
// one text block within the budget of an answer, followed by the images and audio that the tool
// returned. A failed call is a result with IsError set. With the context of a skill's handler, it
// is a call of the execution that runs the handler.
func (e *Executor) CallTool(ctx context.Context, req CallRequest) *mcp.CallToolResult {
	if x := e.executionOf(ctx); x != nil {
		answer, _ := x.callOne(ctx, req)
		return answer
	}
	x := e.beginCall(ctx, req)
	answer, err := x.callOne(ctx, req)
	x.endCall(err, gate.Compact(answer))
	return answer
}

// Call makes one call for a user and accepts only the documented forms of arguments. It returns
// the complete value that a script would get and the server's raw result, if any. An error is a
// *bridge.Error.
func (e *Executor) Call(ctx context.Context, req CallRequest) (value, raw json.RawMessage, err error) {
	x := e.beginCall(ctx, req)
	value, raw, err = x.bridge.CallRaw(ctx, strings.TrimSpace(req.Tool), req.Arguments)
	x.endCall(err, value)
	return value, raw, err
}

// beginCall begins the record of a call without a script, and creates its bridge.
func (e *Executor) beginCall(ctx context.Context, req CallRequest) *Execution {
	x := e.newExecution(Request{
		Code: "call_tool " + gate.Cut(req.Tool, 200), Client: req.Client, ClientInfo: req.ClientInfo, Owner: req.Owner, Team: req.Team, Session: req.Session, Progress: req.Progress, Talker: req.Talker,
	})
	x.begin(languageCall)
	x.connect(ctx, nil) // other content goes to the client
	return x
}

// Begin begins the record of an execution without a script, for a caller that makes its
// calls; Commit ends it. The code of req describes it.
func (e *Executor) Begin(ctx context.Context, req Request) *Execution {
	x := e.newExecution(req)
	x.begin(languageCall)
	x.connect(ctx, x.results.Put)
	return x
}

func (e *Executor) newExecution(req Request) *Execution {
	x := &Execution{e: e, o: e.opts.Load(), Request: req, started: time.Now()}
	x.results = &output.Store{Results: x.o.Results, Owner: x.owner(), Uncut: req.Uncut, OnError: func(err error) { x.storeFailed.Store(true); e.log.Warn("keep result", "execution", x.id, "err", err) }}
	x.origins = origins{o: x.o, store: x.results, tools: func() *discovery.Catalog {
		full, _ := e.catalog.Both()
		return full
	}}
	x.asker = x.o.newAsker(x)
	return x
}

// owner returns the name to which the results and values of x belong.
func (x *Execution) owner() string { return x.o.ownerFor(x.Request.Owner) }

// ownerFor returns the name that owns a client's stored data.
func (o *Options) ownerFor(client string) string {
	return state.ForNarrowed(client, o.Profile, o.Narrowed)
}

// endCall ends the record of a call that was answered with the given JSON.
func (x *Execution) endCall(err error, answer json.RawMessage) {
	var res sandbox.Result
	if err != nil {
		res.ExitCode, res.Error = ExitOf(err), ErrorText(err)
	}
	x.Commit(res, answer)
}

// callOne makes the call of req as a call of x. A failure is also in the result.
func (x *Execution) callOne(ctx context.Context, req CallRequest) (*mcp.CallToolResult, error) {
	value, raw, err := x.bridge.CallRaw(ctx, strings.TrimSpace(req.Tool), x.e.unwrapArguments(ctx, req.Tool, req.Arguments))
	if err != nil {
		answer := x.TextResult(ErrorText(err))
		answer.IsError = true
		return answer, err
	}
	t, err := x.e.catalog.Resolve(ctx, strings.TrimSpace(req.Tool))
	if err != nil {
		t = &discovery.Tool{} // the server no longer lists it
	}
	text, media := contentOf(t, raw, value)
	res := x.TextResult(text)
	if text == "" && len(media) > 0 {
		res.Content = nil
	}
	res.Content = append(res.Content, media...)
	return res, nil
}

// maxFailureChars bounds an error message before it is cut for an answer.
const maxFailureChars = 100_000

// languageCall is the recorded language of an execution without a script.
const languageCall sandbox.Language = "call"

// ExitOf returns the exit code of a script whose only call failed with err.
func ExitOf(err error) int {
	if e, ok := errors.AsType[*bridge.Error](err); ok {
		switch e.Code {
		case bridge.CodeTimeout:
			return sandbox.ExitTimeout
		case bridge.CodeCancelled:
			return sandbox.ExitCanceled
		}
	}
	return sandbox.ExitThrew
}

// ErrorText returns a failure as the model reads it: the text that a script would be thrown.
func ErrorText(err error) string {
	e, ok := errors.AsType[*bridge.Error](err)
	if !ok {
		return err.Error()
	}
	text := e.Message
	if e.Code.OfServer() { // the message is text of the server
		text = gate.Quote(text, maxFailureChars)
	}
	if prefix := e.Server + "/" + e.Tool; e.Server != "" && !strings.HasPrefix(text, "call "+prefix+": ") && (e.Code == bridge.CodeTool || e.Code == bridge.CodeRateLimited || !strings.Contains(text, e.Server)) {
		text = prefix + ": " + text
	}
	if e.Hint != "" {
		text += "\nhint: " + e.Hint
	}
	return text
}

// contentOf returns a result for a model: its texts, or otherwise the value that a script would
// get, followed by its images and audio. Structured content that no text repeats comes first.
func contentOf(t *discovery.Tool, raw, value json.RawMessage) (text string, media []mcp.Content) {
	var sent struct {
		StructuredContent json.RawMessage   `json:"structuredContent"`
		Content           []json.RawMessage `json:"content"`
	}
	_ = json.Unmarshal(raw, &sent) // the bridge has decoded it before
	var texts []string
	if structured, ok := bridge.Unrepeated(t, sent.StructuredContent, sent.Content); ok {
		texts = append(texts, string(structured))
	}
	for _, block := range sent.Content {
		var c struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			Data     []byte `json:"data"`
			MIMEType string `json:"mimeType"`
			Resource *struct {
				Text string `json:"text"`
				Blob string `json:"blob"`
			} `json:"resource"`
		}
		if json.Unmarshal(block, &c) != nil {
			continue
		}
		switch {
		case c.Type == "text":
			texts = append(texts, c.Text)
		case (c.Type == "image" || c.Type == "audio") && (len(c.Data) > output.MaxMediaBytes || len(media) == output.MaxMedia):
			texts = append(texts, tooMuchMedia(c.Type, len(c.Data)))
		case c.Type == "image" || c.Type == "audio":
			media = append(media, surface.MediaBlock(c.Type == "image", c.MIMEType, c.Data))
		case c.Resource != nil && c.Resource.Text != "":
			texts = append(texts, c.Resource.Text)
		case c.Resource != nil && c.Resource.Blob != "":
			texts = append(texts, fmt.Sprintf("[a resource of %d bytes that is not text]", len(c.Resource.Blob)/4*3))
		default:
			texts = append(texts, string(block))
		}
	}
	text = strings.Join(texts, "\n")
	if text == "" && len(media) == 0 {
		text = string(value)
	}
	return text, media
}

// plainText returns a text for a model; JSON is cleaned as in the result of a script.
func plainText(text string) (plain string, isJSON bool) {
	if t := strings.TrimSpace(text); (strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[")) && json.Valid([]byte(t)) {
		return gate.EncodeRaw(json.RawMessage(text)).String(), true
	}
	return text, false
}

// tooMuchMedia returns the text that replaces an image or a sound that does not fit
// into the answer.
func tooMuchMedia(kind string, size int) string {
	if size > output.MaxMediaBytes {
		return fmt.Sprintf("[%s of %d bytes left out: at most %d; ask for a smaller one]", kind, size, output.MaxMediaBytes)
	}
	return fmt.Sprintf("[%s of %d bytes left out: at most %d images and sounds in one answer; ask for fewer]", kind, size, output.MaxMedia)
}

// TextResult returns a result with one text block within the budget. A longer text is cut visibly,
// and stored if the client can write scripts that read it.
func (x *Execution) TextResult(text string) *mcp.CallToolResult {
	writesCode := x.o.Mode != surface.ModeTools
	shown, ref, options, cut := limitSize(x.results, x.o.MaxOutputChars, text, writesCode)
	x.origins.recordResults(ref)
	if cut && !writesCode {
		shown += "\n[too long: ask for less with the tool's own filters and limits" + output.BudgetName + "]"
	} else if cut {
		shown += "\n[too long: ask for less, or work on it in an execute_code script" + output.BudgetName + output.ReadRest(ref, options) + "]"
	}
	return surface.TextResult(gate.NewText(shown), false)
}

// limitSize cuts a text to the budget: JSON between items, other text between lines. If store is
// set, a cut text is stored, and options are the options of results.get that read the rest.
func limitSize(results *output.Store, limit int, text string, store bool) (shown, ref, options string, cut bool) {
	plain, isJSON := plainText(text)
	if isJSON {
		value, ref, cut := output.CutResult(json.RawMessage(plain), limit, func(json.RawMessage) string {
			if !store {
				return ""
			}
			return results.Put(state.JSON, []byte(text))
		})
		return string(value), ref, "{ path, offset, limit }", cut
	}
	out := &output.Capture{Limit: limit}
	if store {
		out.Store = results.Stream()
	}
	_, _ = out.Write([]byte(plain)) // writes to a buffer cannot fail
	shown, ref, cut = out.Text(limit)
	return shown, ref, "{ offset, limit }", cut
}

// unwrapArguments unwraps the arguments of a tool from a string, or from an object that
// contains nothing else. It does not unwrap a parameter of the tool itself.
func (e *Executor) unwrapArguments(ctx context.Context, tool string, args json.RawMessage) json.RawMessage {
	const maxWrappers = 4
	var t *discovery.Tool
	for range maxWrappers {
		var text string
		if json.Unmarshal(args, &text) == nil && strings.HasPrefix(strings.TrimSpace(text), "{") {
			args = json.RawMessage(text)
			continue
		}
		var o map[string]json.RawMessage
		if json.Unmarshal(args, &o) != nil || len(o) != 1 {
			return args
		}
		key := slices.Collect(maps.Keys(o))[0]
		if !slices.Contains(surface.ArgumentKeys, key) || !strings.ContainsAny(string(o[key][:1]), `{"`) {
			return args
		}
		if t == nil {
			found, err := e.catalog.Resolve(ctx, strings.TrimSpace(tool))
			if err != nil {
				return args // the call names the tool's own parameter
			}
			t = found
		}
		if hasParameter(t, key) {
			return args
		}
		args = o[key]
	}
	return args
}

// hasParameter reports whether t may take a parameter of this name.
func hasParameter(t *discovery.Tool, name string) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(t.InputSchema, &s) != nil {
		return true
	}
	return s.Properties[name] != nil || len(s.Properties) == 0
}
