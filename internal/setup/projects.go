package setup

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
)

// claudeCode is the ID of the client that has servers for single projects.
const claudeCode = "claude-code"

// findProjects shows the servers that Claude Code has for single projects.
func (i *initRun) findProjects() {
	for _, c := range i.found {
		if i.wants(c) {
			i.seen.Projects = append(i.seen.Projects, clients.OtherProjects(c, i.env, i.options(false))...)
		}
	}
	if len(i.seen.Projects) == 0 || i.NoImport {
		return
	}
	cli.Fprintf(i.out, "\nClaude Code has servers for single projects:\n")
	for _, p := range i.seen.Projects {
		shared := sharedBy(p)
		refused := slices.DeleteFunc(slices.Clone(p.Shared), func(name string) bool { return slices.Contains(shared, name) })
		var parts []string
		for _, part := range []struct {
			what  string
			names []string
		}{{"", p.Servers}, {"in its .mcp.json: ", shared}, {"in its .mcp.json, and not allowed by you: ", refused}} {
			if len(part.names) > 0 {
				parts = append(parts, part.what+strings.Join(part.names, ", "))
			}
		}
		cli.Fprintf(i.out, "  %s: %s\n", cli.ShortPath(p.Dir), cli.OneLine(strings.Join(parts, "; "), 200))
	}
}

// sharedBy returns the servers of a project's file that the user has allowed.
func sharedBy(p clients.ProjectServers) (names []string) {
	for _, s := range p.Sources {
		if s.Scope == "project" {
			for _, e := range s.Servers {
				names = append(names, e.Name)
			}
		}
	}
	return names
}

// askProjects asks whether the servers of single projects are to be taken over, unless a
// flag has said so. Without a terminal they stay.
func (i *initRun) askProjects(ctx context.Context) (err error) {
	n := 0
	for _, p := range i.seen.Projects {
		n += len(p.Servers) + len(sharedBy(p))
	}
	person := i.setup.Person()
	if n == 0 || i.Projects || i.NoProjects || person == nil {
		return nil
	}
	i.Projects, err = person.Confirm(ctx, "Take over "+cli.Count(n, "server")+" of projects, too? The broker has them in every folder", true)
	return err
}

// foldersOf returns the projects whose servers leave the user's file of a client.
func (i *initRun) foldersOf(c *clients.Client) (dirs []string) {
	if c.ID != claudeCode {
		return nil
	}
	for _, s := range i.sources(c, false) {
		if s.Dir != "" {
			dirs = append(dirs, s.Dir)
		}
	}
	if i.Projects {
		dirs = append(dirs, ProjectFolders(clients.OtherProjects(c, i.env, nil))...)
	}
	return dirs
}

// ProjectFolders returns the folders that have servers in the user's file.
func ProjectFolders(list []clients.ProjectServers) (dirs []string) {
	for _, p := range list {
		if len(p.Servers) > 0 {
			dirs = append(dirs, p.Dir)
		}
	}
	return dirs
}

// projectTasks returns what is left to do for servers of project files, which others may
// use.
func (i *initRun) projectTasks() (list []task) {
	left := 0
	for _, p := range i.seen.Projects {
		var names []string
		for _, o := range i.plan.outcomes {
			if o.Dir == p.Dir && o.From == filepath.Join(p.Dir, ".mcp.json") && (o.Action == clients.Added || o.Action == clients.Same) {
				names = append(names, o.Name)
			}
		}
		if len(names) > 0 {
			list = append(list, task{Server: cli.OneLine(strings.Join(names, ", "), 100), Why: "Claude Code starts it in " + cli.ShortPath(p.Dir) + ", too, whose .mcp.json others may use",
				Do: []string{"cd " + cli.ShellWord(p.Dir) + " && broker install " + claudeCode + " --project --move"}})
		}
		if !i.Projects {
			left += len(p.Servers) + len(sharedBy(p))
		}
	}
	if left > 0 {
		list = append(list, task{Server: cli.Count(left, "server") + " of projects", Why: "Claude Code still starts them itself", Do: []string{"broker init --projects"}})
	}
	return list
}
