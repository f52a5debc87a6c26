package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/skills/pack"
)

// MarketFile makes a folder a marketplace.
const MarketFile = ".claude-plugin/marketplace.json"

// marketFiles are the lists of marketplaces of several clients; the first one found is
// used.
var marketFiles = []string{MarketFile, ".cursor-plugin/marketplace.json", ".agents/plugins/marketplace.json"}

// IsMarket is the mark of a marketplace.
var IsMarket = pack.Mark{Name: MarketFile, In: func(root *os.Root, dir string) bool {
	return slices.ContainsFunc(marketFiles, func(name string) bool { return isFile(root, path.Join(dir, name)) })
}}

// A Market lists plugins, of which those in the same folder can be installed.
type Market struct {
	Name   string  `json:"name"`
	Offers []Offer `json:"plugins"`
	Dir    string  `json:"path"`
}

// An Offer is one plugin of a Market.
type Offer struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Version     string `json:"version"`
	// Path is its folder, relative to that of the market; empty if it is kept
	// elsewhere.
	Path string `json:"local_path,omitempty"`
	// Repository is the git repository that it is kept in, else empty, with the
	// branch or tag, the folder in it and the commit, as far as they are said.
	Repository string `json:"repository,omitempty"`
	Ref        string `json:"ref,omitempty"`
	Folder     string `json:"folder,omitempty"`
	Commit     string `json:"commit,omitempty"`
	// Entry is the marketplace's entry for the plugin, as written.
	Entry json.RawMessage `json:"-"`
}

// offerSource is where a marketplace says that a plugin is, if that is not a path
// in it.
type offerSource struct {
	Source string `json:"source"` // github, url, git, git-subdir or local; others are unknown
	Repo   string `json:"repo"`   // of github: owner/name
	URL    string `json:"url"`
	Ref    string `json:"ref"`
	SHA    string `json:"sha"`
	Path   string `json:"path"`
}

var githubName = lazyregexp.New(`^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$`)

var gitSources = []string{"git", "git-subdir", "url"}

// inMarket sets the place of the plugin if text is a path below root.
func (o *Offer) inMarket(root, text string) {
	if local := filepath.Join(filepath.FromSlash(root), filepath.FromSlash(text)); text != "" && filepath.IsLocal(local) {
		o.Path = local
	}
}

// locate fills in where the plugin is. What is said in no known way stays empty.
func (o *Offer) locate(raw json.RawMessage, root string) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if strings.Contains(text, "://") {
			o.Repository = text
		} else {
			o.inMarket(root, text)
		}
		return
	}
	var from offerSource
	if json.Unmarshal(raw, &from) != nil {
		return
	}
	switch {
	case from.Source == "local":
		o.inMarket(root, from.Path)
	case from.Source == "github" && githubName.MatchString(from.Repo):
		o.Repository = "https://github.com/" + from.Repo + ".git"
	case slices.Contains(gitSources, from.Source) && githubName.MatchString(from.URL):
		o.Repository = "https://github.com/" + from.URL + ".git"
	case slices.Contains(gitSources, from.Source):
		o.Repository = from.URL
	}
	if o.Repository != "" {
		o.Ref, o.Commit, o.Folder = from.Ref, from.SHA, strings.TrimPrefix(from.Path, "./")
	}
}

// OpenMarket reads the marketplace in the folder dir.
func OpenMarket(dir string) (*Market, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, &Error{"missing_manifest", fmt.Sprintf("there is no folder %s", dir)}
	}
	defer root.Close()
	i := slices.IndexFunc(marketFiles, func(name string) bool { _, err := root.Stat(name); return err == nil })
	if i < 0 {
		return nil, &Error{"missing_manifest", "there is no " + MarketFile + " in it: this is not a marketplace; broker plugins install takes a single plugin, broker skills install skills"}
	}
	data, err := readFile(root, marketFiles[i], maxJSONBytes)
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
	var entries struct{ Plugins []json.RawMessage }
	if err == nil {
		err = errors.Join(json.Unmarshal(data, &file), json.Unmarshal(data, &entries))
	}
	if err != nil {
		return nil, &Error{"bad_manifest", marketFiles[i] + ": " + cause(err)}
	}
	m := &Market{Name: file.Name, Dir: dir, Offers: []Offer{}}
	for i, f := range file.Plugins {
		o := Offer{Name: f.Name, Description: f.Description, Version: f.Version, Entry: entries.Plugins[i]}
		o.locate(f.Source, file.Metadata.PluginRoot)
		m.Offers = append(m.Offers, o)
	}
	return m, nil
}

// Find returns the plugin of that name that the market offers.
func (m *Market) Find(name string) (Offer, error) {
	var known []string
	for _, o := range m.Offers {
		if o.Name == name {
			return o, nil
		}
		known = append(known, o.Name)
	}
	text := fmt.Sprintf("%s offers no plugin %q", m.Name, name) + nearest.Hint(name, known, "it offers", "it offers none")
	return Offer{}, &Error{"plugin_not_found", text}
}
