package clients

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// ProjectServers are the servers of Claude Code for one project: in the user's file, which is its
// default scope, and in the project's.
type ProjectServers struct {
	Dir string `json:"dir"`
	// Servers are in the user's file, for this user alone.
	Servers []string `json:"servers"`
	// Shared are in the project's file, whose author may be somebody else.
	Shared []string `json:"shared,omitempty"`
	// Sources are those that this user uses there: the servers of the user's file, and the
	// shared ones that the user has allowed.
	Sources []Source `json:"-"`
}

// maxProjects bounds the projects that OtherProjects returns.
const maxProjects = 50

// OtherProjects returns the servers of a client for single projects other than that of e, sorted
// by folder. It leaves out folders that do not exist.
func OtherProjects(c *Client, e Env, o *Options) []ProjectServers {
	if c.ID != "claude-code" {
		return nil
	}
	user := c.user(e)[0]
	data, err := readAll(user)
	if err != nil {
		return nil
	}
	r := reader{client: c, env: e, options: orZero(o)}
	own := r.projectKeys()
	all := allowsAll(c, e)
	var list []ProjectServers
	for _, dir := range projectFolders(data) {
		if len(list) == maxProjects || slices.Contains(own, dir) {
			continue
		}
		if p := r.inProject(user, data, dir, all); len(p.Servers)+len(p.Shared) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// projectFolders returns the folders for which a user's file has settings, in order.
func projectFolders(data []byte) []string {
	v, ok, err := config.LookupKey(data, []string{"projects"})
	if !ok || err != nil {
		return nil
	}
	var dirs []string
	for _, f := range object(config.Value(v)) {
		if info, err := os.Stat(f.Key); err == nil && info.IsDir() && filepath.IsAbs(f.Key) {
			dirs = append(dirs, f.Key)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// inProject returns the servers of one project. allowed means that the user uses all servers of
// project files.
func (r reader) inProject(user string, data []byte, dir string, allowed bool) ProjectServers {
	r.env.Dir = dir
	p := ProjectServers{Dir: dir, Servers: []string{}}
	local := serverLocation{[]string{"projects", dir, "mcpServers"}, "local"}
	if entries, err := r.entries(data, user, local); err == nil && len(entries) > 0 {
		s := Source{Client: r.client.ID, Path: user, Scope: "local", Dir: dir, Servers: entries}
		if p.Servers = s.names(); len(p.Servers) > 0 {
			p.Sources = append(p.Sources, s)
		}
	}
	yes := stringsAt(data, "projects", dir, "enabledMcpjsonServers")
	for _, path := range r.client.project(r.env) {
		if slices.ContainsFunc(r.client.user(r.env), func(u string) bool { return sameFile(u, path) }) {
			continue
		}
		for _, s := range r.read(path, "project") {
			p.Shared = append(p.Shared, s.names()...)
			s.Dir = dir
			s.Servers = slices.DeleteFunc(s.Servers, func(e Entry) bool { return e.Self || !allowed && !slices.Contains(yes, e.Name) })
			if len(s.Servers) > 0 {
				p.Sources = append(p.Sources, s)
			}
		}
	}
	return p
}

// names returns the names of the servers of s, without the broker.
func (s Source) names() []string {
	names := []string{}
	for _, e := range s.Servers {
		if !e.Self {
			names = append(names, e.Name)
		}
	}
	return names
}

// allowsAll reports whether the user's settings allow the servers of every project's file.
func allowsAll(c *Client, e Env) bool {
	settings := e.pathBelow("CLAUDE_CONFIG_DIR", ".claude", "settings.json")
	data, err := readAll(settings)
	if err != nil {
		return false
	}
	v, ok, err := config.LookupKey(data, []string{"enableAllProjectMcpServers"})
	return ok && err == nil && strings.TrimSpace(string(v.Pack())) == "true"
}
