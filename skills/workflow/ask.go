package workflow

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Form is a question that can be put to the user without the model.
type Form struct {
	// Step is the name of the step that asks.
	Step    string
	Message string
	// Schema is that of an object whose fields are texts, numbers, truth values
	// or one or several of some texts: what MCP's elicitation can ask for.
	Schema json.RawMessage
	// Confirm means that it is a question of yes or no.
	Confirm bool
}

// A FormAction is what a user did with a form.
type FormAction string

// The actions. After FormCancel, and after FormDecline of what is no Confirm,
// the model is asked instead; FormDecline of a Confirm is a no.
const (
	FormAccept  FormAction = "accept"
	FormDecline FormAction = "decline"
	FormCancel  FormAction = "cancel"
)

// An AskFunc puts a form to the user and waits for the answer. An error means
// that it could not be asked: then the model is.
type AskFunc func(ctx context.Context, f Form) (FormAction, json.RawMessage, error)

// An Exchange is a step that the user answered in a form.
type Exchange struct {
	Step   string          `json:"step"`
	Answer json.RawMessage `json:"answer"`
}

// question is the only piece of a prompt if that is something to ask a user.
func (p Prompt) question() *Piece {
	var only *Piece
	for i := range p {
		switch p[i].tag() {
		case "":
		case tagAskUser, tagSurvey, tagConfirm:
			if only != nil {
				return nil
			}
			only = &p[i]
		default:
			return nil
		}
	}
	return only
}

// The fields of answers to questions that do not name them.
const (
	fieldAnswer   = "answer"
	fieldApproved = "approved"
)

// schema is that of the answer to a question.
func (p *Piece) schema() json.RawMessage {
	if p.Confirm != nil {
		return json.RawMessage(`{"type":"object","properties":{"` + fieldApproved + `":{"type":"boolean"}},"required":["` + fieldApproved + `"]}`)
	}
	properties := map[string]any{}
	var required []string
	for _, q := range p.questions() {
		key := q.Key
		if key == "" {
			key = fieldAnswer
		}
		one := map[string]any{"type": "string"}
		if len(q.Options) > 0 {
			var values []string
			for _, o := range q.Options {
				values = append(values, o.Value)
			}
			one["enum"] = values
		}
		if q.Multi {
			one = map[string]any{"type": "array", "items": one}
		}
		properties[key] = one
		required = append(required, key)
	}
	return encode(map[string]any{"type": "object", "properties": properties, "required": required})
}

// form is the question of a step as a form; ok is false if its answer has a form
// that clients cannot ask for.
func (n *node) form(fill func(string) string) (f Form, ok bool) {
	if n.asks == nil || !isFlat(n.schema) {
		return Form{}, false
	}
	f.Step, f.Schema = n.inside+n.local, n.schema
	switch {
	case n.asks.Confirm != nil:
		f.Message, f.Confirm = fill(n.asks.Confirm.Message), true
	case n.asks.AskUser != nil:
		f.Message = fill(n.asks.AskUser.Question)
		f.Schema = n.titled(fill)
	default:
		f.Message = "Please answer these questions."
		f.Schema = n.titled(fill)
	}
	return f, true
}

// titled is the schema with the questions as titles and descriptions, where it
// is the one that was made of them.
func (n *node) titled(fill func(string) string) json.RawMessage {
	if n.Answer != nil {
		return n.schema
	}
	v, err := decode(n.schema)
	if err != nil {
		return n.schema
	}
	properties := v.(map[string]any)["properties"].(map[string]any)
	for _, q := range n.asks.questions() {
		key := q.Key
		if key == "" {
			key = fieldAnswer
		}
		one := properties[key].(map[string]any)
		one["title"] = fill(q.Question)
		// A client shows the names of the values if they have some.
		if slices.ContainsFunc(q.Options, func(o Option) bool { return o.Label != "" }) && !q.Multi {
			var names []string
			for _, o := range q.Options {
				label := fill(o.Label)
				if label == "" {
					label = o.Value
				}
				names = append(names, label)
			}
			one["enumNames"] = names // which clients of all protocols understand
		}
	}
	return encode(v)
}

// isFlat reports whether a schema is one of what clients can ask users for: an
// object without further objects in it.
func isFlat(raw json.RawMessage) bool {
	var s jsonschema.Schema
	if json.Unmarshal(raw, &s) != nil || s.Type != "object" || len(s.Properties) == 0 {
		return false
	}
	for _, p := range s.Properties {
		switch p.Type {
		case "string", "number", "integer", "boolean":
		case "array":
			if p.Items == nil || p.Items.Type != "string" || len(p.Items.Enum) == 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// no is the answer to a question of yes or no that the user declined, if the
// schema has one field for it.
func (n *node) no() (json.RawMessage, bool) {
	var s jsonschema.Schema
	if json.Unmarshal(n.schema, &s) != nil {
		return nil, false
	}
	answer := map[string]any{}
	for name, p := range s.Properties {
		if p.Type == "boolean" {
			answer[name] = false
		}
	}
	raw := encode(answer)
	return raw, len(answer) == 1 && n.takes(raw) == nil
}
