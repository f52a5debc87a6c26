package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tailscale/hujson"
)

// projectFile is what a project says of itself.
const projectFile = ".broker.json"

// A Project narrows what is seen in a folder. Whoever has written it may be
// anybody, so it can take tools away and nothing else.
type Project struct {
	// Path is where the file is.
	Path string
	// Profile is one of the user's profiles; empty for none.
	Profile string
	// Narrow is what is left of that.
	Narrow Profile
	// Notes are as those of a Config.
	Notes []string
}

// FindProject returns the path of the project's file for a working directory, or
// "". It is looked for upwards, as far as the repository, the folder home or the
// root of the file system.
func FindProject(dir, home string) string {
	for dir != home {
		path := filepath.Join(dir, projectFile)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return ""
}

// LoadProject reads a project's file. One that is wrong is a *Report.
func LoadProject(path string) (*Project, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read project: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read project: %w", err)
	}
	c := newCollector(data)
	p := &Project{Path: path, Narrow: Profile{Servers: []string{"*"}, Allow: []string{"*"}}}
	if c.encoding() {
		if v, ok := parseSyntax(c); ok {
			c.project(v, p)
		}
	}
	if err := c.report(path); err != nil {
		return nil, err
	}
	for _, n := range c.notes {
		p.Notes = append(p.Notes, n.at(path))
	}
	return p, nil
}

func (c *collector) project(v hujson.Value, p *Project) {
	of := func(k string) string { return fmt.Sprintf("%q of the project", k) }
	c.object(v, "the project", schema{
		"profile":  c.text(of("profile"), &p.Profile),
		"servers":  c.list(of("servers"), &p.Narrow.Servers, c.pattern),
		"tools":    c.profileTools(of, &p.Narrow),
		"readOnly": c.boolean(of("readOnly"), &p.Narrow.ReadOnly),
	})
}
