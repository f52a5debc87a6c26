package clients

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// A move moves servers to servers.json.
type move struct {
	// names are the servers that are removed from the client's file, by their project there; ""
	// means all projects.
	names         map[string][]string
	path          string
	before, after []byte
	secrets       bool
}

func (m *move) write() error { return WriteConfig(m.path, m.before, m.after, m.secrets) }

// WriteConfig replaces a servers.json with content before by after, unless they are equal. If
// secrets is set, only the owner can read the file.
func WriteConfig(path string, before, after []byte, secrets bool) error {
	if before != nil && bytes.Equal(before, after) {
		return nil
	}
	if secrets && before != nil {
		if err := os.Chmod(path, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return config.Replace(path, before, after)
}

// planMove decides which servers move. data is the text of the file at path, entries its
// servers for all projects.
func (r Request) planMove(path string, data []byte, entries []Entry, res *InstallResult) (*move, error) {
	before, text, err := config.ReadText(r.Config)
	if err != nil {
		return nil, err
	}
	m := &move{path: r.Config, before: before, names: map[string][]string{}}
	sources, err := r.movable(path, data, entries)
	if err != nil {
		return nil, err
	}
	after, outcomes, err := Merge(r.Config, text, sources, false)
	if err != nil {
		return nil, err
	}
	for n := range outcomes {
		o := &outcomes[n]
		if o.Disabled { // the client uses it, so the broker will too
			if after, err = config.SetDisabled(after, o.Server(), false); err != nil {
				return nil, err
			}
			o.Action, o.Disabled, o.Detail = Replaced, false, "enabled, since "+r.Client.Title+" uses it"
		}
		if o.Action == Added || o.Action == Same || o.Action == Replaced {
			m.names[o.Dir] = append(m.names[o.Dir], o.Name)
		}
	}
	m.after, res.Moved = after, outcomes
	m.secrets = slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Secret })
	return m, nil
}

// movable returns the servers of the file to move, in the order of Read.
func (r Request) movable(path string, data []byte, entries []Entry) ([]Source, error) {
	var sources []Source
	add := func(dir string, entries []Entry) {
		entries = slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool {
			return e.Self || r.Only != nil && !slices.Contains(r.Only, e.Name) ||
				slices.ContainsFunc(r.Keep, func(o Outcome) bool { return o.From == path && o.Dir == dir && o.Name == e.Name })
		})
		s := Source{Client: r.Client.ID, Path: path, Dir: dir, Servers: entries}
		if dir == r.Env.Dir {
			sources = slices.Insert(sources, 0, s)
			return
		}
		sources = append(sources, s)
	}
	add("", entries)
	for _, dir := range r.Projects {
		rd := reader{client: r.Client, env: r.Env, options: orZero(r.Options)}
		rd.env.Dir = dir
		entries, err := rd.entries(data, path, serverLocation{r.Client.rootOf(dir), "local"})
		if err != nil {
			return nil, err
		}
		add(dir, entries)
	}
	for _, name := range r.Only {
		if !slices.ContainsFunc(sources, func(s Source) bool { return slices.Contains(s.names(), name) }) {
			return nil, fmt.Errorf("there is no server %q to move", name)
		}
	}
	return sources, nil
}

// rootOf returns the keys of the servers in the user's file for a project; "" means every project.
func (c *Client) rootOf(dir string) []string {
	if dir == "" {
		return c.root
	}
	return []string{"projects", dir, "mcpServers"}
}
