package skills

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

const (
	// maxDepth is how far below a root skills are looked for.
	maxDepth = 6
	// maxFolders bounds how many folders of one root are looked into.
	maxFolders = 2000
)

// A Root is a folder in which skills are looked for, in all folders below it. A
// skill's own folder is not searched for others.
type Root struct {
	Path  string
	Scope Scope
	// Plugin names the plugin for ScopePlugin.
	Plugin string
	// Named says who named the folder, such as "$AGENT_SKILLS_PATH": that it is not
	// there is a problem then. Empty is for one that need not be there.
	Named string
	// Within is the folder that no link may lead out of; empty allows links to
	// anywhere, as for folders that the user keeps himself.
	Within string
	// ToCopy is set if skills are only copied from the root. A SKILL.md may then be a
	// link to a file inside Within.
	ToCopy bool
}

// A Problem is a diagnostic about something on the disk. It is for the user's
// eyes: Path is one of this host.
type Problem struct {
	Path string `json:"path"`
	Diagnostic
}

// A seen is the state of a file or folder, to notice a change of it.
type seen struct {
	path     string
	there    bool
	size     int64
	modified time.Time
}

func look(path string) seen {
	info, err := os.Stat(path)
	if err != nil {
		return seen{path: path}
	}
	s := seen{path: path, there: true, modified: info.ModTime()}
	if !info.IsDir() { // the size of a folder means different things
		s.size = info.Size()
	}
	return s
}

// A loaded is a SKILL.md that was read, and is not read again while it and the
// workflow beside it stay the same.
type loaded struct {
	seen
	flow   seen
	folder string
	ok     bool
	skill  Skill
	list   []Diagnostic
}

// A walker looks for skills. Its cache is that of the last walk.
type walker struct {
	cache, next map[string]*loaded
	visited     map[string]bool // real paths of folders
	watched     []seen
	skills      []*Skill
	problems    []Problem
	folders     int
}

func newWalker(cache map[string]*loaded) *walker {
	return &walker{cache: cache, next: map[string]*loaded{}, visited: map[string]bool{}}
}

// walk looks into one root. One that does not exist is none, and a problem if
// somebody has named it.
func (w *walker) walk(r Root) {
	w.folders = 0
	real, err := filepath.EvalSymlinks(r.Path)
	if err != nil {
		w.watched = append(w.watched, seen{path: r.Path})
		switch {
		case !errors.Is(err, fs.ErrNotExist):
			w.problem(r.Path, "unreadable", "the folder cannot be read: %s", cause(err))
		case r.Named != "":
			w.problem(r.Path, "missing_folder", "there is no such folder, which %s names", r.Named)
		}
		return
	}
	if r.Within != "" && !inside(r.Within, real) {
		w.problem(r.Path, "symlink_escape", "the folder is a link that leads out of the project: it is not followed")
		return
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		w.watched = append(w.watched, look(real))
		w.problem(r.Path, "unreadable", "the folder cannot be read: %s", cause(err))
		return
	}
	defer root.Close()
	w.folder(root, folderPath{real, r.Path}, 0, r)
}

// inside reports whether a real path is a folder or in it.
func inside(folder, real string) bool {
	if r, err := filepath.EvalSymlinks(folder); err == nil {
		folder = r
	}
	rel, err := filepath.Rel(folder, real)
	return err == nil && filepath.IsLocal(rel)
}

// A folderPath is a folder by its real path and by the one that it was found at.
type folderPath struct{ real, shown string }

func (p folderPath) join(name string) folderPath {
	return folderPath{filepath.Join(p.real, name), filepath.Join(p.shown, name)}
}

func (w *walker) problem(path, code, format string, args ...any) {
	w.problems = append(w.problems, Problem{path, Diagnostic{Code: code, Severity: Warning, Message: fmt.Sprintf(format, args...)}})
}

// folder looks into a folder, which is open, and those below it. Links come
// last, so that a folder is found where it really is.
func (w *walker) folder(root *os.Root, at folderPath, depth int, r Root) {
	if w.visited[at.real] {
		return
	}
	w.visited[at.real] = true
	if w.folders++; w.folders > maxFolders {
		if w.folders == maxFolders+1 {
			w.problem(r.Path, "too_many_folders", "only %d folders are looked into: name the folder of the skills itself", maxFolders)
		}
		return
	}
	w.watched = append(w.watched, look(at.real))
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		w.problem(at.shown, "unreadable", "the folder cannot be read: %s", cause(err))
		return
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if file := pickFile(names); file != "" {
		w.skill(root, file, at, r)
		return
	}
	if depth == maxDepth {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || skipped(e.Name()) {
			continue
		}
		if sub, err := root.OpenRoot(e.Name()); err != nil {
			w.problem(at.join(e.Name()).shown, "unreadable", "the folder cannot be read: %s", cause(err))
		} else {
			w.folder(sub, at.join(e.Name()), depth+1, r)
			sub.Close()
		}
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 && !skipped(e.Name()) {
			w.link(at.join(e.Name()), depth, r)
		}
	}
}

