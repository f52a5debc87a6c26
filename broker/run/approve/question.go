package approve

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/state"
)

// A question asks about the first calls of a list, as many as it can show in full. The answer
// applies only to these.
type question struct {
	parts     []gate.Text // the forms before the one with the decision
	text      gate.Text
	shown     int
	truncated bool // its only call is not shown in full
}

// question returns the question about the first of the calls. Each call is on one line,
// so that no argument looks like a part of the question.
func (a *Asker) question(pending []state.RunCall) question {
	var list strings.Builder
	shown := 0
	for _, c := range pending {
		head, args := a.shown(c)
		if utf8.RuneCountInString(args) > maxAskedArguments {
			if shown > 0 {
				break
			}
			return longQuestion(head, args)
		}
		line := head + "\n   " + args
		if shown > 0 && list.Len()+len(line) > MaxChars {
			break
		}
		list.WriteString(line)
		shown++
	}
	text := fmt.Sprintf("%d calls need your approval.\n", shown)
	if shown == 1 {
		text = "A call needs your approval.\n"
	}
	return question{text: gate.NewText(text + list.String()), shown: shown}
}

// shown returns the heading and the arguments of a call as a question shows them.
func (a *Asker) shown(c state.RunCall) (head, args string) {
	if a.Describe != nil {
		c.Args = a.Describe(c.Args)
	}
	p := Asked(c)
	why := gate.Line(p.Why)
	if p.DependsOn > 0 {
		why += fmt.Sprintf(", with the result of call %d", p.DependsOn)
	}
	return fmt.Sprintf("\n%d. %s (%s)", p.N, p.Tool, why), exactLine(p.Args)
}

// longQuestion returns the question about one call whose arguments need several forms, or more
// than maxParts.
func longQuestion(head, args string) question {
	q := question{shown: 1}
	parts := slices.Collect(slices.Chunk([]rune(args), maxAskedArguments))
	if len(parts) > maxParts {
		q.truncated = true
		q.text = gate.NewText(fmt.Sprintf("This call cannot be approved here: its arguments have %d characters, and the form shows only the first %d.\n"+
			"Close it to decide in the console or with: broker approvals show RUN --full\n%s\n   %s…", utf8.RuneCountInString(args), maxAskedArguments, head, string(parts[0])))
		return q
	}
	for i, part := range parts {
		text := gate.NewText(fmt.Sprintf("A call needs your approval. This is part %d of %d of its arguments.\n%s\n   %s", i+1, len(parts), head, string(part)))
		if i == len(parts)-1 {
			q.text = text
		} else {
			q.parts = append(q.parts, text)
		}
	}
	return q
}

// tooLong reports whether the forms cannot show the call in full.
func (a *Asker) tooLong(c state.RunCall) bool {
	_, args := a.shown(c)
	return utf8.RuneCountInString(args) > maxParts*maxAskedArguments
}
