package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/pack"
)

// manifestFiles are the manifests of several clients; the first one found is used.
var manifestFiles = []string{ManifestFile, cursorManifest, ".codex-plugin/plugin.json"}

// manifest is a manifest file; its paths may be one or several.
type manifest struct {
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description"`
	Author      json.RawMessage `json:"author"`
	MCPServers  json.RawMessage `json:"mcpServers"`
	Skills      oneOrMore       `json:"skills"`
	Commands    oneOrMore       `json:"commands"`
	// Strict is false in a manifest that a marketplace wrote: the plugin has only the
	// parts that it names.
	Strict *bool `json:"strict"`

	from string                     // path of the manifest, or empty
	keys map[string]json.RawMessage // all keys
}

// includesDefaults reports whether the plugin also has the parts at the usual places.
func (m *manifest) includesDefaults() bool { return m.Strict == nil || *m.Strict }

// oneOrMore is a path, a list of paths, or an object that names paths.
type oneOrMore struct {
	paths []string
	names map[string]string // names of the cleaned paths, or nil
	wrong error             // error for a value of another type
}

func (o *oneOrMore) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		if one != "" {
			o.paths = []string{one}
		}
		return nil
	}
	if o.wrong = json.Unmarshal(data, &o.paths); o.wrong == nil {
		return nil
	}
	var named map[string]struct{ Source string }
	if json.Unmarshal(data, &named) == nil {
		o.paths, o.names, o.wrong = nil, map[string]string{}, nil
		for _, name := range slices.Sorted(maps.Keys(named)) {
			if from := named[name].Source; from != "" {
				o.paths = append(o.paths, from)
				o.names[path.Clean(from)] = name
			}
		}
	}
	return nil
}

// layout are the usual places of the parts of a plugin.
var layout = []string{"skills", "commands", "agents", "hooks", serversFile, ".lsp.json", "output-styles", skills.FileName}

// forOthers are the parts of plugins that the broker does not use: as keys of a
// manifest, and as files or folders.
var forOthers = []struct{ name, key, file string }{
	{"agents", "agents", "agents"}, {"hooks", "hooks", "hooks/hooks.json"}, {"language servers", "lspServers", ".lsp.json"}, {"output styles", "outputStyles", "output-styles"},
	{"rules", "rules", "rules"}, {"monitors", "monitors", "monitors"}, {"channels", "channels", ""}, {"user settings", "userConfig", ""}, {"apps", "apps", ".app.json"},
}

// isPlugin is the mark of a plugin.
var isPlugin = pack.Mark{Name: ManifestFile, In: func(root *os.Root, dir string) bool {
	for _, name := range slices.Concat(manifestFiles, layout) {
		if name == skills.FileName && dir != "." { // a folder of skills
			continue
		}
		if _, err := root.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			return true
		}
	}
	return false
}}

func isFile(root *os.Root, name string) bool {
	info, err := root.Stat(filepath.FromSlash(name))
	return err == nil && info.Mode().IsRegular()
}

// missing returns the error for a folder that is not a plugin.
func missing() error {
	return &Error{"missing_manifest", "there is no " + ManifestFile + " in it, and none of the usual parts (" + strings.Join(layout, ", ") + "): this is not a plugin; broker skills install takes folders with skills"}
}

// readManifest reads the manifest of a plugin. A plugin without a manifest, or without
// a name, gets name, adapted to the rules for names.
func readManifest(root *os.Root, name string) (*manifest, error) {
	for _, file := range manifestFiles {
		data, err := readFile(root, file, maxJSONBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, &Error{"bad_manifest", file + ": " + cause(err)}
		}
		return parseManifest(data, file, name)
	}
	if !isPlugin.In(root, ".") {
		return nil, missing()
	}
	return parseManifest([]byte("{}"), "", name)
}