// link follows a link to a folder.
func (w *walker) link(at folderPath, depth int, r Root) {
	real, err := filepath.EvalSymlinks(at.real)
	if err != nil {
		return // it leads nowhere
	}
	info, err := os.Stat(real)
	if err != nil || !info.IsDir() || w.visited[real] {
		return
	}
	if r.Within != "" && !inside(r.Within, real) {
		w.problem(at.shown, "symlink_escape", "the link leads out of the project: it is not followed")
		return
	}
	sub, err := os.OpenRoot(real)
	if err != nil {
		w.problem(at.shown, "unreadable", "the folder cannot be read: %s", cause(err))
		return
	}
	defer sub.Close()
	w.folder(sub, folderPath{real, at.shown}, depth+1, r)
}

// skill reads the skill in a folder, unless it was read before.
func (w *walker) skill(root *os.Root, file string, at folderPath, r Root) {
	now := look(filepath.Join(at.real, file))
	w.watched = append(w.watched, now)
	folder := filepath.Base(at.shown)
	if abs, err := filepath.Abs(at.shown); err == nil {
		folder = filepath.Base(abs)
	}
	flow := look(filepath.Join(at.real, workflow.FileName))
	if flow.there { // or else the folder changes when it comes
		w.watched = append(w.watched, flow)
	}
	l := w.cache[at.real]
	if l == nil || l.seen != now || l.flow != flow || l.folder != folder {
		l = &loaded{seen: now, flow: flow, folder: folder}
		doc := w.read(root, file, at, folder, r)
		if flow.there {
			doc.judgeWorkflow(root.FS())
		}
		if l.ok, l.list = doc.Judge(Lenient); l.ok {
			l.skill.fill(doc)
			strict, _ := doc.Judge(Strict)
			l.skill.Valid = strict && file == FileName
		}
	}
	w.next[at.real] = l
	if !l.ok {
		for _, d := range l.list {
			if d.Severity == Error {
				w.problems = append(w.problems, Problem{at.shown, d})
			}
		}
		return
	}
	s := l.skill
	s.Scope, s.Plugin, s.Diagnostics = r.Scope, r.Plugin, l.list
	s.dir, s.shown, s.folder, s.file = at.real, at.shown, folder, now
	w.skills = append(w.skills, &s)
}

// read reads the SKILL.md in a folder.
func (w *walker) read(root *os.Root, file string, at folderPath, folder string, r Root) *Doc {
	if r.ToCopy {
		if real, err := filepath.EvalSymlinks(filepath.Join(at.real, file)); err == nil && inside(r.Within, real) {
			if top, err := os.OpenRoot(filepath.Dir(real)); err == nil {
				defer top.Close()
				return readNamed(top, filepath.Base(real), file, folder)
			}
		}
	}
	return readFile(root, file, folder)
}

// choose decides which skill has a name: an excluded one only if there is no other. The
// others are reported, except those of plugins, which are available as plugin:name, and
// excluded ones.
func choose(list []*Skill, problem func(path, code, format string, args ...any)) []*Skill {
	excluded := func(s *Skill) int {
		if s.State == Excluded {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b *Skill) int {
		return cmp.Or(cmp.Compare(excluded(a), excluded(b)), cmp.Compare(slices.Index(scopes, a.Scope), slices.Index(scopes, b.Scope)))
	})
	taken := map[string]*Skill{}
	var chosen []*Skill
	for _, s := range list {
		if s.Scope != ScopeServer {
			s.Ref = s.Name
		} else if taken[s.Ref] != nil { // a plugin has the server's name
			s.Ref = s.longRef()
		}
		if s.Scope == ScopePlugin && (taken[s.Ref] != nil || strings.Contains(s.Name, ":")) {
			s.Ref = s.ID()
		}
		if first := taken[s.Ref]; first != nil {
			if s.State == Excluded {
				continue
			}
			where := first.shown
			if where == "" {
				where = "a skill of the program"
			}
			problem(s.shown, "shadowed", "there is another skill %s, of %s, which is used: %s", quoted(s.Name), first.Origin(), where)
			continue
		}
		taken[s.Ref] = s
		chosen = append(chosen, s)
	}
	slices.SortStableFunc(chosen, func(a, b *Skill) int {
		// Those of the program keep their order, after the others.
		if av, bv := a.virtual != nil, b.virtual != nil; av || bv {
			switch {
			case av && bv:
				return 0
			case av:
				return 1
			}
			return -1
		}
		return strings.Compare(a.Ref, b.Ref)
	})
	return chosen
}

// longRef is the Ref of a server's skill where its short one is a plugin's.
func (s *Skill) longRef() string { return "server:" + s.Ref }
