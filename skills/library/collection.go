package library

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/pack"
	"github.com/mcpbroker/mcpbroker/skills/repo"
)

// A Collection is the skills of a folder or a repository, to choose from.
type Collection struct {
	// Skills are those that load, sorted by name, and Problems say what is wrong
	// with others; their paths are relative to the folder.
	Skills   []*skills.Skill
	Problems []skills.Problem
	// Notes say what of a repository was left out.
	Notes []string

	folder string       // the folder of the skills
	source *repo.Source // fetched commit
	done   func()
}

// Codes of problems of a Collection, in addition to those of the catalogue.
const (
	// CodeCopy is the code for a copy of another skill.
	CodeCopy = "copy"
	// CodeSameName is the code for a skill with the name of another one.
	CodeSameName = "same_name"
)

// OpenCollection finds the skills in the folder path or, if from is not nil, in a
// repository. A source without a skill is an error. Close removes what was
// fetched.
func OpenCollection(ctx context.Context, path string, from *repo.Source) (*Collection, error) {
	c := &Collection{done: func() {}}
	var err error
	if from != nil {
		path, c.source, c.Notes, c.done, err = fetch(ctx, *from)
	}
	if err == nil {
		c.folder, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, c.closeWith(err)
	}
	found := skills.NewRegistry(&skills.Options{Roots: func() ([]skills.Root, []skills.Problem) { return []skills.Root{c.root(c.folder)}, nil }}).Refresh()
	c.Skills = found.All()
	for _, p := range found.Problems {
		c.Problems = append(c.Problems, c.explain(p))
	}
	if len(c.Skills) == 0 {
		text := "there is no skill in it"
		if len(c.Problems) > 0 {
			text += ": " + c.Problems[0].Path + ": " + c.Problems[0].Message
		}
		return nil, c.closeWith(&pack.Error{Code: "archive_no_skill_md", Message: text})
	}
	return c, nil
}

// root returns the root for skills in a folder of the collection.
func (c *Collection) root(path string) skills.Root {
	return skills.Root{Path: path, Scope: skills.ScopeCustom, Within: c.folder, ToCopy: true}
}

// explain rewrites a problem for the person who installs: with paths of the collection,
// and whether a shadowed skill is a copy.
func (c *Collection) explain(p skills.Problem) skills.Problem {
	if p.Code == "shadowed" {
		if k, first := c.shadowed(p.Path); first != nil {
			where := c.relative(first.Dir())
			p.Code, p.Message = CodeSameName, fmt.Sprintf("the skill %.80q of %s has the same name, and comes first: to install this one instead, give its folder as the source, or with --folder", k.Name, where)
			if sameFiles(k, first) {
				p.Code, p.Message = CodeCopy, "it is a copy of "+where
			}
		}
	}
	p.Path = c.relative(p.Path)
	return p
}

func (c *Collection) relative(path string) string {
	if rel, err := filepath.Rel(c.folder, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.Base(path)
}

// shadowed returns the skill in a folder, and the first one of its name, or nil.
func (c *Collection) shadowed(dir string) (k, first *skills.Skill) {
	found := skills.NewRegistry(&skills.Options{Roots: func() ([]skills.Root, []skills.Problem) { return []skills.Root{c.root(dir)}, nil }}).Refresh().All()
	if len(found) != 1 {
		return nil, nil
	}
	i := slices.IndexFunc(c.Skills, func(o *skills.Skill) bool { return o.Name == found[0].Name })
	if i < 0 {
		return nil, nil
	}
	return found[0], c.Skills[i]
}

func sameFiles(a, b *skills.Skill) bool {
	one, err := a.Bundle()
	if err != nil {
		return false
	}
	other, err := b.Bundle()
	return err == nil && one.Digest == other.Digest
}

func (c *Collection) closeWith(err error) error {
	c.Close()
	return err
}

// Close removes what was fetched.
func (c *Collection) Close() { c.done() }

// Pick returns where the skills of these names are installed from.
func (c *Collection) Pick(names []string) ([]From, error) {
	var list []From
	for _, name := range names {
		var known []string
		i := slices.IndexFunc(c.Skills, func(k *skills.Skill) bool {
			known = append(known, k.Name)
			return k.Name == name
		})
		if i < 0 {
			return nil, &pack.Error{Code: "not_found", Message: fmt.Sprintf("there is no skill %.80q in it", name) + nearest.Hint(name, known, "there are", "there are none")}
		}
		list = append(list, From{Path: c.Skills[i].Dir(), Repo: c.source, Within: c.folder})
	}
	return list, nil
}

// Names are those of all its skills.
func (c *Collection) Names() (names []string) {
	for _, k := range c.Skills {
		names = append(names, k.Name)
	}
	return names
}
