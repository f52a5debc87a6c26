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
	// AskUser is a question to the user, Survey is a list of questions, and Confirm is a
	// yes-or-no question. A client that can show forms shows a form by itself when a
	// prompt consists of questions, or of one Confirm.
	AskUser *Question `json:"ask-user,omitempty"`
	Survey  *Survey   `json:"survey,omitempty"`
	Confirm *Confirm  `json:"confirm,omitempty"`
	// System is an instruction on the model's behaviour. Rendered is text that the model
	// shows to the user unchanged.
	System   string    `json:"system,omitempty"`
	Rendered *Rendered `json:"rendered,omitempty"`
	// Plan is a plan that the user approves before the model continues, Checklist is a
	// list that the model keeps up to date, and Subagent is work for an agent with a
	// separate context.
	Plan      *Plan      `json:"plan,omitempty"`
	Checklist *Checklist `json:"checklist,omitempty"`
	Subagent  *Subagent  `json:"subagent,omitempty"`
}

// A Question to the user. Without options it is an open one.
type Question struct {
	// Key is the field of the answer; default "answer". Several questions of one
	// prompt need a key each.
	Key      string `json:"key,omitempty"`
	Question string `json:"question"`
	// Header is a title in a word or two.
	Header  string   `json:"header,omitempty"`
	Options []Option `json:"options,omitempty"`
	// Multi accepts several of the options.
	Multi bool `json:"multi,omitempty"`
}

// An Option is one of the answers to a question.
type Option struct {
	Value       string `json:"value"`
	Label       string `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
	// Preview is shown beside it.
	Preview string `json:"preview,omitempty"`
}

// A Confirm is a question with the answer yes or no, as the field "approved".
type Confirm struct {
	Message string `json:"message"`
	// Destructive warns that something will be lost.
	Destructive bool `json:"destructive,omitempty"`
	// Default is what an unclear answer means, "yes" or "no"; empty means "no".
	Default string `json:"default,omitempty"`
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
func (p Prompt) asks() (asks Prompt) {
	for _, e := range p {
		switch {
		case e.Survey != nil:
			for i := range e.Survey.Questions {
				asks = append(asks, Piece{AskUser: &e.Survey.Questions[i]})
			}
		case e.AskUser != nil || e.Confirm != nil && len(p) == 1:
			asks = append(asks, e)
		default:
			return nil
		}
	}
	return asks
}

// check says what is wrong with a prompt.
func (p Prompt) check() (problems []string) {
	keys := map[string]bool{}
	for i, e := range p {
		if len(e.tags()) != 1 {
			problems = append(problems, fmt.Sprintf("piece %d needs exactly one of text, %s", i+1, strings.Join(elementTags(), ", ")))
		}
		for _, q := range e.questions() {
			problems = append(problems, q.check()...)
			if keys[q.key()] || e.Survey != nil && q.Key == "" {
				problems = append(problems, fmt.Sprintf("the question %q needs a key of its own", q.Question))
			}
			keys[q.key()] = true
		}
		problems = append(problems, e.lacks()...)
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

// plain reports whether a prompt is a single text.
func (p Prompt) plain() bool { return len(p) == 1 && p[0].Text != "" }

// render makes the text of a prompt. skill is the one that subagents must not use.
func (p Prompt) render(fill func(string) string, skill string) string {
	if p.plain() {
		return fill(p[0].Text)
	}
	var parts []string
	for _, e := range p {
		parts = append(parts, e.render(fill, skill))
	}
	return strings.Join(parts, "\n")
}

func (q *Question) render(tag string, fill func(string) string) string {
	var options []string
	for _, o := range q.Options {
		about := inert(fill(o.Description))
		if o.Preview != "" {
			about += "\n" + element("preview", inert(fill(o.Preview))) + "\n"
		}
		options = append(options, element("option", about, "value", o.Value, "label", fill(o.Label)))
	}
	return element(tag, lines(options), "key", q.Key, "header", fill(q.Header), "question", fill(q.Question), "multi", isTrue(q.Multi))
}

// markup is an element of a prompt in a text that is inside of one.
var markup = lazyregexp.New(`<(/?(?:ask-user|survey|question|option|preview|confirm|system|rendered|plan|step|checklist|item|subagent)\b)`)

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
