// Package plugin reads plugins: folders with a manifest, MCP servers, skills and
// commands (.claude-plugin/plugin.json, .mcp.json, skills/, commands/).
//
// It reads and runs nothing. Servers are handed on as they would stand in a
// config, under the name plugin:server; skills as roots for a registry; commands
// as prompts whose text is rendered when it is asked for. No path in a plugin
// leads out of its folder.
package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/pack"
)

const (
	// ManifestFile is the manifest of a plugin. A folder with the usual parts is also a
	// plugin without it.
	ManifestFile   = ".claude-plugin/plugin.json"
	cursorManifest = ".cursor-plugin/plugin.json"

	serversFile  = ".mcp.json"
	rootVariable = "${CLAUDE_PLUGIN_ROOT}"
	maxJSONBytes = 4 << 20
)

// limits bound a plugin that is installed.
var limits = pack.Limits{Files: 4096, Bytes: 64 << 20}

// An Error says why a folder is not a plugin or marketplace, or what is wrong with a name.
type Error struct {
	// Code is missing_manifest, bad_manifest, bad_command, plugin_not_found or
	// marketplace_not_found.
	Code    string
	Message string
}

func (e *Error) Error() string { return e.Message }

// About is what a plugin says of itself.
type About struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	Author      string `json:"author,omitempty"`
}

// A Plugin is one that was read. It is not changed.
type Plugin struct {
	About
	// Dir is its folder on this host.
	Dir string `json:"path"`
	// Servers are those that can be used, sorted by name, and Skipped the names
	// of the others.
	Servers  []Server  `json:"servers"`
	Skipped  []string  `json:"skipped_servers"`
	Commands []Command `json:"commands"`
	// Problems are what is wrong with parts of it, the same each time:
	// server_no_endpoint, bad_servers, bad_command, missing_skills, path_escape.
	Problems []skills.Problem `json:"problems"`
	// Unused names its parts that are for other programs, such as agents and hooks.
	Unused []string `json:"unused,omitempty"`

	skillDirs []string // relative, with slashes
}

// A Server is an MCP server of a plugin.
type Server struct {
	// Name is plugin:key.
	Name string `json:"name"`
	// Config is the entry as it would stand in a config, with the plugin's folder
	// put in where it is named.
	Config json.RawMessage `json:"config"`

	written json.RawMessage // as it stands in the plugin
}

var usableName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Load reads the plugin in the folder dir. A plugin without a name gets that of the
// folder. If the folder is not a plugin, the error is an *Error; problems of a part are
// problems of the plugin.
func Load(dir string) (*Plugin, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, &Error{"missing_manifest", fmt.Sprintf("there is no folder %s", dir)}
	}
	defer root.Close()
	m, err := readManifest(root, filepath.Base(abs))
	if err != nil {
		return nil, err
	}
	return load(root, m, abs), nil
}

// load reads a plugin that is in the folder dir, or will be when it is installed.
func load(root *os.Root, m *manifest, dir string) *Plugin {
	p := &Plugin{
		About: About{m.Name, m.Version, m.Description, author(m.Author)}, Dir: dir,
		Servers: []Server{}, Skipped: []string{}, Commands: []Command{}, Problems: []skills.Problem{},
	}
	p.readServers(root, m)
	p.readSkills(root, m)
	for i, at := range p.paths("commands", m.Commands, m.includesDefaults()) {
		p.readCommands(root, at, m.Commands.names[at], !m.includesDefaults() || i > 0)
	}
	p.Unused = unused(root, m)
	slices.SortFunc(p.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Commands, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return p
}

// readFile reads a file of at most limit bytes, without a byte order mark.
func readFile(root *os.Root, name string, limit int64) ([]byte, error) {
	info, err := root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, errors.New("not a regular file, or too large")
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	return bytes.TrimPrefix(data, []byte("\ufeff")), err
}

// cause is an error without the path that it happened at.
func cause(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return jsonscan.Explain(err).Error()
}

// author is a name, or an object with one.
func author(raw json.RawMessage) string {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return name
	}
	var person struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(raw, &person) // otherwise its name is unknown
	return person.Name
}

func (p *Plugin) problem(at, code, format string, args ...any) {
	p.Problems = append(p.Problems, skills.Problem{
		Path:       filepath.Join(p.Dir, filepath.FromSlash(at)),
		Diagnostic: skills.Diagnostic{Code: code, Severity: skills.Warning, Message: fmt.Sprintf(format, args...)},
	})
}

// inside cleans a path of the manifest; ok is false if it leads out.
func (p *Plugin) inside(name string) (clean string, ok bool) {
	clean = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if path.IsAbs(clean) || !filepath.IsLocal(filepath.FromSlash(clean)) {
		p.problem(ManifestFile, "path_escape", "%q leads out of the plugin: it is left out", name)
		return "", false
	}
	return clean, true
}

// paths are the usual folder, if the plugin has it, and what the manifest adds.
func (p *Plugin) paths(usual string, more oneOrMore, whole bool) []string {
	var list []string
	if whole {
		list = append(list, usual)
	}
	for _, m := range more.paths {
		if clean, ok := p.inside(m); ok && !slices.Contains(list, clean) {
			list = append(list, clean)
		}
	}
	return list
}

