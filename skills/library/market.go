package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	pathpkg "path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/pack"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
	"github.com/mcpbroker/mcpbroker/skills/repo"
)

// A Market is a marketplace that the user has added.
type Market struct {
	*plugin.Market
	// Source is the commit that it was fetched at; nil if it is a folder of this
	// host.
	Source *repo.Source `json:"source,omitempty"`
	// Notes name what was left out when the marketplace was added.
	Notes []string `json:"notes,omitempty"`
}

// An Offer is a plugin that a marketplace offers.
type Offer struct {
	plugin.Offer
	market Market
}

// locate is where the plugin is: a folder of this host, with the commit that it
// is of if the marketplace was fetched, or a repository to fetch.
func (o *Offer) locate() (path string, from *repo.Source) {
	if o.Path != "" {
		path = filepath.Join(o.market.Dir, o.Path)
		if s := o.market.Source; s != nil {
			folder := pathpkg.Join(s.Folder, filepath.ToSlash(o.Path))
			if folder == "." {
				folder = ""
			}
			from = &repo.Source{URL: s.URL, Ref: s.Ref, Folder: folder, Commit: s.Commit}
		}
		return path, from
	}
	return "", &repo.Source{URL: o.Repository, Ref: o.Ref, Folder: o.Folder, Commit: o.Commit}
}

// OfferOf is the offer of a marketplace of that name. One that is kept in a way
// that is not known here is a *plugin.Error.
func OfferOf(m Market, name string) (*Offer, error) {
	o, err := m.Find(name)
	if err != nil {
		return nil, err
	}
	if o.Path == "" && o.Repository == "" {
		return nil, &plugin.Error{Code: "bad_manifest", Message: fmt.Sprintf("%s does not say where plugin %q is kept in a way that is known here: fetch it and install its folder", m.Name, name)}
	}
	return &Offer{o, m}, nil
}

// marketEntry is what is kept about a marketplace in the file of switches.
type marketEntry struct {
	Path   string       `json:"path,omitempty"` // of the folder, unless it has a source
	Source *repo.Source `json:"source,omitempty"`
}

// marketsFolder holds the marketplaces that were fetched, in the folder of
// plugins, where a dot hides it from those who look for plugins.
const marketsFolder = ".marketplaces"

var marketName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// AddMarket makes a marketplace known by its name: that in the folder path or, if
// from is not nil, in a repository, of which a copy is kept. One of that name is
// replaced.
func (l *Library) AddMarket(ctx context.Context, path string, from *repo.Source) (m Market, err error) {
	change := Change{Action: Added, Kind: skills.KindMarket, Name: From{Path: path, Repo: from}.name()}
	fetched := ""
	var notes []string
	if from != nil {
		var done func()
		fetched, from, notes, done, err = fetch(ctx, *from)
		defer done()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		m, err = l.addMarket(path, fetched, from)
	}
	if err == nil {
		change.Name = m.Name
		m.Notes = append(notes, m.Notes...)
	}
	change.Err = err
	l.note(change)
	return m, err
}

// addMarket adds the marketplace in the folder path or, if from is not nil, a
// copy of what was fetched.
func (l *Library) addMarket(path, fetched string, from *repo.Source) (m Market, err error) {
	entry := marketEntry{Source: from}
	if from == nil {
		if entry.Path, err = filepath.Abs(path); err != nil {
			return m, err
		}
		m.Market, err = openNamed(entry.Path)
	} else {
		m.Market, m.Notes, err = l.keepMarket(fetched)
		m.Source = from
	}
	if err != nil {
		return Market{}, err
	}
	err = skills.EditEntry(l.o.Switches, skills.KindMarket, m.Name, func(e map[string]json.RawMessage) {
		clear(e)
		if entry.Source != nil {
			e["source"], _ = json.Marshal(entry.Source)
		} else {
			e["path"], _ = json.Marshal(entry.Path)
		}
	})
	return m, err
}

// openNamed opens a marketplace with a name that can be stored.
func openNamed(dir string) (*plugin.Market, error) {
	m, err := plugin.OpenMarket(dir)
	if err == nil && !marketName.MatchString(m.Name) {
		err = &plugin.Error{Code: "bad_manifest", Message: fmt.Sprintf("%s: %.80q cannot be the name of a marketplace: use letters, digits, hyphens, at most 64", plugin.MarketFile, m.Name)}
	}
	return m, err
}

// fetch fetches a repository into a new folder with the repository's name. It returns
// the folder, the commit and notes about what was left out. done removes the folder,
// and is never nil. fetch takes long, so the caller must not hold a lock.
func fetch(ctx context.Context, from repo.Source) (dir string, _ *repo.Source, notes []string, done func(), err error) {
	tmp, err := os.MkdirTemp("", "broker-fetched-")
	if err != nil {
		return "", nil, nil, func() {}, err
	}
	done = func() { os.RemoveAll(tmp) }
	dir = filepath.Join(tmp, folderOf(from))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, nil, done, err
	}
	got, err := repo.Fetch(ctx, from, dir, nil)
	if err != nil {
		return "", nil, nil, done, err
	}
	from.Commit = got.Commit
	return dir, &from, got.Notes, done, nil
}

// folderOf returns the name of the fetched folder, the default name of skills and
// plugins in it.
func folderOf(from repo.Source) string {
	name := from.URL
	if f := strings.Trim(from.Folder, "/."); f != "" {
		name = f
	}
	name = strings.TrimSuffix(strings.TrimRight(name, "/"), ".git")
	name = name[strings.LastIndexAny(name, "/:")+1:]
	if !marketName.MatchString(name) {
		return "repository"
	}
	return name
}

