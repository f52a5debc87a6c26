package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/skills"
)

// A Code says why a script has no good result.
type Code string

// The codes.
const (
	NotFound   Code = "script_not_found"
	NotAllowed Code = "script_not_allowed"
	Timeout    Code = "execution_timeout"
	Failed     Code = "execution_failed"
)

// An Error says why a script cannot be run. Its message is made for a model to
// read: it names what is nearest, and no path of the host.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// A Script is a file of a skill that can be run.
type Script struct {
	// Path is relative to the skill's folder, with slashes.
	Path string
	// Executable means that the file says so itself.
	Executable bool
	// Program is what runs it, with its options: what its first line names, else
	// what its kind is run by. Nil means that the file is a program.
	Program []string
	// About is the first comment in it, or empty.
	About string
}

// interpreters run scripts without a first line that names one.
var interpreters = map[string][]string{
	".sh": {"sh"}, ".bash": {"bash"}, ".py": {"python3"}, ".js": {"node"}, ".mjs": {"node"}, ".cjs": {"node"},
	".ts": {"node", "--experimental-strip-types"}, ".mts": {"node", "--experimental-strip-types"}, ".rb": {"ruby"}, ".pl": {"perl"},
}

// Folder is where the scripts of a skill are.
const Folder = "scripts/"

// Find finds the script of a skill. files are those of the skill: no name and no
// link leads out of them. Errors are of type *Error.
func Find(files fs.FS, name string) (*Script, error) {
	refuse := func(code Code, format string, args ...any) (*Script, error) {
		return nil, &Error{code, fmt.Sprintf(format, args...)}
	}
	clean := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if name == "" || strings.ContainsRune(name, 0) || path.IsAbs(clean) || !filepath.IsLocal(filepath.FromSlash(clean)) || !fs.ValidPath(clean) {
		return refuse(NotAllowed, "%q leads out of the skill: give a path relative to it", name)
	}
	info, err := fs.Stat(files, clean)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(NotFound, "there is no script %q%s", name, hint(files, clean))
	case err != nil:
		return refuse(NotAllowed, "%q is not a path in the skill: it leads through a file, or out by a link", name)
	case !info.Mode().IsRegular():
		return refuse(NotAllowed, "%q is not a file", name)
	}
	head, err := readHead(files, clean)
	if err != nil {
		return refuse(NotAllowed, "%q cannot be read", name)
	}
	s := parse(clean, executable(info), head)
	if !s.Executable && s.Program == nil {
		return refuse(NotAllowed, "%q is not executable, and its kind has no known interpreter", name)
	}
	return s, nil
}

// headBytes is how much of a script is looked at.
const headBytes = 4 << 10

func readHead(files fs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, headBytes))
}

// parse reads what the beginning of a file says of how it is run.
func parse(name string, executable bool, head []byte) *Script {
	s := &Script{Path: name, Executable: executable, Program: shebang(head)}
	if s.Program == nil {
		s.Program = interpreters[strings.ToLower(path.Ext(name))]
	}
	if s.Program != nil {
		s.About = comment(head)
	}
	return s
}

// shebang is the program that the first line of a script names, looked for by
// its name alone: where it is differs from one system to the next.
func shebang(head []byte) []string {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	text, ok := strings.CutPrefix(string(line), "#!")
	if !ok {
		return nil
	}
	program, option, _ := strings.Cut(strings.TrimSpace(text), " ")
	argv := []string{path.Base(program)}
	if option = strings.TrimSpace(option); option != "" {
		argv = append(argv, option) // the kernel makes one argument of it
	}
	if argv[0] == "env" {
		argv = strings.Fields(strings.TrimPrefix(option, "-S "))
	}
	if len(argv) == 0 || strings.HasPrefix(argv[0], "-") || argv[0] == "." {
		return nil
	}
	if argv[0] == "python" { // of the versions that are left, many systems have it under this name only
		argv[0] = "python3"
	}
	return argv
}

// maxAbout is how much of a comment tells what a script does.
const maxAbout = 160

// comment is the first line of the first comment of a script, or of the text at
// the beginning of one in Python.
func comment(head []byte) string {
	for line := range strings.Lines(string(head)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#!") || strings.HasPrefix(line, "# -*-") || line == "'use strict';" {
			continue
		}
		for _, mark := range []string{"#", "//", "/**", "/*", `"""`} {
			if text, ok := strings.CutPrefix(line, mark); ok {
				text = strings.TrimSpace(strings.Trim(strings.TrimSpace(text), `#/*"`))
				return gate.Cut(strings.ToValidUTF8(text, ""), maxAbout)
			}
		}
		return ""
	}
	return ""
}

// Allowed reports whether the script may be called: it is among the skill's
// scripts, is marked as executable, or text, which is the skill's SKILL.md, names
// it.
func (s *Script) Allowed(text string) bool {
	return strings.HasPrefix(s.Path, Folder) || s.Executable || strings.Contains(text, s.Path)
}

// List returns the scripts of a skill that its users see: those of its
// files, which have these paths, that are among its scripts, or that text, which
// is its SKILL.md, names.
func List(files fs.FS, paths []string, text string) []*Script {
	var list []*Script
	for _, p := range paths {
		if p == skills.FileName || !strings.HasPrefix(p, Folder) && !strings.Contains(text, p) {
			continue
		}
		info, err := fs.Stat(files, p)
		if err != nil {
			continue
		}
		head, err := readHead(files, p)
		if err != nil {
			continue
		}
		s := parse(p, executable(info), head)
		if s.Program != nil || s.Executable && bytes.HasPrefix(head, []byte("\x7fELF")) {
			list = append(list, s)
		}
	}
	return list
}

// Argv is how the script is started where the skill is in the folder dir, with
// slashes: without regard to whether a file can be marked as executable there.
func (s *Script) Argv(dir string, args []string) []string {
	return slices.Concat(s.Program, []string{dir + "/" + s.Path}, args)
}

// hint names what is nearest to a script that is not there, or else what there
// is among the scripts.
func hint(files fs.FS, name string) string {
	var known, scripts []string
	_ = fs.WalkDir(files, ".", func(p string, e fs.DirEntry, err error) error {
		if len(known) == skills.MaxFiles {
			return fs.SkipAll
		}
		if err == nil && !e.IsDir() {
			known = append(known, p)
			if strings.HasPrefix(p, Folder) {
				scripts = append(scripts, p)
			}
		}
		return nil
	})
	if near := nearest.Names(name, known, 3); len(near) > 0 {
		return ": did you mean " + strings.Join(near, ", ") + "?"
	}
	const most = 20
	if len(scripts) > most {
		scripts = append(scripts[:most:most], "…")
	}
	if len(scripts) > 0 {
		return "; there are: " + strings.Join(scripts, ", ")
	}
	return ""
}