// parseManifest parses a manifest; file is its path, or empty.
func parseManifest(data []byte, file, name string) (*manifest, error) {
	m := manifest{from: file}
	err := errors.Join(json.Unmarshal(data, &m), json.Unmarshal(data, &m.keys))
	if m.Name == "" {
		m.Name = nameFrom(name)
	}
	if file == "" {
		file = "it has no " + ManifestFile
	}
	switch {
	case err != nil:
		return nil, &Error{"bad_manifest", file + ": " + cause(err)}
	case m.Skills.wrong != nil:
		return nil, &Error{"bad_manifest", file + `: "skills" takes a path or a list of paths: ` + cause(m.Skills.wrong)}
	case m.Skills.names != nil:
		return nil, &Error{"bad_manifest", file + `: "skills" takes a path or a list of paths, and is an object`}
	case m.Commands.wrong != nil:
		return nil, &Error{"bad_manifest", file + `: "commands" takes a path, a list of paths, or an object with a "source" for each command: ` + cause(m.Commands.wrong)}
	case m.Name == "":
		return nil, &Error{"bad_manifest", file + `: the plugin has no name: add "name" to ` + ManifestFile}
	case !usableName.MatchString(m.Name) || strings.Contains(m.Name, ".."):
		return nil, &Error{"bad_manifest", fmt.Sprintf("%s: %.80q cannot be a name: use letters, digits, hyphens, at most 64", file, m.Name)}
	}
	return &m, nil
}

// nameFrom returns the name of a plugin for the name of a folder.
func nameFrom(folder string) string {
	words := strings.FieldsFunc(folder, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' && r != '.'
	})
	name := strings.Trim(strings.Join(words, "-"), "-_.")
	return name[:min(len(name), 64)]
}

// unused returns the parts of a plugin that the broker does not use.
func unused(root *os.Root, m *manifest) (names []string) {
	for _, part := range forOthers {
		found := m.keys[part.key] != nil
		if !found && part.file != "" && m.includesDefaults() {
			_, err := root.Stat(filepath.FromSlash(part.file))
			found = err == nil
		}
		if found {
			names = append(names, part.name)
		}
	}
	return names
}

// components are the keys of a marketplace entry that are added to the plugin's own
// manifest, and about are keys that only replace missing ones.
var (
	components = []string{"skills", "commands", "mcpServers", "agents", "hooks", "lspServers", "outputStyles"}
	about      = []string{"name", "description", "version", "author"}
)

// adopt writes the manifest of a plugin that a marketplace describes with entry. With
// "strict": false, the entry is the manifest; otherwise its parts are added to those of
// the plugin's own manifest.
func adopt(root *os.Root, entry json.RawMessage) error {
	var described manifest
	if err := json.Unmarshal(entry, &described); err != nil {
		return &Error{"bad_manifest", MarketFile + ": " + cause(err)}
	}
	if !described.includesDefaults() {
		return writeManifest(root, entry)
	}
	given, err := parseManifest(entry, MarketFile, "")
	if err != nil {
		return err
	}
	has := func(key string) bool { return given.keys[key] != nil }
	own := &manifest{keys: map[string]json.RawMessage{}}
	if isPlugin.In(root, ".") || !slices.ContainsFunc(components, has) {
		if own, err = readManifest(root, given.Name); err != nil {
			return err
		}
	}
	if own.from != "" && !slices.ContainsFunc(components, has) && own.keys["name"] != nil {
		return nil // the entry adds nothing
	}
	merged := maps.Clone(own.keys)
	for _, key := range about {
		if merged[key] == nil && has(key) {
			merged[key] = given.keys[key]
		}
	}
	for _, key := range components {
		if has(key) {
			merged[key] = both(merged[key], given.keys[key])
		}
	}
	data, err := json.MarshalIndent(merged, "", "  ")
	if err != nil {
		return err
	}
	return writeManifest(root, data)
}

// both returns a list of the elements of two manifest values, each of which may be a
// list.
func both(a, b json.RawMessage) json.RawMessage {
	if a == nil {
		return b
	}
	var joined []json.RawMessage
	for _, value := range []json.RawMessage{a, b} {
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			list = []json.RawMessage{value}
		}
		joined = append(joined, list...)
	}
	data, err := json.Marshal(joined)
	if err != nil {
		return a
	}
	return data
}

// writeManifest replaces the manifest of a plugin.
func writeManifest(root *os.Root, written json.RawMessage) error {
	name := filepath.FromSlash(ManifestFile)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return root.WriteFile(name, written, 0o644)
}
