package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Prompt is what a model reads at a step. A single text, which may be written
// as a string, stays as it is; pieces become XML elements, in their order, and
// the preamble tells a model with which tool of its host each is done.
type Prompt []Piece

// A Piece is one part of a prompt. Exactly one field is set; all texts are
// templates.
type Piece struct {
	// Text is work to be done. A piece may be written as a string.
	Text string `json:"text,omitempty"`
	// System is how to behave while doing it.
	System string `json:"system,omitempty"`
	// Rendered is to be shown to the user as it is, not a letter changed.
	Rendered *Rendered `json:"rendered,omitempty"`
	// AskUser is a question, Survey are several. Confirm is one of yes or no. A
	// client that can show forms shows them by itself when they are all of a
	// prompt.
	AskUser *Question `json:"ask-user,omitempty"`
	Survey  *Survey   `json:"survey,omitempty"`
	Confirm *Confirm  `json:"confirm,omitempty"`
	// Plan is to be approved before the model goes on.
	Plan *Plan `json:"plan,omitempty"`
	// Checklist is a list of tasks that is kept up to date.
	Checklist *Checklist `json:"checklist,omitempty"`
	// Subagent is work for an agent with a context of its own.
	Subagent *Subagent `json:"subagent,omitempty"`
}

// Rendered is a text that was made by code.
type Rendered struct {
	// Name tells it from others of the same prompt; it may be empty.
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

// A Question to the user. Without options it is an open one.
type Question struct {
	// Key is the field of the answer: of AskUser "answer" unless it says
	// otherwise; of a Survey each needs its own.
	Key      string `json:"key,omitempty"`
	Question string `json:"question"`
	// Header is a title in a word or two.
	Header  string   `json:"header,omitempty"`
	Options []Option `json:"options,omitempty"`
	// Multi takes several of the options.
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

// A Survey is several questions at once.
type Survey struct {
	Questions []Question `json:"questions"`
}

// A Confirm is a question whose answer is yes or no, as the field "approved".
type Confirm struct {
	Message string `json:"message"`
	// Destructive warns that something is lost.
	Destructive bool `json:"destructive,omitempty"`
	// Default is "yes" or "no", the one if it is empty.
	Default string `json:"default,omitempty"`
}

// A Plan is what the model is about to do.
type Plan struct {
	Summary string   `json:"summary"`
	Steps   []string `json:"steps"`
}

// A Checklist is a list of tasks.
type Checklist struct {
	Items []Item `json:"items"`
}

// An Item is one of them. Its status is "pending" if it is empty.
type Item struct {
	Title  string `json:"title"`
	Status string `json:"status,omitempty"`
}

// A Subagent gets work of its own. It is told not to use this skill unless
// recursion is allowed.
type Subagent struct {
	Prompt         string `json:"prompt"`
	AllowRecursion bool   `json:"allowRecursion,omitempty"`
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
	var pieces []json.RawMessage
	if err := json.Unmarshal(data, &pieces); err != nil {
		return errors.New("a prompt is a string, or a list of strings and objects")
	}
	list := make(Prompt, len(pieces))
	for i, raw := range pieces {
		if json.Unmarshal(raw, &list[i].Text) == nil {
			continue
		}
		if err := strict(raw, &list[i]); err != nil {
			return fmt.Errorf("piece %d of a prompt: %w", i+1, err)
		}
	}
	// What is written as a list has elements, also with one text.
	if list.plain() {
		list = append(list, Piece{})
	}
	*p = list
	return nil
}

// MarshalJSON implements json.Marshaler.
func (p Prompt) MarshalJSON() ([]byte, error) {
	if p.plain() {
		return json.Marshal(p[0].Text)
	}
	return json.Marshal([]Piece(slices.DeleteFunc(slices.Clone(p), func(e Piece) bool { return e == Piece{} })))
}

func (p Prompt) empty() bool { return len(p) == 0 }

func (p Prompt) plain() bool { return len(p) == 1 && p[0].tag() == tagPrompt }

// The elements of prompts.
const (
	tagPrompt    = "prompt"
	tagSystem    = "system"
	tagRendered  = "rendered"
	tagAskUser   = "ask-user"
	tagSurvey    = "survey"
	tagConfirm   = "confirm"
	tagPlan      = "plan"
	tagChecklist = "checklist"
	tagSubagent  = "subagent"
)

// tag is the element of a piece; empty if it is none.
func (p *Piece) tag() string {
	switch {
	case p.Text != "":
		return tagPrompt
	case p.System != "":
		return tagSystem
	case p.Rendered != nil:
		return tagRendered
	case p.AskUser != nil:
		return tagAskUser
	case p.Survey != nil:
		return tagSurvey
	case p.Confirm != nil:
		return tagConfirm
	case p.Plan != nil:
		return tagPlan
	case p.Checklist != nil:
		return tagChecklist
	case p.Subagent != nil:
		return tagSubagent
	}
	return ""
}

// fields counts what is set in a piece.
func (p *Piece) fields() int {
	n := 0
	for _, set := range []bool{p.Text != "", p.System != "", p.Rendered != nil, p.AskUser != nil, p.Survey != nil, p.Confirm != nil, p.Plan != nil, p.Checklist != nil, p.Subagent != nil} {
		if set {
			n++
		}
	}
	return n
}

// check says what is wrong with a prompt.
func (p Prompt) check() (problems []string) {
	for i := range p {
		e := &p[i]
		if e.fields() > 1 {
			problems = append(problems, fmt.Sprintf("piece %d is several things at once: write one piece for each", i+1))
		}
		for _, q := range e.questions() {
			problems = append(problems, q.check()...)
		}
		switch {
		case e.Survey != nil:
			problems = append(problems, e.Survey.check()...)
		case e.Confirm != nil && (e.Confirm.Message == "" || !slices.Contains([]string{"", "yes", "no"}, e.Confirm.Default)):
			problems = append(problems, `confirm needs a message, and its default is "yes" or "no"`)
		case e.Plan != nil && len(e.Plan.Steps) == 0:
			problems = append(problems, "a plan needs steps")
		case e.Checklist != nil && len(e.Checklist.Items) == 0:
			problems = append(problems, "a checklist needs items")
		case e.Subagent != nil && e.Subagent.Prompt == "":
			problems = append(problems, "a subagent needs a prompt")
		}
	}
	return problems
}

// questions are those of a piece.
func (p *Piece) questions() []Question {
	switch {
	case p.AskUser != nil:
		return []Question{*p.AskUser}
	case p.Survey != nil:
		return p.Survey.Questions
	}
	return nil
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
			problems = append(problems, fmt.Sprintf("the question %q has an option without a value, or twice the value %q", q.Question, o.Value))
		}
		seen[o.Value] = true
	}
	return problems
}

