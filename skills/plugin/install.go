package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/pack"
)

// Installed reads the plugins in the folders of dir, sorted by name. A folder
// that is no plugin is a problem. Of two with one name the first folder counts.
func Installed(dir string) (list []*Plugin, problems []skills.Problem) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, problemAt(dir, "unreadable", cause(err)))
		}
		return nil, problems
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err != nil || !info.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		p, err := Load(path)
		if err != nil {
			code := "unreadable"
			if e, ok := errors.AsType[*Error](err); ok {
				code = e.Code
			}
			problems = append(problems, problemAt(path, code, err.Error()))
			continue
		}
		if slices.ContainsFunc(list, func(o *Plugin) bool { return o.Name == p.Name }) {
			problems = append(problems, problemAt(path, "shadowed", fmt.Sprintf("there is another plugin %q, which is taken", p.Name)))
			continue
		}
		list = append(list, p)
		problems = append(problems, p.Problems...)
	}
	slices.SortFunc(list, func(a, b *Plugin) int { return strings.Compare(a.Name, b.Name) })
	return list, problems
}

func problemAt(path, code, message string) skills.Problem {
	return skills.Problem{Path: path, Diagnostic: skills.Diagnostic{Code: code, Severity: skills.Warning, Message: message}}
}

// Install installs the plugin in an archive or a folder into a folder of dest
// that has the plugin's name. One that is there already is only replaced with
// force. On an error nothing has changed; it is an *Error or a *pack.Error if
// the source is at fault.
func Install(dest, source string, force bool) (*Plugin, error) {
	got, err := pack.InstallAs(dest, source, ManifestFile, limits, force, func(root *os.Root) (string, error) {
		m, err := readManifest(root)
		if err != nil {
			return "", err
		}
		return m.Name, nil
	})
	if e, ok := errors.AsType[*pack.Error](err); ok && e.Code == "archive_no_skill_md" {
		return nil, &Error{"missing_manifest", "there is no " + ManifestFile + " in it: this is no plugin"}
	}
	if err != nil {
		return nil, err
	}
	return Load(got.Path)
}

// MarketFile makes a folder a marketplace.
const MarketFile = ".claude-plugin/marketplace.json"

// A Market lists plugins, of which those in the same folder can be installed.
type Market struct {
	Name   string  `json:"name"`
	Offers []Offer `json:"plugins"`
	Dir    string  `json:"path"`
}

// An Offer is one plugin of a Market. Path is its folder, relative to that of
// the market; empty if it has to be fetched from elsewhere.
type Offer struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Version     string `json:"version"`
	Path        string `json:"local_path,omitempty"`
}

// OpenMarket reads the marketplace in the folder dir.
func OpenMarket(dir string) (*Market, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, &Error{"missing_manifest", fmt.Sprintf("there is no folder %s", dir)}
	}
	defer root.Close()
	data, err := readFile(root, MarketFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{"missing_manifest", "there is no " + MarketFile + " in it: this is no marketplace"}
	}
	var file struct {
		Name     string `json:"name"`
		Metadata struct {
			PluginRoot string `json:"pluginRoot"`
		} `json:"metadata"`
		Plugins []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Version     string          `json:"version"`
			Source      json.RawMessage `json:"source"`
		} `json:"plugins"`
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return nil, &Error{"bad_manifest", MarketFile + ": " + cause(err)}
	}
	m := &Market{Name: file.Name, Dir: dir, Offers: []Offer{}}
	for _, f := range file.Plugins {
		o := Offer{Name: f.Name, Description: f.Description, Version: f.Version}
		var source string
		if json.Unmarshal(f.Source, &source) == nil && source != "" && !strings.Contains(source, "://") {
			local := filepath.Join(filepath.FromSlash(file.Metadata.PluginRoot), filepath.FromSlash(source))
			if filepath.IsLocal(local) {
				o.Path = local
			}
		}
		m.Offers = append(m.Offers, o)
	}
	return m, nil
}

// Find returns the folder of a plugin that the market offers here.
func (m *Market) Find(name string) (string, error) {
	var known []string
	for _, o := range m.Offers {
		if o.Name != name {
			known = append(known, o.Name)
			continue
		}
		if o.Path == "" {
			return "", fmt.Errorf("plugin %q of %s is kept elsewhere: fetch it and install its folder", name, m.Name)
		}
		return filepath.Join(m.Dir, o.Path), nil
	}
	text := fmt.Sprintf("%s offers no plugin %q", m.Name, name)
	if near := nearest.Names(name, known, 3); len(near) > 0 {
		text += ": did you mean " + strings.Join(near, ", ") + "?"
	}
	return "", errors.New(text)
}
