package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/script"
)

const (
	// maxSkillModules bounds the text of the modules of one skill.
	maxSkillModules = 1 << 20
	// maxSkillText bounds a file that a script reads as a whole.
	maxSkillText = 4 << 20
	// maxNamedSkills is of how many skills the modules are named to a script
	// that imports from skills.
	maxNamedSkills = 64
)

// reader is whose activations the script of x has.
func (x *execution) reader() reader { return reader{x.req.Owner, x.req.Session} }

// usableSkills are those whose files the script of x may use: those that models
// know of, and those that its user has picked. What a server serves is read, and
// never run.
func (x *execution) usableSkills() []*skills.Skill {
	list := x.b.skillsNow().Shown()
	for _, ref := range x.b.skills.session(x.reader()).Active() {
		if k, err := x.b.findSkill(x.reader(), ref); err == nil && !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	return slices.DeleteFunc(list, func(k *skills.Skill) bool { return !hasFolder(k) })
}

// hasFolder reports whether scripts may use the files of a skill, which are in a
// folder of its name.
func hasFolder(k *skills.Skill) bool {
	return notRun(k) == nil && fs.ValidPath(k.Ref) && !strings.ContainsAny(k.Ref, `/\`) && k.Ref != "."
}

// skillModules are the modules of the skills that a script imports from, and the
// names of those that it could. Skills that it does not name cost nothing.
func (x *execution) skillModules(lang sandbox.Language) (modules []sandbox.Module, names []string) {
	const folder = "skills/"
	if lang == sandbox.Python { // imports the files themselves, see skillFiles
		for _, k := range x.usableSkills() {
			names = append(names, folder+k.Ref)
		}
		return nil, names
	}
	if !strings.Contains(x.req.Code, folder) {
		return nil, nil
	}
	for i, k := range x.usableSkills() {
		used := strings.Contains(x.req.Code, folder+k.Ref+"/")
		if !used && i >= maxNamedSkills {
			continue
		}
		files, _, err := k.Files()
		if err != nil {
			continue // the import says that there is no such module
		}
		left := int64(maxSkillModules)
		for _, f := range files {
			module, ok := moduleOf(f.Path)
			if !ok {
				continue
			}
			module = folder + k.Ref + "/" + module
			names = append(names, module)
			if used && !slices.ContainsFunc(modules, func(m sandbox.Module) bool { return m.Path == module }) {
				modules = append(modules, x.skillModule(k, f, module, &left))
			}
		}
	}
	return modules, names
}

// skillModule is a file of a skill as a module of that path, or why it is none.
// left is what the modules of the skill may still have.
func (x *execution) skillModule(k *skills.Skill, f skills.File, module string, left *int64) sandbox.Module {
	m := sandbox.Module{Path: module}
	if f.Size > *left {
		m.Unusable = fmt.Sprintf("the modules of a skill have at most %d MiB together, and %s has %d bytes: skills.read(%q, %q) reads up to %d MiB as text",
			maxSkillModules>>20, f.Path, f.Size, k.Ref, f.Path, maxSkillText>>20)
		return m
	}
	text, err := readWhole(k, f.Path, *left)
	x.b.noteSkillRead(k, x.req.Client, f.Path, len(text), err)
	if e, ok := errors.AsType[*skills.FileError](err); ok {
		m.Unusable = e.Message
	} else if err != nil {
		m.Unusable = "the broker could not read it"
	}
	*left -= int64(len(text))
	m.Source = text
	if path.Ext(f.Path) == ".json" {
		m.Source = "export default " + text
	}
	return m
}

// moduleOf is the path under which a file of a skill is imported; ok is false
// if it is no module.
func moduleOf(file string) (module string, ok bool) {
	switch ext := path.Ext(file); ext {
	case ".json":
		return file, true
	case ".ts", ".mts", ".js", ".mjs":
		return strings.TrimSuffix(strings.TrimSuffix(file, ext), "/index"), !strings.HasSuffix(file, ".d.ts")
	}
	return "", false
}

// readSkill is skills.read(name, path): the text of a file.
func (x *execution) readSkill(ctx context.Context, c sandbox.Call) (json.RawMessage, error) {
	var args []string
	if err := json.Unmarshal(c.Args, &args); err != nil || len(args) == 0 {
		return nil, errors.New("skills.read: use it as in skills.read('release-notes', 'references/style.md')")
	}
	k, err := x.b.findSkill(x.reader(), c.Target)
	if err != nil {
		return nil, thrownSkill("skills.read", err)
	}
	text, err := readWhole(k.With(ctx), args[0], maxSkillText)
	x.b.noteSkillRead(k, x.req.Client, args[0], len(text), err)
	if err != nil {
		return nil, thrownSkill("skills.read", err)
	}
	return compactJSON(text), nil
}

// callSkillTool is skills.call(name, tool, input). What a workflow answers is a
// value, also when it is that an answer was wrong.
func (x *execution) callSkillTool(ctx context.Context, c sandbox.Call) (json.RawMessage, error) {
	var args []json.RawMessage
	var tool string
	if json.Unmarshal(c.Args, &args) != nil || len(args) == 0 || json.Unmarshal(args[0], &tool) != nil {
		return nil, errors.New("skills.call: use it as in skills.call('release-notes', 'start', { version: '2' })")
	}
	call := skillCall{reader: x.reader(), skill: c.Target, tool: tool}
	if len(args) > 1 && string(args[1]) != "null" {
		call.input = args[1]
	}
	value, err := x.skillTool(ctx, call)
	if e, ok := errors.AsType[*workflowError](err); ok {
		return e.answer, nil
	}
	if err != nil {
		return nil, thrownSkill("skills.call", err)
	}
	return value.JSON, nil
}

// thrownSkill is an error as a script catches it, with the code of what it is.
func thrownSkill(function string, err error) error {
	var code, message string
	if e, ok := errors.AsType[*skills.FileError](err); ok {
		code, message = e.Code, e.Message
	} else if e, ok := errors.AsType[*script.Error](err); ok {
		code, message = string(e.Code), e.Message
	} else {
		return err
	}
	return &sandbox.CallError{Name: "SkillError", Message: function + ": " + message, Fields: compactJSON(map[string]string{"code": code})}
}
