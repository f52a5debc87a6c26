package skill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/internal/gate"
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

// reader returns the reader with the activations of the script of x.
func (x *running) reader() reader { return reader{x.Request.Owner, x.Request.Session} }

// usableSkills returns the skills with files that the script of x may use: those that
// models know, and those that its user has picked. Skills of servers are read, and
// never run.
func (x *running) usableSkills() []*skills.Skill {
	list := x.f.now().Shown()
	x.f.recall(x.reader())
	for _, ref := range x.f.sessions.session(x.reader()).Active() {
		if k, err := x.f.find(x.reader(), ref); err == nil && !slices.Contains(list, k) {
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

// scripting is what scripts see of a Feature.
type scripting struct{ f *Feature }

// Modules implements run.Library: the modules of the skills that a script imports from, and the
// names of those that it could. Skills that it does not name cost nothing.
func (sc scripting) Modules(of *run.Execution, lang sandbox.Language) (modules []sandbox.Module, names []string) {
	x := sc.f.in(of)
	const folder = "skills/"
	if lang == sandbox.Python { // imports the files themselves, see skillFiles
		for _, k := range x.usableSkills() {
			names = append(names, folder+k.Ref)
		}
		return nil, names
	}
	if !strings.Contains(x.Request.Code, folder) {
		return nil, nil
	}
	for i, k := range x.usableSkills() {
		used := strings.Contains(x.Request.Code, folder+k.Ref+"/")
		if !used && i >= maxNamedSkills {
			continue
		}
		files, _, err := k.Files()
		if err != nil {
			continue // the import reports the missing module
		}
		left := int64(maxSkillModules)
		for _, file := range files {
			module, ok := moduleOf(file.Path)
			if !ok {
				continue
			}
			module = folder + k.Ref + "/" + module
			names = append(names, module)
			if used && !slices.ContainsFunc(modules, func(m sandbox.Module) bool { return m.Path == module }) {
				modules = append(modules, x.skillModule(k, file, module, &left))
			}
		}
	}
	return modules, names
}

// skillModule is a file of a skill as a module of that path, or why it is none.
// left is what the modules of the skill may still have.
func (x *running) skillModule(k *skills.Skill, f skills.File, module string, left *int64) sandbox.Module {
	m := sandbox.Module{Path: module}
	if f.Size > *left {
		m.Unusable = fmt.Sprintf("the modules of a skill have at most %d MiB together, and %s has %d bytes: skills.read(%q, %q) reads up to %d MiB as text",
			maxSkillModules>>20, f.Path, f.Size, k.Ref, f.Path, maxSkillText>>20)
		return m
	}
	text, err := readWhole(k, f.Path, *left)
	x.f.noteRead(k, x.Request.Client, f.Path, len(text), err)
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

// moduleOf returns the path under which a file of a skill is imported; ok is false if
// it is not a module.
func moduleOf(file string) (module string, ok bool) {
	switch ext := path.Ext(file); ext {
	case ".json":
		return file, true
	case ".ts", ".mts", ".js", ".mjs":
		return strings.TrimSuffix(strings.TrimSuffix(file, ext), "/index"), !strings.HasSuffix(file, ".d.ts")
	}
	return "", false
}

// HostFuncs implements run.Feature.
func (sc scripting) HostFuncs() map[string]run.HostFunc {
	return map[string]run.HostFunc{"skills.read": {Do: sc.readSkill}, "skills.call": {Do: sc.callTool, Large: true}}
}

// readSkill is skills.read(name, path): the text of a file.
func (sc scripting) readSkill(ctx context.Context, of *run.Execution, c sandbox.Call) (json.RawMessage, error) {
	x := sc.f.in(of)
	var args []string
	if err := json.Unmarshal(c.Args, &args); err != nil || len(args) == 0 {
		return nil, errors.New("use it as in skills.read('release-notes', 'references/style.md')")
	}
	k, err := x.f.find(x.reader(), c.Target)
	if err != nil {
		return nil, thrown(err)
	}
	text, err := readWhole(k.With(ctx), args[0], maxSkillText)
	x.f.noteRead(k, x.Request.Client, args[0], len(text), err)
	if err != nil {
		return nil, thrown(err)
	}
	return gate.Compact(text), nil
}

// callTool is skills.call(name, tool, input). What a workflow answers is a
// value, also when it is that an answer was wrong.
func (sc scripting) callTool(ctx context.Context, of *run.Execution, c sandbox.Call) (json.RawMessage, error) {
	x := sc.f.in(of)
	var args []json.RawMessage
	var tool string
	if json.Unmarshal(c.Args, &args) != nil || len(args) == 0 || json.Unmarshal(args[0], &tool) != nil {
		return nil, errors.New("use it as in skills.call('release-notes', 'start', { version: '2' })")
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
		return nil, thrown(err)
	}
	return value.JSON, nil
}

// thrown is an error as a script catches it, with the code of what it is.
func thrown(err error) error {
	var code, message string
	if e, ok := errors.AsType[*skills.FileError](err); ok {
		code, message = e.Code, e.Message
	} else if e, ok := errors.AsType[*script.Error](err); ok {
		code, message = string(e.Code), e.Message
	} else {
		return err
	}
	return &sandbox.CallError{Name: "SkillError", Message: message, Fields: gate.Compact(map[string]string{"code": code})}
}

// maxSkillFiles bounds the files of all skills together.
const maxSkillFiles = 64 << 20

// Files implements run.Library: the files of the skills that the script of x may use, for a
// runner that gives its scripts a file system. Nothing is looked at before that
// asks for them.
func (sc scripting) Files(of *run.Execution) *sandbox.Files {
	x := sc.f.in(of)
	if x.o.Registry == nil {
		return nil
	}
	var list []*skills.Skill
	return &sandbox.Files{
		Dir: x.o.Dir,
		Key: func() (key string) {
			x.f.Refresh() // one that was switched off since then is not there
			list, key = x.skillsThatFit()
			return key
		},
		All: func(yield func(sandbox.File, error) bool) { eachFile(list, yield) },
	}
}

// filesUse says to one who has activated a skill where scripts find its files;
// empty if they do not.
func (a advice) filesUse(k *skills.Skill) string {
	o := a.f.opts.Load()
	if !hasFolder(k) || !o.Python {
		return ""
	}
	return fmt.Sprintf("\nPython in execute_code finds the files of this skill in %s, read-only.", o.folderOf(k))
}

// folderOf is where programs in containers find the files of a skill.
func (o *Options) folderOf(k *skills.Skill) string { return o.Dir + "/" + path.Base(k.Ref) }

// skillsThatFit returns the skills with files for a script, and a text that changes
// with any of the files. An omitted skill becomes a note if the script may use it.
func (x *running) skillsThatFit() (list []*skills.Skill, key string) {
	sum, left := sha256.New(), int64(maxSkillFiles)
	for _, k := range x.usableSkills() {
		stamp, size, err := k.Stamp()
		if err == nil && size > left {
			err = fmt.Errorf("all skills together have more than %d MiB", maxSkillFiles>>20)
		}
		if err != nil {
			if strings.Contains(x.Request.Code, "skills") {
				x.Note(fmt.Sprintf("the files of skill %s are not in %s: %v", k.Ref, x.o.Dir, err))
			}
			continue
		}
		left -= size
		list = append(list, k)
		_, _ = io.WriteString(sum, k.Ref+"\x00"+k.Origin()+"\x00"+stamp+"\x00\x00") // never fails
	}
	if len(list) == 0 {
		return nil, ""
	}
	return list, hex.EncodeToString(sum.Sum(nil))
}

// eachFile yields the files of skills, each skill in a folder of its name. A
// skill that has gone since then is left out.
func eachFile(list []*skills.Skill, yield func(sandbox.File, error) bool) {
	for _, k := range list {
		b, err := k.Bundle()
		if _, ok := errors.AsType[*skills.FileError](err); ok {
			continue
		}
		if err != nil {
			yield(sandbox.File{}, err)
			return
		}
		if !eachOf(b, k.Ref, yield) {
			return
		}
	}
}

// eachOf yields the files of one skill, and reports whether to go on.
func eachOf(b *skills.Bundle, folder string, yield func(sandbox.File, error) bool) bool {
	for _, f := range b.Files {
		if !yield(sandbox.File{Path: folder + "/" + f.Path, Executable: f.Executable, Data: f.Data}, nil) {
			return false
		}
	}
	return true
}
