package workflow

import (
	"cmp"
	"slices"
	"strings"
)

// A Survey is several questions at once. Each needs a key of its own.
type Survey struct {
	Questions []Question `json:"questions"`
}

// Rendered is text that the user is to see as it is.
type Rendered struct {
	// Name tells it from others of the same prompt; it may be empty.
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

// A Plan is what the model is about to do.
type Plan struct {
	Summary string   `json:"summary,omitempty"`
	Steps   []string `json:"steps"`
}

// A Checklist is a list of tasks.
type Checklist struct {
	Items []Item `json:"items"`
}

// An Item is one of them. An empty status means "pending".
type Item struct {
	Title  string `json:"title"`
	Status string `json:"status,omitempty"`
}

// A Subagent is work for another agent. That must not use the skill itself,
// unless AllowRecursion.
type Subagent struct {
	Prompt         string `json:"prompt"`
	AllowRecursion bool   `json:"allowRecursion,omitempty"`
}

// The elements of prompts that hosts may have tools for.
const (
	tagAskUser   = "ask-user"
	tagSurvey    = "survey"
	tagConfirm   = "confirm"
	tagPlan      = "plan"
	tagChecklist = "checklist"
	tagSubagent  = "subagent"
	tagSystem    = "system"
	tagRendered  = "rendered"
)

// meanings say what to do with each element, with a tool, whose name replaces %s, and
// without one.
var meanings = []struct{ tag, with, without string }{
	{tagSystem, "", "how to behave. Follow it, do not repeat it."},
	{tagAskUser, "ask the user with your tool %s. If there are options, show them and take only their values.",
		"ask the user, with your own tool for questions if you have one. If there are options, show them and take only their values."},
	{tagSurvey, "ask the user its questions with your tool %s, at once if it takes several. Give the answers by their keys.",
		"ask the user its questions, one after the other. Give the answers by their keys."},
	{tagConfirm, "ask the user yes or no with your tool %s; anything else is what default says, or a no. Warn if it is destructive.",
		"ask the user yes or no; anything else is what default says, or a no. Warn if it is destructive."},
	{tagPlan, "present its summary and steps with your tool %s, and wait for the user's approval.",
		"present its summary and steps as a numbered list, and ask the user whether to go on."},
	{tagChecklist, "enter its items with your tool %s, and mark each when it is done.", "keep a visible list of its items, and mark each when it is done."},
	{tagSubagent, "give the work to another agent with your tool %s, and go on with its answer. It must not use the skill that no-recurse names.",
		"do the work by itself, then go on with its result. Do not use the skill that no-recurse names for it."},
	{tagRendered, "", "finished text for the user. Show it as it is, without a change."},
}

// elementTags are the tags of all elements.
func elementTags() (tags []string) {
	for _, m := range meanings {
		tags = append(tags, m.tag)
	}
	return tags
}

// tags are the elements that are set in a piece, "" for text: one, if it is right.
func (p *Piece) tags() (tags []string) {
	for tag, set := range map[string]bool{
		"": p.Text != "", tagAskUser: p.AskUser != nil, tagSurvey: p.Survey != nil, tagConfirm: p.Confirm != nil, tagSystem: p.System != "",
		tagRendered: p.Rendered != nil, tagPlan: p.Plan != nil, tagChecklist: p.Checklist != nil, tagSubagent: p.Subagent != nil,
	} {
		if set {
			tags = append(tags, tag)
		}
	}
	return tags
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

// lacks says what an element needs.
func (p *Piece) lacks() (problems []string) {
	for problem, wrong := range map[string]bool{
		"confirm needs a message":                         p.Confirm != nil && p.Confirm.Message == "",
		`the default of a confirm is "yes" or "no"`:       p.Confirm != nil && !slices.Contains([]string{"", "yes", "no"}, p.Confirm.Default),
		"a survey needs questions":                        p.Survey != nil && len(p.Survey.Questions) == 0,
		"a plan needs steps":                              p.Plan != nil && len(p.Plan.Steps) == 0,
		"a checklist needs items, each with a title":      p.Checklist != nil && (len(p.Checklist.Items) == 0 || slices.ContainsFunc(p.Checklist.Items, func(i Item) bool { return i.Title == "" })),
		"a subagent needs a prompt":                       p.Subagent != nil && p.Subagent.Prompt == "",
		"rendered needs a text, which the user is to see": p.Rendered != nil && p.Rendered.Text == "",
	} {
		if wrong {
			problems = append(problems, problem)
		}
	}
	slices.Sort(problems)
	return problems
}

// render writes a piece.
func (p *Piece) render(fill func(string) string, skill string) string {
	text := func(template string) string { return inert(fill(template)) }
	var inner []string
	switch {
	case p.AskUser != nil:
		return p.AskUser.render(tagAskUser, fill)
	case p.Survey != nil:
		for i := range p.Survey.Questions {
			inner = append(inner, p.Survey.Questions[i].render("question", fill))
		}
		return element(tagSurvey, lines(inner))
	case p.Confirm != nil:
		return element(tagConfirm, text(p.Confirm.Message), "default", p.Confirm.Default, "destructive", isTrue(p.Confirm.Destructive))
	case p.System != "":
		return element(tagSystem, text(p.System))
	case p.Rendered != nil:
		return element(tagRendered, text(p.Rendered.Text), "name", fill(p.Rendered.Name))
	case p.Plan != nil:
		for _, s := range p.Plan.Steps {
			inner = append(inner, element("step", text(s)))
		}
		return element(tagPlan, lines(inner), "summary", fill(p.Plan.Summary))
	case p.Checklist != nil:
		for _, i := range p.Checklist.Items {
			inner = append(inner, element("item", text(i.Title), "status", fill(cmp.Or(i.Status, "pending"))))
		}
		return element(tagChecklist, lines(inner))
	case p.Subagent != nil:
		if p.Subagent.AllowRecursion {
			skill = ""
		}
		return element(tagSubagent, text(p.Subagent.Prompt), "no-recurse", skill)
	}
	return text(p.Text)
}

// lines are elements inside of one, on lines of their own.
func lines(inner []string) string {
	if len(inner) == 0 {
		return ""
	}
	return "\n" + strings.Join(inner, "\n") + "\n"
}

func isTrue(b bool) string {
	if b {
		return "true"
	}
	return ""
}
