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

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/pack"
)

// Installed reads the plugins in the folders of dir, sorted by name. A folder
// that is not a plugin is a problem. Of two with one name the first folder counts.
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
			problems = append(problems, problemAt(path, "shadowed", fmt.Sprintf("there is another plugin %q, which is used", p.Name)))
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

// Install installs the plugin in an archive or a folder into a folder of dest with the
// plugin's name. entry is a marketplace's entry for the plugin, or nil; it replaces or
// completes the plugin's own manifest. Install replaces an installed plugin only with
// force, and reports that in replaced. Before that, it calls ask with the new plugin
// and the digest of its servers; if ask returns an error, nothing is installed and
// Install returns the error. notes name the links that were left out. If the source is
// at fault, the error is an *Error or a *pack.Error and nothing has changed.
func Install(dest, source string, entry json.RawMessage, o pack.Options, ask func(p *Plugin, digest string) error) (p *Plugin, replaced bool, notes []string, err error) {
	dest, err = filepath.Abs(dest)
	if err != nil {
		return nil, false, nil, err
	}
	mark := isPlugin
	if entry != nil {
		mark = pack.Mark{}
	}
	got, err := pack.InstallAs(dest, source, mark, limits, o, func(root *os.Root, folder string) (string, error) {
		if entry != nil {
			if err := adopt(root, entry); err != nil {
				return "", err
			}
		}
		m, err := readManifest(root, folder)
		switch {
		case err != nil:
			return "", err
		case o.Name != "" && m.Name != o.Name: // which is refused
			return m.Name, nil
		}
		p := load(root, m, filepath.Join(dest, m.Name))
		digest, err := p.digest(root, true)
		if err != nil {
			return "", err
		}
		return m.Name, ask(p, digest)
	})
	if e, ok := errors.AsType[*pack.Error](err); ok && e.Code == "archive_no_skill_md" {
		return nil, false, nil, missing()
	}
	if err != nil {
		return nil, false, nil, err
	}
	p, err = Load(got.Path)
	return p, got.Replaced, got.Notes, err
}
