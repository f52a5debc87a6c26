package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
	schemas "github.com/mcpbroker/mcpbroker/internal/schema"
)

// askTime is how long a person at the terminal may take for a form.
const askTime = 10 * time.Minute

// A Person asks the user who runs a command. It is an upstream.Talker, too: the user
// fills in simple forms that servers ask for.
type Person struct {
	in  io.Reader
	Out io.Writer
	// Deny is the option of a form that a single period chooses; empty declines forms.
	Deny string

	asking  sync.Mutex // one question at a time
	start   sync.Once
	wanted  chan struct{} // asks for a line
	pending bool          // one was asked for, and did not come yet
	lines   chan string   // what is typed; closed at its end
}

func NewPerson(in io.Reader, out io.Writer) *Person {
	return &Person{in: in, Out: out, wanted: make(chan struct{}, 1), lines: make(chan string)}
}

// Confirm asks a question; preset is the answer if nothing is typed.
func (t *Person) Confirm(ctx context.Context, question string, preset bool) (bool, error) {
	Fprintf(t.Out, "%s %s: ", question, map[bool]string{true: "[Y/n]", false: "[y/N]"}[preset])
	line, err := t.Line(ctx)
	if err != nil {
		return false, err
	}
	if line == "" {
		return preset, nil
	}
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(line)), nil
}

// Capabilities implements upstream.Talker.
func (t *Person) Capabilities() questions.Capabilities { return questions.Capabilities{Form: true} }

// PageDone implements upstream.Talker.
func (t *Person) PageDone(string) {}

// Answer implements upstream.Talker.
func (t *Person) Answer(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
	e, ok := q.(*mcp.ElicitParams)
	if !ok {
		return nil, fmt.Errorf("%T cannot be asked at a terminal", q)
	}
	schema, err := json.Marshal(e.RequestedSchema)
	if err != nil {
		return nil, err
	}
	fields, err := formFields(schema)
	if err != nil {
		return nil, err
	}
	t.asking.Lock()
	defer t.asking.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, askTime, fmt.Errorf("nobody answered for %g s", askTime.Seconds()))
	defer cancel()
	Fprintf(t.Out, "%s\n(a single . %s)\n", Lines(e.Message), t.declining(fields))
	content := make(map[string]any)
	for _, f := range fields {
		value, err := t.field(ctx, f)
		switch {
		case errors.Is(err, errDeclined):
			return &mcp.ElicitResult{Action: "decline"}, nil
		case errors.Is(err, io.EOF):
			return &mcp.ElicitResult{Action: "cancel"}, nil
		case err != nil:
			return nil, err
		}
		if value != nil {
			content[f.name] = value
		}
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

// declining says what a single period does: it denies the calls that a form asks about,
// and declines another form.
func (t *Person) declining(fields []formField) string {
	if slices.ContainsFunc(fields, func(f formField) bool { return t.Deny != "" && slices.Contains(f.options, t.Deny) }) {
		return "means " + t.Deny
	}
	return "declines"
}

var errDeclined = errors.New("declined")

// field asks for one value until it fits; nil is none.
func (t *Person) field(ctx context.Context, f formField) (any, error) {
	for {
		Fprintf(t.Out, "  %s: ", f.prompt())
		line, err := t.Line(ctx)
		if err != nil {
			Fprintln(t.Out)
			return nil, err
		}
		if line == "." {
			return nil, errDeclined
		}
		value, err := f.read(line)
		if err == nil {
			return value, nil
		}
		Fprintf(t.Out, "  %v\n", err)
	}
}

// Line returns the next line that is typed. What reads it cannot be
// interrupted; it ends with the process. Between questions nothing is read, so that keys
// can be.
func (t *Person) Line(ctx context.Context) (string, error) {
	t.start.Do(func() {
		go func() {
			defer close(t.lines)
			s := bufio.NewScanner(t.in)
			for range t.wanted {
				if !s.Scan() {
					return
				}
				t.lines <- strings.TrimSpace(s.Text())
			}
		}()
	})
	if !t.pending {
		t.wanted <- struct{}{}
		t.pending = true
	}
	select {
	case line, ok := <-t.lines:
		if !ok {
			return "", io.EOF // and so it stays
		}
		t.pending = false
		return line, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// A formField is one value of a form.
type formField struct {
	name, title, kind string
	options           []string // the only values; nil means any
	preset            any      // taken when nothing is typed; nil means none
	required          bool
}

// errForm is why a form is not asked for at a terminal.
var errForm = errors.New("its form is more than a terminal can show: use a client with forms")

// formFields reads the fields of a form's schema, in order.
func formFields(raw json.RawMessage) ([]formField, error) {
	form := schemas.Read(raw).Object()
	if form == nil {
		return nil, errForm
	}
	properties, required := form.Properties(), form.Required()
	if properties == nil && form.Has("properties") {
		return nil, errForm
	}
	var fields []formField
	for i := range properties.Size() {
		name, p := properties.Keys[i], properties.Object(properties.Keys[i])
		f := formField{name: name, title: p.Text("title"), kind: p.Text("type"), options: schemas.Strings(p.List("enum")), preset: p.Get("default"), required: slices.Contains(required, name)}
		for _, o := range p.List("oneOf") {
			choice, _ := o.(*schemas.Object)
			f.options = append(f.options, choice.Text("const"))
		}
		switch f.kind {
		case "string", "integer", "number", "boolean":
		default:
			return nil, errForm
		}
		if len(f.options) != len(p.List("enum"))+len(p.List("oneOf")) {
			return nil, errForm // some are not texts
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func (f formField) prompt() string {
	s := f.title
	if s == "" {
		s = f.name
	}
	switch {
	case len(f.options) > 0:
		s += " (" + strings.Join(f.options, ", ") + ")"
	case f.kind == "boolean":
		s += " (yes, no)"
	case f.kind != "string":
		s += " (" + f.kind + ")"
	}
	switch {
	case f.preset != nil:
		s += fmt.Sprintf(" [%v]", f.preset)
	case !f.required:
		s += " [none]"
	}
	return s
}

// read is the value of what was typed.
func (f formField) read(line string) (any, error) {
	switch {
	case line == "" && f.preset != nil:
		return f.preset, nil
	case line == "" && f.required:
		return nil, errors.New("a value is required")
	case line == "":
		return nil, nil
	case len(f.options) > 0 && !slices.Contains(f.options, line):
		return nil, errors.New("enter one of " + strings.Join(f.options, ", "))
	}
	switch f.kind {
	case "integer":
		n, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			return nil, errors.New("a whole number")
		}
		return n, nil
	case "number":
		n, err := strconv.ParseFloat(line, 64)
		if err != nil || n-n != 0 {
			return nil, errors.New("a number")
		}
		return n, nil
	case "boolean":
		switch strings.ToLower(line) {
		case "yes", "y", "true":
			return true, nil
		case "no", "n", "false":
			return false, nil
		}
		return nil, errors.New("yes or no")
	}
	return line, nil
}
