package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// projectFile is the name of the configuration file of a project.
const projectFile = ".broker.json"

// A Project restricts a broker in a folder, and may add servers. Its author may be anybody, so
// only restrictions apply at once. Its servers start, and its Profile replaces the default one,
// only for users who trust Digest.
type Project struct {
	// Path is the path of the file.
	Path string
	// Profile is one of the profiles of `servers.json`, which narrows the default one
	// unless the project is trusted; default as without the file.
	Profile string
	// Narrow narrows that profile further.
	Narrow Profile
	// Servers are the servers of the file and of the files that it includes, sorted by name,
	// including disabled ones. The Dir of one with a Command is absolute or begins with a
	// reference.
	Servers []Server
	// Files are the file and those that it includes, whether or not they exist.
	Files []string
	// Notes are warnings, as in a Config.
	Notes []string
}

// FindProject returns the path of the project's file for a working directory, or "". It searches
// upwards, to the root of the repository, the folder home or the root of the file system.
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

// A ForeignError reports that a file of a project is ignored because others may have written it.
type ForeignError struct{ Path, Why string }

func (e *ForeignError) Error() string { return e.Path + " is ignored: " + e.Why }

// LoadProject reads a project's file and those that it includes. For an invalid file it returns a
// *Report, and for one that others can write to a *ForeignError. Mistakes in an included file are
// notes.
func LoadProject(path string) (*Project, error) {
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("read project: %w", err)
	}
	defer folder.Close()
	f, err := os.Open(path) // it may be a link to another folder
	if err != nil {
		return nil, fmt.Errorf("read project: %w", err)
	}
	data, err := readOwn(f, path)
	if err != nil {
		return nil, err
	}
	c := newCollector(data)
	c.ofProject = true
	p := &Project{Path: path, Files: []string{path}, Narrow: Profile{Servers: []string{"*"}, Allow: []string{"*"}}}
	var own Config
	var include []string
	if c.encoding() {
		if v, ok := parseSyntax(c); ok {
			c.project(v, p, &own, &include)
		}
	}
	if err := c.report(path); err != nil {
		return nil, err
	}
	p.take(&own, path, c.notes)
	for _, name := range include {
		p.include(folder, name)
	}
	slices.SortFunc(p.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return p, nil
}

// readOwn reads and closes a file that only the user and root can write.
func readOwn(f *os.File, path string) ([]byte, error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read project: %w", err)
	}
	if why := foreign(info); why != "" {
		return nil, &ForeignError{path, why}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read project: %w", err)
	}
	return data, nil
}

// include reads the servers of another client's file, which it does not change.
func (p *Project) include(folder *os.Root, name string) {
	path := filepath.Join(filepath.Dir(p.Path), filepath.FromSlash(name))
	p.Files = append(p.Files, path)
	info, err := folder.Stat(filepath.FromSlash(name))
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		p.Notes = append(p.Notes, fmt.Sprintf("%s: %q of \"include\" is not a file", p.Path, name))
		return
	}
	f, err := folder.Open(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		p.Notes = append(p.Notes, fmt.Sprintf("%s: %q of \"include\" is not there", p.Path, name))
		return
	}
	if err != nil {
		p.Notes = append(p.Notes, fmt.Sprintf("%s: \"include\": %v", p.Path, err))
		return
	}
	data, err := readOwn(f, path)
	if err != nil {
		p.Notes = append(p.Notes, err.Error())
		return
	}
	c := newCollector(data)
	c.ofProject, c.included = true, true
	var theirs Config
	if c.encoding() {
		if v, ok := parseSyntax(c); ok {
			c.root(v, &theirs)
		}
	}
	if err := c.report(path); err != nil {
		p.Notes = append(p.Notes, err.Error())
		return
	}
	p.take(&theirs, path, c.notes)
}

// take adds the servers of one file. The first server with a name counts.
func (p *Project) take(from *Config, path string, notes []Mistake) {
	sortMistakes(notes)
	for _, n := range notes {
		p.Notes = append(p.Notes, n.at(path))
	}
	dir := filepath.Dir(p.Path)
	for _, s := range from.Servers {
		if slices.ContainsFunc(p.Servers, func(o Server) bool { return o.Name == s.Name }) {
			p.Notes = append(p.Notes, fmt.Sprintf("%s: server %s is in a file before it, and ignored here", path, quote(s.Name)))
			continue
		}
		if s.File = path; s.Command != "" && !filepath.IsAbs(s.Dir) && !strings.HasPrefix(s.Dir, "${") {
			s.Dir = filepath.Join(dir, s.Dir)
		}
		p.Servers = append(p.Servers, s)
	}
}

// Enabled returns the servers of the project that are not disabled.
func (p *Project) Enabled() []Server {
	return slices.DeleteFunc(slices.Clone(p.Servers), func(s Server) bool { return s.Disabled })
}

// Digest returns a digest of the enabled servers, as written, and of the profile. It
// does not depend on comments or the order. It is empty without servers and profile.
func (p *Project) Digest() string {
	servers := p.Enabled()
	if len(servers) == 0 && p.Profile == "" {
		return ""
	}
	what := any(servers)
	if p.Profile != "" { // without a profile, the digest covers the servers alone
		what = []any{p.Profile, servers}
	}
	text, err := json.Marshal(what)
	if err != nil {
		return "" // strings and valid raw JSON cannot fail
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (c *collector) project(v hujson.Value, p *Project, own *Config, include *[]string) {
	of := func(k string) string { return fmt.Sprintf("%q of the project", k) }
	keys := schema{
		"profile":  c.text(of("profile"), &p.Profile),
		"tools":    c.tools(of, &p.Narrow, &p.Narrow.Allow, nil), // tools of these servers, as those of a profile; default all
		"include":  c.list(of("include"), include, c.includable), // files below the folder of the project with more servers, such as `.mcp.json` and `.vscode/mcp.json`
		serversKey: func(v hujson.Value) { c.servers(v, own) },   // servers of the project, as in `servers.json`, but without secrets
	}
	fields := c.settings(&p.Narrow, of, keys)
	c.notOfProject(fields)
	c.object(v, "the project", fields)
}

// notOfProject rejects keys that only the user's own config may have.
func (c *collector) notOfProject(fields schema) {
	for _, key := range []string{"broker", "trust", "trusted", "policy", "rules", "http", "tokens", "adminToken", "profiles", "pins", "plugins", "skills", "audit", "sandbox", "managed"} {
		fields[key] = func(value hujson.Value) {
			c.fail(value.StartOffset, "a project cannot set %q: it is for your own config", key)
		}
	}
}

// includable reads the path of a file below the project's folder.
func (c *collector) includable(where string, to *string) field {
	return func(v hujson.Value) {
		c.text(where, to)(v)
		if v.Value.Kind() == '"' && !filepath.IsLocal(filepath.FromSlash(*to)) {
			c.fail(v.StartOffset, "%s: %s is not below the folder of the project", where, quote(*to))
		}
	}
}

// RealPath returns the path by which a project is trusted.
func (p *Project) RealPath() string {
	if real, err := filepath.EvalSymlinks(p.Path); err == nil {
		return real
	}
	return p.Path
}
