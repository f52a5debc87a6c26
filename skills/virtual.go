package skills

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/internal/schema"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

// A Virtual skill is defined in Go: its text, and tools with handlers. A model
// uses it like any other.
type Virtual struct {
	// Name and Description are those of a header, and judged like them.
	Name, Description string
	// License and Compatibility may be empty.
	License, Compatibility string
	// AllowedTools are the tools that it is meant to call, each as allowed-tools
	// names one; they limit its workflow where that is to be so.
	AllowedTools []string
	// Metadata is what else its header says, such as its version.
	Metadata map[string]string
	// Body is Markdown.
	Body string
	// Tools have different names. They cost nothing until the skill is activated.
	Tools []Tool
	// Files stand beside the SKILL.md, such as an embed.FS; nil means none.
	Files fs.FS
	// ArgumentHint says what arguments a user may give.
	ArgumentHint string
	// Workflow makes it a skill that goes step by step, if it is not nil: models
	// begin it with the tool start and answer with the tool advance.
	Workflow *workflow.Workflow
	// ByUserOnly hides the skill from models until a user picks it.
	ByUserOnly bool
	// Changing means that Files changes by itself, so that it has no digests.
	Changing bool
}

// Skill returns v as a skill that is in use without being in a Registry. Its
// rules are those of Register.
func (v Virtual) Skill() (*Skill, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	k := v.skill()
	k.Ref, k.State = k.Name, Enabled
	return k, nil
}

// check writes the name in its one form and says what is wrong with a virtual
// skill.
func (v *Virtual) check() error {
	v.Name = norm.NFKC.String(v.Name)
	var problems []error
	if ok, list := Parse(v.text()).Judge(Strict); !ok {
		for _, d := range list {
			if d.Severity == Error {
				problems = append(problems, errors.New(d.Message))
			}
		}
	}
	if one := strings.Join(v.AllowedTools, " "); !slices.Equal(splitTools(one), v.AllowedTools) {
		problems = append(problems, fmt.Errorf("allowed tools %s: none may be empty or hold a blank or a comma outside of parentheses", quoted(one)))
	}
	seen := map[string]bool{}
	for _, t := range v.Tools {
		switch {
		case strings.TrimSpace(t.Name) == "":
			problems = append(problems, errors.New("a tool has no name"))
		case seen[t.Name]:
			problems = append(problems, fmt.Errorf("two tools are called %s", quoted(t.Name)))
		case v.Workflow != nil && slices.Contains(v.Workflow.Tools(), t.Name):
			problems = append(problems, fmt.Errorf("tool %s has the name of one of the workflow", quoted(t.Name)))
		case t.Handler == nil:
			problems = append(problems, fmt.Errorf("tool %s has no handler", quoted(t.Name)))
		}
		if _, err := schema.Compile(t.InputSchema); err != nil {
			problems = append(problems, fmt.Errorf("the input schema of tool %s: %w", quoted(t.Name), err))
		}
		seen[t.Name] = true
	}
	if len(problems) > 0 {
		return fmt.Errorf("virtual skill %s: %w", quoted(v.Name), errors.Join(problems...))
	}
	return nil
}

// text is the SKILL.md that the skill would have. JSON strings are YAML.
func (v *Virtual) text() []byte {
	var b bytes.Buffer
	b.WriteString("---\n")
	line := func(key, value string) {
		b.WriteString(key + ": ")
		marshalTo(&b, value)
		b.WriteByte('\n')
	}
	for _, f := range [][2]string{
		{"name", v.Name}, {"description", v.Description}, {"license", v.License}, {"compatibility", v.Compatibility}, {"allowed-tools", strings.Join(v.AllowedTools, " ")},
	} {
		if f[1] != "" || f[0] == "name" {
			line(f[0], f[1])
		}
	}
	if len(v.Metadata) > 0 {
		b.WriteString("metadata:\n")
		for _, key := range slices.Sorted(maps.Keys(v.Metadata)) {
			b.WriteString("  ")
			marshalTo(&b, key)
			line("", v.Metadata[key])
		}
	}
	b.WriteString("---\n\n" + strings.TrimSpace(v.Body) + "\n")
	return b.Bytes()
}

