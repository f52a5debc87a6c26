package workflow

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// A Prompt is what a model reads at a step. A single text, which may be written
// as a string, stays as it is; questions become XML elements.
type Prompt []Piece

// A Piece is one part of a prompt. Exactly one field is set; all texts are
// templates.
type Piece struct {
	// Text is work to do. A piece may be written as a string.
	Text string `json:"text,omitempty"`
	// AskUser is a question to the user, Confirm one of yes or no. A client that
	// can show forms shows one by itself when a prompt consists of questions, or
	// of one Confirm.
	AskUser *Question `json:"ask-user,omitempty"`
	Confirm *Confirm  `json:"confirm,omitempty"`
}

// A Question to the user. Without options it is an open one.
type Question struct {
	// Key is the field of the answer; default "answer". Several questions of one
	// prompt need a key each.
	Key      string   `json:"key,omitempty"`
	Question string   `json:"question"`
	Options  []Option `json:"options,omitempty"`
	// Multi accepts several of the options.
	Multi bool `json:"multi,omitempty"`
}

// An Option is one of the answers to a question.
type Option struct {
	Value       string `json:"value"`
	Label       string `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
}

// A Confirm is a question whose answer is yes or no, as the field "approved".
type Confirm struct {
	Message string `json:"message"`
}

// Text is a Prompt of one text.
func Text(text string) Prompt { return Prompt{{Text: text}} }

// UnmarshalJSON implements json.Unmarshaler.
func (p *Prompt) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*p = nil
		if text != "" {
			*p = Text(text)
		}
		return nil
	}
	return json.Unmarshal(data, (*[]Piece)(p))
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Piece) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &p.Text) == nil {
		return nil
	}
	type piece Piece // without this method
	return json.Unmarshal(data, (*piece)(p))
}

// asks are the pieces of a prompt that consists of questions, or of one Confirm;
// nil for any other prompt.
func (p Prompt) asks() Prompt {
	for _, e := range p {
		if e.AskUser == nil && (e.Confirm == nil || len(p) > 1) {
			return nil
		}
	}
	return p
}

// check says what is wrong with a prompt.
func (p Prompt) check() (problems []string) {
	keys := map[string]bool{}
	for i, e := range p {
		fields := 0
		for _, set := range []bool{e.Text != "", e.AskUser != nil, e.Confirm != nil} {
			if set {
				fields++
			}
		}
		if fields != 1 {
			problems = append(problems, fmt.Sprintf("piece %d needs exactly one of text, ask-user and confirm", i+1))
		}
		if q := e.AskUser; q != nil {
			problems = append(problems, q.check()...)
			if keys[q.key()] {
				problems = append(problems, fmt.Sprintf("the question %q needs a key of its own", q.Question))
			}
			keys[q.key()] = true
		}
		if e.Confirm != nil && e.Confirm.Message == "" {
			problems = append(problems, "confirm needs a message")
		}
	}
	return problems
}

func (q *Question) check() (problems []string) {
	if q.Question == "" {
		problems = append(problems, "a question needs a text")
	}
	if len(q.Options) == 1 {
		problems = append(problems, fmt.Sprintf("the question %q has one option: write two, or none for an open question", q.Question))
	}
	seen := map[string]bool{}
	for _, o := range q.Options {
		if o.Value == "" || seen[o.Value] {
			problems = append(problems, fmt.Sprintf("the question %q has an option without a value, or the value %q twice", q.Question, o.Value))
		}
		seen[o.Value] = true
	}
	return problems
}

// elements says to a model what the elements of prompts mean.
const elements = `Prompts may hold these elements; follow them in their order.
<ask-user>: ask the user, with your own tool for questions if you have one. If there are options, show them and take only their values.
<confirm>: ask the user yes or no; anything else is a no.`

// preamble is what a model reads before the first prompt of an area: what the
// author says, and what elements mean if some can occur from there on.
func (w *Workflow) preamble(a *area) string {
	for _, n := range w.steps {
		if (n.area == a || a.name == "") && (n.PromptFunc != nil || n.Prompt.hasElements()) {
			return strings.TrimSpace(a.def.Preamble + "\n\n" + elements)
		}
	}
	return a.def.Preamble
}

func (p Prompt) hasElements() bool {
	for _, e := range p {
		if e.Text == "" {
			return true
		}
	}
	return false
}

// render makes the text of a prompt.
func (p Prompt) render(fill func(string) string) string {
	if len(p) == 1 && p[0].Text != "" {
		return fill(p[0].Text)
	}
	var parts []string
	for _, e := range p {
		switch {
		case e.AskUser != nil:
			parts = append(parts, e.AskUser.render(fill))
		case e.Confirm != nil:
			parts = append(parts, element("confirm", inert(fill(e.Confirm.Message))))
		default:
			parts = append(parts, inert(fill(e.Text)))
		}
	}
	return strings.Join(parts, "\n")
}

func (q *Question) render(fill func(string) string) string {
	multi, options := "", ""
	if q.Multi {
		multi = "true"
	}
	for _, o := range q.Options {
		options += "\n" + element("option", inert(fill(o.Description)), "value", o.Value, "label", fill(o.Label))
	}
	if options != "" {
		options += "\n"
	}
	return element("ask-user", options, "key", q.Key, "question", fill(q.Question), "multi", multi)
}

// markup is an element of a prompt in a text that is inside of one.
var markup = lazyregexp.New(`<(/?(?:ask-user|confirm|option)\b)`)

// inert disarms the elements in a text: what replaces {{…}} must not be able to
// end one and speak as somebody else.
func inert(s string) string { return markup.ReplaceAllString(s, "&lt;$1") }

var attribute = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", " ")

// element writes an element; attributes come in pairs of name and value, and are
// left out if they are empty.
func element(tag, content string, attributes ...string) string {
	var b strings.Builder
	b.WriteString("<" + tag)
	for i := 0; i+1 < len(attributes); i += 2 {
		if v := attributes[i+1]; v != "" {
			b.WriteString(" " + attributes[i] + `="` + attribute.Replace(v) + `"`)
		}
	}
	b.WriteString(">" + content + "</" + tag + ">")
	return b.String()
}
