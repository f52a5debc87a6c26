package skills

import (
	"fmt"
	"path/filepath"
)

// An InvalidError says why a folder is not a skill.
type InvalidError struct {
	// Path is the folder as it was given.
	Path string
	// Diagnostics are all errors and warnings.
	Diagnostics []Diagnostic
}

// Error is the first of the errors.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("skill %s: %s", e.Path, firstError(e.Diagnostics))
}

// Load loads the skill in the folder at path for a program that names it. Other
// than a Registry, which wants to load what it can, it is strict: what is not
// what the standard says is an *InvalidError. The text and the files are read
// when they are asked for.
func Load(path string) (*Skill, error) {
	path, file := Locate(path)
	doc := ReadPath(path)
	ok, list := doc.Judge(Strict)
	if !ok {
		return nil, &InvalidError{path, list}
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, err
	}
	shown, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s := &Skill{Scope: ScopeConfigured, State: Enabled, Diagnostics: list, dir: real, shown: shown, folder: filepath.Base(shown), file: look(filepath.Join(real, file))}
	s.fill(doc)
	s.Ref = s.Name
	return s, nil
}
