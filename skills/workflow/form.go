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
	// Schema is that of an object with fields that are strings, numbers, booleans, or
	// one or several of given strings, as MCP's elicitation allows.
	Schema json.RawMessage
	// Confirm means that it is a yes-or-no question.
	Confirm bool
}

// A FormAction is what a user did with a form.
type FormAction string

// The actions. After FormCancel, and after FormDecline of anything but a Confirm,
// the model is asked instead; FormDecline of a Confirm is a no.
const (
	FormAccept  FormAction = "accept"
	FormDecline FormAction = "decline"
	FormCancel  FormAction = "cancel"
)

// An AskFunc puts a form to the user and waits for the answer. An error means
// that the user could not be asked: then the model is.
type AskFunc func(ctx context.Context, f Form) (FormAction, json.RawMessage, error)

// An Exchange is a step that the user answered in a form.
type Exchange struct {
	Step   string          `json:"step"`
	Answer json.RawMessage `json:"answer"`
}

// The fields of answers to questions that do not name them.
const (
	fieldAnswer   = "answer"
	fieldApproved = "approved"
)

// answerSchema is the schema of the answer to questions. With fill, the questions
// are in it as titles, for a form.
func answerSchema(asks Prompt, fill func(string) string) json.RawMessage {
	if asks[0].Confirm != nil {
		return json.RawMessage(`{"type":"object","properties":{"` + fieldApproved + `":{"type":"boolean"}},"required":["` + fieldApproved + `"]}`)
	}
	properties := map[string]any{}
	var required []string
	for _, p := range asks {
		key := p.AskUser.key()
		properties[key] = p.AskUser.schema(fill)
		required = append(required, key)
	}
	return encode(map[string]any{"type": "object", "properties": properties, "required": required})
}

func (q *Question) key() string {
	if q.Key == "" {
		return fieldAnswer
	}
	return q.Key
}

// schema is that of the answer to one question.
func (q *Question) schema(fill func(string) string) map[string]any {
	s := map[string]any{"type": "string"}
	var values, labels []string
	for _, o := range q.Options {
		values, labels = append(values, o.Value), append(labels, o.Value)
	}
	if len(values) > 0 {
		s["enum"] = values
	}
	// A client shows the labels of the values if they have some.
	if fill != nil && !q.Multi && slices.ContainsFunc(q.Options, func(o Option) bool { return o.Label != "" }) {
		for i, o := range q.Options {
			if label := fill(o.Label); label != "" {
				labels[i] = label
			}
		}
		s["enumNames"] = labels // which clients of all protocols understand
	}
	if q.Multi {
		s = map[string]any{"type": "array", "items": s}
	}
	if fill != nil {
		s["title"] = fill(q.Question)
	}
	return s
}

// form is the question of a step as a form; ok is false if clients cannot ask for
// an answer of that form.
func (n *node) form(fill func(string) string) (f Form, ok bool) {
	if len(n.asks) == 0 || !isFlat(n.schema) {
		return Form{}, false
	}
	f = Form{Step: n.name, Schema: n.schema, Message: "Please answer these questions."}
	switch first := n.asks[0]; {
	case first.Confirm != nil:
		f.Message, f.Confirm = fill(first.Confirm.Message), true
	case len(n.asks) == 1:
		f.Message = fill(first.AskUser.Question)
	}
	if n.Answer == nil && !f.Confirm {
		f.Schema = answerSchema(n.asks, fill)
	}
	return f, true
}

// isFlat reports whether a schema is one that clients can ask users for: an
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

// no is the answer to a yes-or-no question that the user declined, if the schema
// has one field for it.
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