// Roots are the folders with the plugin's skills.
func (p *Plugin) Roots() []skills.Root {
	var roots []skills.Root
	for _, dir := range p.skillDirs {
		roots = append(roots, skills.Root{Path: filepath.Join(p.Dir, filepath.FromSlash(dir)), Scope: skills.ScopePlugin, Plugin: p.Name, Within: p.Dir})
	}
	return roots
}

// readServers reads the servers of .mcp.json and of the manifest, which contains
// servers, the name of a file with servers, or a list of these. Servers of .mcp.json
// take precedence.
func (p *Plugin) readServers(root *os.Root, m *manifest) {
	var read []string
	if m.includesDefaults() {
		read = append(read, serversFile)
		if m.from == cursorManifest {
			read = append(read, "mcp.json")
		}
		for _, name := range read {
			p.serverFile(root, name, true)
		}
	}
	if len(m.MCPServers) == 0 {
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(m.MCPServers, &list) != nil {
		list = []json.RawMessage{m.MCPServers}
	}
	for _, one := range list {
		var file string
		if json.Unmarshal(one, &file) != nil {
			p.addServers(ManifestFile, one)
		} else if clean, ok := p.inside(file); ok && file != "" && !slices.Contains(read, clean) {
			p.serverFile(root, clean, false)
		}
	}
}

// readSkills finds the folders with skills. A SKILL.md at the top makes the plugin a
// single skill, unless it has others.
func (p *Plugin) readSkills(root *os.Root, m *manifest) {
	p.skillDirs = p.paths("skills", m.Skills, m.includesDefaults())
	for i, dir := range p.skillDirs {
		info, err := root.Stat(filepath.FromSlash(dir))
		switch {
		case err == nil && info.IsDir():
		case err == nil && path.Base(dir) == skills.FileName:
			p.skillDirs[i] = path.Dir(dir)
		case !m.includesDefaults() || i > 0: // many plugins have no folder of skills
			p.problem(ManifestFile, "missing_skills", `"skills" names %q, but there is no such folder`, dir)
		case len(p.skillDirs) == 1 && isFile(root, skills.FileName):
			p.skillDirs[i] = "."
		}
	}
}

func (p *Plugin) serverFile(root *os.Root, name string, optional bool) {
	data, err := readFile(root, name, maxJSONBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist) && optional:
	case err != nil:
		p.problem(name, "bad_servers", "the servers cannot be read: %s", cause(err))
	default:
		p.addServers(name, data)
	}
}

func (p *Plugin) addServers(from string, data []byte) {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		p.problem(from, "bad_servers", "the servers cannot be read: %s", cause(err))
		return
	}
	if inner, ok := file["mcpServers"]; ok { // else the servers stand there by themselves
		file = nil
		if err := json.Unmarshal(inner, &file); err != nil {
			p.problem(from, "bad_servers", `"mcpServers" cannot be read: %s`, cause(err))
			return
		}
	}
	for _, key := range slices.Sorted(maps.Keys(file)) {
		p.addServer(from, key, file[key])
	}
	slices.Sort(p.Skipped)
}

func (p *Plugin) addServer(from, key string, raw json.RawMessage) {
	name := p.Name + ":" + key
	if slices.ContainsFunc(p.Servers, func(s Server) bool { return s.Name == name }) {
		return
	}
	var ends struct {
		Command string `json:"command"`
		URL     string `json:"url"`
	}
	code, why := "", ""
	switch err := json.Unmarshal(raw, &ends); {
	case err != nil:
		code, why = "bad_servers", cause(err)
	case strings.TrimSpace(key) == "":
		code, why = "bad_servers", "it has no name"
	case strings.TrimSpace(ends.Command) == "" && strings.TrimSpace(ends.URL) == "":
		code, why = "server_no_endpoint", `it has neither "command" nor "url"`
	}
	if code != "" {
		p.Skipped = append(p.Skipped, name)
		p.problem(from, code, "server %q is left out: %s", key, why)
		return
	}
	p.Servers = append(p.Servers, Server{name, substitute(raw, p.Dir), raw})
}

// substitute puts the plugin's folder into the strings of a JSON value.
func substitute(raw json.RawMessage, dir string) json.RawMessage {
	quoted, err := json.Marshal(dir)
	if err != nil || !bytes.Contains(raw, []byte(rootVariable)) {
		return raw
	}
	// Inside of a string, which is the only place where the variable can stand.
	return bytes.ReplaceAll(raw, []byte(rootVariable), quoted[1:len(quoted)-1])
}

// Servers joins the servers of plugins, in order. taken reports the names that
// the config has already, which win.
func Servers(plugins []*Plugin, taken func(name string) bool) []Server {
	var list []Server
	for _, p := range plugins {
		for _, s := range p.Servers {
			if !taken(s.Name) {
				list = append(list, s)
			}
		}
	}
	return list
}