func (s *Survey) check() (problems []string) {
	seen := map[string]bool{}
	for _, q := range s.Questions {
		if q.Key == "" || seen[q.Key] {
			problems = append(problems, fmt.Sprintf("the question %q of a survey needs a key of its own", q.Question))
		}
		seen[q.Key] = true
	}
	if len(s.Questions) == 0 {
		problems = append(problems, "a survey needs questions")
	}
	return problems
}

// ours are the elements of prompts in a text that is inside of one.
var ours = regexp.MustCompile(`<(/?(?:prompt|system|rendered|ask-user|survey|confirm|plan|checklist|subagent|question|option|preview|step|item)\b)`)

// inert takes our own elements out of a text: what stands in for {{…}} must not
// be able to end one and speak as somebody else.
func inert(s string) string { return ours.ReplaceAllString(s, "&lt;$1") }

var attribute = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", " ")

// A renderer writes a prompt.
type renderer struct {
	b     bytes.Buffer
	fill  func(template string) string
	skill string // that subagents are not to use
}

// render makes the text of a prompt.
func (p Prompt) render(fill func(string) string, skill string) string {
	if p.plain() {
		return fill(p[0].Text)
	}
	r := &renderer{fill: fill, skill: skill}
	for i := range p {
		if p[i].tag() != "" {
			r.piece(&p[i])
		}
	}
	return strings.TrimSuffix(r.b.String(), "\n")
}

// open begins an element; attributes come in pairs of name and template, and
// are left out if they are empty.
func (r *renderer) open(tag string, attributes ...string) {
	r.b.WriteString("<" + tag)
	for i := 0; i+1 < len(attributes); i += 2 {
		if v := r.fill(attributes[i+1]); v != "" {
			r.b.WriteString(" " + attributes[i] + `="` + attribute.Replace(v) + `"`)
		}
	}
	r.b.WriteByte('>')
}

func (r *renderer) element(tag, text string, attributes ...string) {
	r.open(tag, attributes...)
	r.b.WriteString(inert(r.fill(text)))
	r.close(tag)
}

func (r *renderer) close(tag string) { r.b.WriteString("</" + tag + ">\n") }

func (r *renderer) piece(p *Piece) {
	switch tag := p.tag(); tag {
	case tagPrompt:
		r.element(tag, p.Text)
	case tagSystem:
		r.element(tag, p.System)
	case tagRendered:
		r.element(tag, p.Rendered.Text, "name", p.Rendered.Name)
	case tagConfirm:
		destructive := ""
		if p.Confirm.Destructive {
			destructive = "true"
		}
		answer := p.Confirm.Default
		if answer == "" {
			answer = "no"
		}
		r.element(tag, p.Confirm.Message, "default", answer, "destructive", destructive)
	case tagSubagent:
		skill := r.skill
		if p.Subagent.AllowRecursion {
			skill = ""
		}
		r.element(tag, p.Subagent.Prompt, "no-recurse", skill)
	case tagAskUser:
		r.question(tag, p.AskUser)
	case tagSurvey:
		r.list(tag, func() {
			for i := range p.Survey.Questions {
				r.question("question", &p.Survey.Questions[i])
			}
		})
	case tagPlan:
		r.list(tag, func() {
			for _, s := range p.Plan.Steps {
				r.element("step", s)
			}
		}, "summary", p.Plan.Summary)
	case tagChecklist:
		r.list(tag, func() {
			for _, item := range p.Checklist.Items {
				status := item.Status
				if status == "" {
					status = "pending"
				}
				r.element("item", item.Title, "status", status)
			}
		})
	}
}

func (r *renderer) list(tag string, children func(), attributes ...string) {
	r.open(tag, attributes...)
	r.b.WriteByte('\n')
	children()
	r.close(tag)
}

func (r *renderer) question(tag string, q *Question) {
	kind, multi := "open", ""
	if len(q.Options) > 0 {
		kind = "structured"
	}
	if q.Multi {
		multi = "true"
	}
	attributes := []string{"type", kind, "key", q.Key, "header", q.Header, "question", q.Question, "multi-select", multi}
	if len(q.Options) == 0 {
		r.element(tag, "", attributes...)
		return
	}
	r.list(tag, func() {
		for _, o := range q.Options {
			r.open("option", "value", o.Value, "label", o.Label)
			r.b.WriteString(inert(r.fill(o.Description)))
			if o.Preview != "" {
				r.b.WriteByte('\n')
				r.element("preview", o.Preview)
			}
			r.close("option")
		}
	}, attributes...)
}
