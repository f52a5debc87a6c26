package typefiles

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/codegen"
)

// A Report says what became of a folder of generated files.
type Report struct {
	Dir       string `json:"dir"`
	Tools     int    `json:"tools"`
	Written   int    `json:"written"`
	Removed   int    `json:"removed"`
	Unchanged int    `json:"unchanged"`
	// Foreign are files that stand where a generated one would, and that
	// somebody else wrote.
	Foreign []string `json:"foreign"`
}

// A tree is a folder of generated files while it is being written. Nothing
// outside of it is touched, whatever the files are called and whatever links
// are in it.
type tree struct {
	root   *os.Root
	report Report
	kept   map[string]bool // folders of servers that are left as they are
}

// Write makes the folder dir contain files: it writes those that differ and removes
// those of an earlier manifest that files lacks, except those of the servers in keep,
// which are unknown at the moment.
func Write(dir string, files iter.Seq[codegen.File], keep []string) (Report, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Report{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Report{}, err
	}
	defer root.Close()
	t := &tree{root: root, kept: make(map[string]bool), report: Report{Dir: dir, Foreign: []string{}}}
	before, err := t.manifest()
	if err != nil {
		return t.report, err
	}
	all := slices.Collect(files)
	wanted := make(map[string]bool, len(all))
	for _, f := range all {
		wanted[f.Path] = true
	}
	// What is stale goes first: on a disk that ignores case, it may be the
	// very file that is about to be written under its new name.
	kept, err := t.removeStale(before, wanted, keep)
	if err != nil {
		return t.report, err
	}
	for _, f := range all {
		if f.Path == codegen.ManifestPath {
			if f.Data, err = t.complete(f.Data, kept); err != nil {
				return t.report, err
			}
		}
		if t.kept[path.Dir(f.Path)] {
			continue
		}
		if err := t.write(f); err != nil {
			return t.report, err
		}
	}
	return t.report, nil
}

// manifest reads what an earlier run has written.
func (t *tree) manifest() ([]codegen.ManifestEntry, error) {
	data, err := t.root.ReadFile(codegen.ManifestPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []codegen.ManifestEntry
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&entries); err != nil {
		return nil, fmt.Errorf("%s was not written by broker types: use another directory", filepath.Join(t.report.Dir, codegen.ManifestPath))
	}
	return entries, nil
}

// complete adds the entries that were kept to the manifest.
func (t *tree) complete(manifest []byte, kept []codegen.ManifestEntry) ([]byte, error) {
	var entries []codegen.ManifestEntry
	if err := json.Unmarshal(manifest, &entries); err != nil {
		return nil, err
	}
	t.report.Tools = len(entries)
	return codegen.Manifest(append(entries, kept...)), nil
}

// removeStale removes the files that the manifest names and that are not wanted any
// more, and returns the entries that stay nevertheless.
func (t *tree) removeStale(before []codegen.ManifestEntry, wanted map[string]bool, keep []string) ([]codegen.ManifestEntry, error) {
	var kept []codegen.ManifestEntry
	folders := make(map[string]bool)
	for _, e := range before {
		folder := path.Dir(e.File)
		if wanted[e.File] || path.Dir(folder) != "servers" || path.Clean(e.File) != e.File {
			continue
		}
		if slices.Contains(keep, e.Server) {
			kept = append(kept, e)
			t.kept[folder] = true
			continue
		}
		if err := t.remove(e.File); err != nil {
			return nil, err
		}
		folders[folder] = true
	}
	for folder := range folders {
		if index := folder + "/index.ts"; !wanted[index] {
			if err := t.remove(index); err != nil {
				return nil, err
			}
		}
		_ = t.root.Remove(folder) // not if anything is left in it
	}
	return kept, nil
}

func (t *tree) remove(name string) error {
	data, err := t.root.ReadFile(name)
	if err != nil || !generated(data) {
		return nil // gone already, or no longer ours
	}
	if err := t.root.Remove(name); err != nil {
		return err
	}
	t.report.Removed++
	return nil
}

func (t *tree) write(f codegen.File) error {
	old, err := t.root.ReadFile(f.Path)
	switch {
	case err == nil && bytes.Equal(old, f.Data):
		t.report.Unchanged++
		return nil
	case err == nil && f.Path != codegen.ManifestPath && !generated(old):
		t.report.Foreign = append(t.report.Foreign, f.Path)
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if folder := path.Dir(f.Path); folder != "." {
		if err := t.root.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	if err := t.root.WriteFile(f.Path, f.Data, 0o644); err != nil {
		return err
	}
	t.report.Written++
	return nil
}

// generated reports whether a file is of our making.
func generated(data []byte) bool { return strings.HasPrefix(string(data), codegen.Marker) }