func (v *Virtual) skill() *Skill {
	return &Skill{
		Name: v.Name, Description: v.Description, License: v.License, Compatibility: v.Compatibility,
		AllowedTools: slices.Clone(v.AllowedTools), Version: v.Metadata["version"], ArgumentHint: v.ArgumentHint, UserInvocable: true, ModelInvocable: !v.ByUserOnly,
		Valid: true, Scope: ScopeVirtual, Tools: slices.Clone(v.Tools), folder: v.Name, virtual: v,
	}
}

func (v *Virtual) fs() fs.FS { return withText{v.Files, v.text()} }

// Call runs a tool that is defined in Go and returns its answer as JSON. An
// unknown tool is a *FileError that names the nearest, and so is, before the
// handler is called, input that does not fit the tool's schema; other errors are
// the handler's own. A handler that panics has failed.
func (s *Skill) Call(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
	i := slices.IndexFunc(s.Tools, func(t Tool) bool { return t.Name == tool })
	if i < 0 {
		return nil, s.NoTool(tool, s.Tools)
	}
	if err := s.Tools[i].checkInput(input); err != nil {
		return nil, &FileError{"invalid_input", fmt.Sprintf("call %s of skill %s: the input is wrong: %s. It is: %s", tool, s.Ref, err, s.Tools[i].InputSchema)}
	}
	answer, err := s.Tools[i].handle(ctx, input)
	if err != nil {
		return nil, fmt.Errorf("call %s of skill %s: %w", tool, s.Ref, err)
	}
	if raw, ok := answer.(json.RawMessage); ok && json.Valid(raw) {
		return raw, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(answer); err != nil {
		return nil, fmt.Errorf("call %s of skill %s: its answer has no JSON form: %w", tool, s.Ref, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// checkInput says what is wrong with input. None at all is an object without
// fields.
func (t *Tool) checkInput(input json.RawMessage) error {
	if len(t.InputSchema) == 0 {
		return nil
	}
	compiled, err := schema.Compile(t.InputSchema)
	if err != nil {
		return err
	}
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	return compiled.Check(input)
}

// handle calls the handler.
func (t *Tool) handle(ctx context.Context, input json.RawMessage) (answer any, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its handler panicked: %v", p)
		}
	}()
	return t.Handler(ctx, input)
}

// NoTool is the error for a name that is none of list, which are the tools of the
// skill: a *FileError with the nearest names.
func (s *Skill) NoTool(tool string, list []Tool) error {
	var known []string
	for _, t := range list {
		known = append(known, t.Name)
	}
	text := fmt.Sprintf("skill %s has no tool %s", quoted(s.Ref), quoted(tool))
	text += nearest.Hint(tool, known, "it has", "it has none")
	return &FileError{"tool_not_found", text}
}

// withText is a file system with a SKILL.md on top of another one, or nil.
type withText struct {
	base fs.FS
	text []byte
}

func (w withText) info() memInfo { return memInfo{name: FileName, size: int64(len(w.text))} }

func (w withText) Open(name string) (fs.File, error) {
	switch {
	case name == FileName:
		return &memFile{bytes.NewReader(w.text), w.info()}, nil
	case w.base != nil:
		return w.base.Open(name)
	case name == ".":
		return &memFile{bytes.NewReader(nil), memInfo{name: ".", dir: true}}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// ReadDir implements fs.ReadDirFS.
func (w withText) ReadDir(name string) ([]fs.DirEntry, error) {
	var entries []fs.DirEntry
	if w.base != nil {
		var err error
		if entries, err = fs.ReadDir(w.base, name); err != nil {
			return nil, err
		}
	}
	if name == "." {
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == FileName })
		entries = append(entries, fs.FileInfoToDirEntry(w.info()))
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	} else if w.base == nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return entries, nil
}
