package skills

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// shared are the folders, below a project and below the user's home, where
// several clients look for skills.
var shared = []string{".agents/skills", ".agent/skills", ".claude/skills"}

// Places say where skills are looked for. The zero value names none.
type Places struct {
	// Path is a folder with public/ and custom/, for what came with an
	// installation and what the user installed. Skills beside the two count as
	// custom.
	Path string
	// Paths are further folders, in order.
	Paths []string
	// Scan looks into the folders that several clients share, of the project and
	// of the user.
	Scan bool
	// Dir is the folder that the broker works in; its project reaches up to the
	// folder with .git.
	Dir string
	// Home is the user's folder.
	Home string
	// Env is the value of $AGENT_SKILLS_PATH, a list of folders.
	Env string
	// Trusted decides whether the skills of a project are used: whoever writes
	// into the project tells the agent what to do. Nil trusts none.
	Trusted func(project string) bool
}

// Roots returns the folders in which skills are looked for, and a problem for
// each of a project that is not trusted.
func (p Places) Roots() (roots []Root, problems []Problem) {
	if p.Scan && p.Dir != "" {
		for _, r := range p.project() {
			if p.Trusted == nil || !p.Trusted(r.Within) {
				if _, err := os.Stat(r.Path); err == nil {
					problems = append(problems, Problem{r.Path, Diagnostic{Code: "untrusted", Severity: Warning,
						Message: `skills of this project are not used: "trustProject" in the config allows it`}})
				}
				continue
			}
			roots = append(roots, r)
		}
	}
	configured := func(list []string, named string) {
		for _, path := range list {
			if path != "" {
				roots = append(roots, Root{Path: path, Scope: ScopeConfigured, Named: named})
			}
		}
	}
	configured(p.Paths, `"paths" of the config`)
	configured(filepath.SplitList(p.Env), "$AGENT_SKILLS_PATH")
	if p.Path != "" {
		roots = append(roots,
			Root{Path: filepath.Join(p.Path, string(ScopeCustom)), Scope: ScopeCustom},
			Root{Path: filepath.Join(p.Path, string(ScopePublic)), Scope: ScopePublic},
			Root{Path: p.Path, Scope: ScopeCustom})
	}
	if p.Scan && p.Home != "" {
		for _, s := range shared {
			roots = append(roots, Root{Path: filepath.Join(p.Home, filepath.FromSlash(s)), Scope: ScopeUser})
		}
	}
	return roots, problems
}

// project lists the shared folders of Dir and of its parents, nearest first, up to the
// one with .git. The user's home is not a project.
func (p Places) project() []Root {
	dirs := []string{p.Dir}
	top := p.Dir
	for d := p.Dir; ; {
		if _, err := os.Lstat(filepath.Join(d, ".git")); !errors.Is(err, fs.ErrNotExist) {
			top = d
			break
		}
		up := filepath.Dir(d)
		if up == d {
			dirs = dirs[:1] // without one: only the folder itself
			break
		}
		d = up
		dirs = append(dirs, d)
	}
	var roots []Root
	for _, d := range dirs {
		if d == p.Home {
			break
		}
		for _, s := range shared {
			roots = append(roots, Root{Path: filepath.Join(d, filepath.FromSlash(s)), Scope: ScopeProject, Within: top})
		}
	}
	return roots
}