// keepMarket stores a copy of a fetched marketplace. notes name the links that were
// left out.
func (l *Library) keepMarket(fetched string) (_ *plugin.Market, notes []string, err error) {
	m, err := openNamed(fetched)
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(l.o.Plugins, marketsFolder)
	kept, err := pack.InstallAs(dir, fetched, plugin.IsMarket, pack.Limits{Files: 8192, Bytes: 64 << 20}, pack.Options{Force: true}, func(*os.Root, string) (string, error) { return m.Name, nil })
	if err != nil {
		return nil, nil, err
	}
	m, err = plugin.OpenMarket(kept.Path)
	return m, kept.Notes, err
}

// Markets are the marketplaces that were added, sorted by name. One that cannot
// be read any more is a problem.
func (l *Library) Markets() (list []Market, problems []skills.Problem, err error) {
	entries, err := skills.Entries(l.o.Switches, skills.KindMarket)
	if err != nil {
		return nil, nil, err
	}
	for name, raw := range entries {
		var e marketEntry
		err := json.Unmarshal(raw, &e)
		dir := e.Path
		if e.Source != nil {
			dir = filepath.Join(l.o.Plugins, marketsFolder, name)
		}
		if err == nil && !marketName.MatchString(name) {
			err = errors.New("its name cannot be one")
		}
		var m *plugin.Market
		if err == nil {
			m, err = plugin.OpenMarket(dir)
		}
		if err != nil {
			problems = append(problems, skills.Problem{Path: dir, Diagnostic: skills.Diagnostic{Code: "bad_marketplace", Severity: skills.Warning,
				Message: fmt.Sprintf("marketplace %s cannot be read: %v: add it again, or remove it", name, err)}})
			continue
		}
		m.Name = name
		list = append(list, Market{Market: m, Source: e.Source})
	}
	slices.SortFunc(list, func(a, b Market) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(problems, func(a, b skills.Problem) int { return strings.Compare(a.Message, b.Message) })
	return list, problems, nil
}

// Market is the marketplace of that name, of those that were added. An unknown one
// is a *plugin.Error with the nearest names.
func (l *Library) Market(name string) (Market, error) {
	list, _, err := l.Markets()
	if err != nil {
		return Market{}, err
	}
	var known []string
	for _, m := range list {
		if m.Name == name {
			return m, nil
		}
		known = append(known, m.Name)
	}
	return Market{}, unknown("marketplace", name, known)
}

// Offer finds a plugin in the marketplaces by its name, or as plugin@marketplace
// if several have it.
func (l *Library) Offer(name string) (*Offer, error) {
	list, _, err := l.Markets()
	if err != nil {
		return nil, err
	}
	wanted, in, named := strings.Cut(name, "@")
	var known, markets []string
	var found []Market
	for _, m := range list {
		markets = append(markets, m.Name)
		if named && m.Name != in {
			continue
		}
		for _, o := range m.Offers {
			known = append(known, o.Name)
			if o.Name == wanted {
				found = append(found, m)
			}
		}
	}
	switch {
	case len(list) == 0:
		return nil, &plugin.Error{Code: "plugin_not_found", Message: fmt.Sprintf("%q is not a file or folder here, and no marketplace is known that could offer a plugin of that name: broker plugins add SOURCE adds one", name)}
	case named && !slices.Contains(markets, in):
		return nil, unknown("marketplace", in, markets)
	case len(found) == 0:
		return nil, unknown("plugin", wanted, known)
	case len(found) > 1:
		return nil, &plugin.Error{Code: "plugin_not_found", Message: fmt.Sprintf("several marketplaces offer %q: write %s@%s or %s@%s", wanted, wanted, found[0].Name, wanted, found[1].Name)}
	}
	o, err := OfferOf(found[0], wanted)
	if err != nil {
		return nil, err
	}
	// What others wrote must not lead to files of this host, or of its network.
	if from := found[0].Source; from != nil && o.Repository != "" && scheme(from.URL) != scheme(o.Repository) && slices.Contains([]string{"file", "http"}, scheme(o.Repository)) {
		return nil, &plugin.Error{Code: "bad_manifest", Message: fmt.Sprintf("marketplace %s comes from another host and says that %q is at %s, which is on this one: it is not fetched", found[0].Name, wanted, o.Repository)}
	}
	return o, nil
}

func scheme(address string) string {
	before, _, _ := strings.Cut(address, "://")
	return before
}

// RemoveMarket forgets a marketplace. What was installed from it stays.
func (l *Library) RemoveMarket(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries, err := skills.Entries(l.o.Switches, skills.KindMarket)
	if err != nil {
		return err
	}
	if entries[name] == nil {
		var known []string
		for n := range entries {
			known = append(known, n)
		}
		slices.Sort(known)
		return unknown("marketplace", name, known)
	}
	err = pack.Remove(filepath.Join(l.o.Plugins, marketsFolder), name)
	if e, ok := errors.AsType[*pack.Error](err); ok && e.Code == "not_found" {
		err = nil // it is a folder of the user's
	}
	l.note(Change{Action: Removed, Kind: skills.KindMarket, Name: name, Err: err})
	if err != nil {
		return err
	}
	return l.forget(skills.KindMarket, name)
}
