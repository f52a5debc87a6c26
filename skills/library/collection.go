package library

import (
	"context"
	"fmt"
	"os"
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

	source  *repo.Source // the commit that it was fetched at
	fetched string
}

// OpenCollection finds the skills in the folder path or, if from is not nil, in a
// repository. A source without a skill is an error. Close removes what was
// fetched.
func OpenCollection(ctx context.Context, path string, from *repo.Source) (*Collection, error) {
	c := &Collection{}
	if from != nil {
		var err error
		c.fetched, c.source, c.Notes, err = fetch(ctx, *from)
		if err != nil {
			return nil, c.closeWith(err)
		}
		path = c.fetched
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, c.closeWith(err)
	}
	found := skills.NewRegistry(&skills.Options{Roots: func() ([]skills.Root, []skills.Problem) {
		return []skills.Root{{Path: path, Scope: skills.ScopeCustom, Within: path}}, nil
	}}).Refresh()
	c.Skills = found.All()
	for _, p := range found.Problems {
		if rel, err := filepath.Rel(path, p.Path); err == nil {
			p.Path = rel
		}
		c.Problems = append(c.Problems, p)
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

func (c *Collection) closeWith(err error) error {
	c.Close()
	return err
}

// Close removes what was fetched.
func (c *Collection) Close() {
	if c.fetched != "" {
		os.RemoveAll(c.fetched)
	}
}

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
		list = append(list, From{Path: c.Skills[i].Dir(), Repo: c.source})
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
