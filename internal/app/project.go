package app

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/approvals"
	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

// A Project is the project of a client's folder, as this process uses it. A nil Project
// changes nothing.
type Project struct {
	*config.Project
	Trusted    bool   // servers may start, and profile replaces the default one
	WasTrusted bool   // an earlier version was trusted
	Bound      string // the profile of its clients, if any
	Ignored    error  // another user may have written the file, so it is ignored
}

// ProjectPath returns the file of the project that contains a folder, or "".
func ProjectPath(dir string) string {
	if dir == "" {
		return ""
	}
	home, _ := os.UserHomeDir() // without it, the search ends at the root
	return config.FindProject(dir, home)
}

// ProjectFolder returns dir, a working directory, or "" if it is the root or the home
// directory: there, clients without a project start programs.
func ProjectFolder(dir string) string {
	if home, _ := os.UserHomeDir(); dir == home || dir == filepath.Dir(dir) {
		return ""
	}
	return dir
}

// OpenProject reads a project's file and whether it is trusted.
func OpenProject(path, state string) (*Project, error) {
	if path == "" {
		return nil, nil
	}
	read, err := config.LoadProject(path)
	if foreign, ok := errors.AsType[*config.ForeignError](err); ok {
		return &Project{Project: &config.Project{Path: path}, Ignored: foreign}, nil
	}
	if err != nil {
		return nil, err
	}
	p := &Project{Project: read}
	digest := p.Digest()
	if digest == "" {
		return p, nil
	}
	given, err := approvals.In(approvals.InDir(state)).Get(approvals.Project, p.RealPath())
	if err != nil {
		return nil, err
	}
	p.WasTrusted, p.Trusted = given.Digest != "", given.Covers(digest)
	return p, nil
}

// Join returns a config with the servers of the project, if they are trusted, behind
// its own. A name that the config has already is the config's.
func (p *Project) Join(cfg *config.Config) *config.Config {
	if p == nil || !p.Trusted {
		return cfg
	}
	joined := *cfg
	joined.Servers = slices.Clone(cfg.Servers)
	no := false
	for _, s := range p.Enabled() {
		if cfg.Server(s.Name) == nil {
			s.Learn = &no // what is learned is kept by name, and projects share names
			joined.Servers = append(joined.Servers, s)
		}
	}
	return &joined
}

// Warnings returns what the user should know of the project, one line each. cfg is
// joined.
func (p *Project) Warnings(cfg *config.Config) []string {
	if p == nil {
		return nil
	}
	notes := slices.Clone(p.Notes)
	for _, s := range p.Enabled() {
		own, profile := cfg.Server(s.Name), profileOf("", cfg.Broker.Profiles[p.Profile])
		switch {
		case !p.Trusted:
		case own != nil && own.File == "":
			notes = append(notes, fmt.Sprintf("%s: server %s is left out: your config has one of that name", s.File, words.Line(s.Name, 100)))
		case p.Profile != "" && !profile.HasServer(s.Name):
			notes = append(notes, fmt.Sprintf("%s: server %s is left out: the profile %q does not have it", s.File, words.Line(s.Name, 100), p.Profile))
		}
	}
	if n := p.Notice(cfg); n != "" {
		notes = append(notes, n)
	}
	return notes
}

// Notice returns what models should know too: why there is less than one may expect.
func (p *Project) Notice(cfg *config.Config) string {
	if p == nil {
		return ""
	}
	if p.Ignored != nil {
		return p.Ignored.Error()
	}
	if _, ok := cfg.Broker.Profiles[p.Profile]; !ok && p.Profile != "" {
		return fmt.Sprintf("%s: there is no profile %q in %s%s, so nothing can be used here", p.Path, p.Profile, cfg.Path, cfg.Broker.NearProfile(p.Profile))
	}
	if p.Trusted {
		return ""
	}
	var less []string
	if file := cfg.Broker.Profile; p.Bound == "" && file != "" && p.Profile != "" && p.Profile != file {
		less = append(less, fmt.Sprintf("only servers and tools that are in both profiles, %q and %q, can be used here", file, p.Profile))
	}
	waiting := p.Enabled()
	if len(waiting) > 0 {
		are := "are"
		if len(waiting) == 1 {
			are = "is"
		}
		less = append(less, fmt.Sprintf("%s of this project %s left out", words.Count(len(waiting), "server"), are))
	}
	if len(less) == 0 {
		return ""
	}
	why := "not trusted yet"
	if p.WasTrusted {
		why = "changed since you trusted it"
	}
	return fmt.Sprintf("%s: %s, since it is %s: run broker projects trust %s", p.Path, strings.Join(less, ", and "), why, words.Shell(p.Path))
}

// View returns the view for a profile, or for none. The profile of a trusted project
// replaces the default one; otherwise both apply.
func (p *Project) View(b *broker.Broker, cfg *config.Config, bound string) *broker.Broker {
	name := ""
	if bound == "" {
		name = cfg.Broker.Profile
	}
	if p == nil || p.Ignored != nil {
		return b.View(name)
	}
	narrow := profileOf("", p.Narrow)
	plain := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
	for _, s := range cfg.Servers {
		if s.File != "" { // "servers" of the file is about those of the user
			narrow.Servers = append(slices.Clip(narrow.Servers), plain.Replace(s.Name))
		}
	}
	if !p.Trusted {
		b = b.View(name)
	}
	return b.View(cmp.Or(p.Profile, name), narrow)
}

// Status returns the state of the project in a word or two.
func (p *Project) Status() string {
	switch {
	case p.Ignored != nil:
		return "ignored"
	case p.Digest() == "":
		return "has no servers"
	case p.Trusted:
		return "trusted"
	case p.WasTrusted:
		return "changed"
	}
	return "not trusted"
}
