package api

import (
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
	"github.com/mcpbroker/mcpbroker/skills/repo"
)

// A Plugin is one that is installed.
type Plugin struct {
	plugin.About
	Enabled bool `json:"enabled"`
	// Servers are those that can be used, and SkippedServers the names of the
	// others. Of OverriddenServers the config has its own.
	Servers           []Server         `json:"servers"`
	SkippedServers    []string         `json:"skipped_servers"`
	OverriddenServers []string         `json:"overridden_servers"`
	Skills            []string         `json:"skills"`
	Commands          []plugin.Command `json:"commands"`
	// Source is the commit of its repository; null if it came from a file. A repository
	// of this host is named by the last element of its path.
	Source *repo.Source `json:"source"`
	// Approved is the approval of its servers in their present state; null means that
	// they do not start.
	Approved *Approval `json:"approved"`
	Problems []Remark  `json:"problems"`
}

// A Server is an MCP server of a plugin. How it is started is not told: that may
// hold secrets.
type Server struct {
	Name      string `json:"name"`
	Transport string `json:"transport"` // stdio or http
}

func (s *server) pluginOf(p library.Plugin) Plugin {
	one := Plugin{
		About: p.About, Enabled: p.Enabled, Servers: []Server{},
		SkippedServers: append([]string{}, p.Skipped...), OverriddenServers: p.Overridden, Skills: p.Skills, Commands: p.Commands, Source: sourceOf(p.Source),
		Problems: remarks(p.Problems, s.o.Library().Hider()),
	}
	if a := p.Approved; a != nil {
		one.Approved = &Approval{a.Digest, a.Servers, a.Env}
	}
	for _, server := range p.Servers {
		var ends struct {
			Command string `json:"command"`
		}
		transport := "http"
		if json.Unmarshal(server.Config, &ends) == nil && ends.Command != "" {
			transport = "stdio"
		}
		one.Servers = append(one.Servers, Server{server.Name, transport})
	}
	return one
}

// sourceOf is a source without the path of a repository on this host.
func sourceOf(from *repo.Source) *repo.Source {
	if from == nil || !strings.HasPrefix(from.URL, "file:") {
		return from
	}
	told := *from
	told.URL = "file:///" + path.Base(from.URL)
	return &told
}

func (s *server) listPlugins(*http.Request) (int, any, error) {
	l := s.o.Library()
	list, problems, err := l.Plugins()
	if err != nil {
		return 0, nil, err
	}
	rows := []Plugin{}
	for _, p := range list {
		rows = append(rows, s.pluginOf(p))
	}
	return http.StatusOK, map[string]any{"plugins": rows, "problems": remarks(problems, l.Hider())}, nil
}

func (s *server) showPlugin(r *http.Request) (int, any, error) {
	p, err := s.o.Library().Plugin(r.PathValue("name"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.pluginOf(p), nil
}

func (s *server) listCommands(r *http.Request) (int, any, error) {
	p, err := s.o.Library().Plugin(r.PathValue("name"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"commands": p.Commands}, nil
}

func (s *server) switchPlugin(r *http.Request) (int, any, error) {
	on, err := readSwitch(r)
	if err != nil {
		return 0, nil, err
	}
	p, err := s.library(r).SwitchPlugin(r.PathValue("name"), on)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.pluginOf(p), nil
}

func (s *server) removePlugin(r *http.Request) (int, any, error) {
	name := r.PathValue("name")
	if err := s.library(r).RemovePlugin(name); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]string{"removed": name}, nil
}

// maxPluginBytes bounds the archive of a plugin.
const maxPluginBytes = 64 << 20

// An InstalledPlugin answers the installation of a plugin. Notes are what of a
// repository was left out.
type InstalledPlugin struct {
	Plugin Plugin   `json:"plugin"`
	Notes  []string `json:"notes"`
}

// An Approval approves servers of a plugin, and the variables that they may read.
type Approval struct {
	Digest  string   `json:"digest"`
	Servers []string `json:"servers"`
	Env     []string `json:"env"`
}

// approves returns the Ask for a request that installs a plugin. The request must name
// the servers exactly; otherwise the answer lists what has to be approved.
func approves(sent *Approval, hide func(string) string) library.Ask {
	return func(r library.Request) ([]string, error) {
		if sent != nil && sent.Digest == r.Digest && slices.Equal(slices.Sorted(slices.Values(sent.Servers)), slices.Sorted(slices.Values(r.Names()))) {
			return sent.Env, nil
		}
		p := newProblem(http.StatusConflict, "approval_needed", `plugin %s has servers that would run or connect to what "approval" shows: read it, and send "approve" with its "digest", the names of its "servers" and as "env" the variables that they may read`, r.Plugin)
		for i := range r.Servers {
			r.Servers[i].Runs = hide(r.Servers[i].Runs)
		}
		p.Approval = &r
		return nil, p
	}
}

func (s *server) installPlugin(r *http.Request) (int, any, error) {
	from, done, err := readSource(r, maxPluginBytes, true)
	if err != nil {
		return 0, nil, err
	}
	defer done()
	l := s.library(r)
	wanted := library.From{Path: from.Path, Upload: from.upload}
	switch {
	case from.Repository != "":
		wanted.Repo = &repo.Source{URL: from.Repository, Ref: from.Ref, Folder: from.Folder}
	case from.Offer != "":
		if wanted.Offer, err = l.Offer(from.Offer); err != nil {
			return 0, nil, err
		}
	}
	p, replaced, notes, err := l.InstallPlugin(r.Context(), wanted, from.Force, approves(from.Approve, l.Hider()))
	if err != nil {
		return 0, nil, sourceProblem(err)
	}
	return created(replaced), InstalledPlugin{s.pluginOf(p), append([]string{}, notes...)}, nil
}
