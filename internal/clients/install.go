package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// A Request describes an installation or uninstallation of the broker.
type Request struct {
	// Client is the owner of the file, and Env its environment.
	Client *Client
	Env    Env
	// Project selects the project's file instead of the user's.
	Project bool
	// Journal is the path of the file that records installs.
	Journal string

	// Name is the key of the entry, and Launch its content. Move also moves the other servers of
	// the client's file to Config, the absolute path of a servers.json. Uninstall ignores these.
	Name   string
	Launch Launch
	Move   bool
	Config string
	// Only are the servers that Move moves; nil means all. Keep are servers, as named by Merge,
	// that stay in the file. Projects are folders whose servers in the user's file are moved too.
	Only     []string
	Keep     []Outcome
	Projects []string
	// DryRun writes nothing.
	DryRun bool
	// Options tune how the other servers are read.
	Options *Options
	// Store stores a secret in the keyring, before anything is written; it is called if
	// Options.Keyring is set.
	Store func(name, value string) error
}

// An InstallResult describes what Install did, or would do.
type InstallResult struct {
	Client string `json:"client"`
	Path   string `json:"path"`
	Name   string `json:"name"`
	// Program is the program that the entry starts.
	Program string `json:"program"`
	// Config is the servers.json of the broker.
	Config string `json:"config"`
	// Backup is the path of the backup; empty if there was no file.
	Backup string `json:"backup,omitempty"`
	// Created means that the client had no such file.
	Created bool `json:"created"`
	// Changed is false when the file has it all already.
	Changed bool `json:"changed"`
	// Unpassed are the variables of Config that the client does not pass on.
	Unpassed []string `json:"unpassed,omitempty"`
	// Moved are the outcomes of the other servers.
	Moved []Outcome `json:"moved,omitempty"`
	// Others are servers that the client keeps beside the broker in this file.
	Others []string `json:"others,omitempty"`
}

// target returns the client's file: the first existing one, or the first.
func (r Request) target() (string, error) {
	files := r.Client.user
	if r.Project {
		files = r.Client.project
	}
	if files == nil {
		return "", fmt.Errorf("%s has no file for a project: leave --project out", r.Client.Title)
	}
	paths := files(r.Env)
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return paths[0], nil
}

// Install writes the entry of the broker into a client's file, and records how to undo it. The
// rest of the file does not change. A repeated Install updates the entry and keeps the first
// backup.
func Install(r Request) (InstallResult, error) {
	path, err := r.target()
	if err != nil {
		return InstallResult{}, err
	}
	res := InstallResult{Client: r.Client.ID, Path: path, Name: r.Name, Program: r.Launch.Command, Config: r.Config}
	before, err := readAll(path)
	res.Created = errors.Is(err, fs.ErrNotExist)
	if err != nil && !res.Created {
		return res, err
	}
	j, err := openJournal(r.Journal)
	if err != nil {
		return res, err
	}
	old := j.record(path)
	if old != nil && res.Created {
		old = nil // the file is gone, so nothing can be undone
	}
	entries, err := r.entries(path, before)
	if err != nil {
		return res, fmt.Errorf("%s: %w", path, err)
	}
	for _, e := range entries {
		if e.Name == r.Name && !e.Self && (old == nil || old.Name != r.Name) {
			return res, fmt.Errorf("%s has a server %q that is not the broker: choose another name with --name", path, r.Name)
		}
	}
	var mv *move
	if r.Move {
		if mv, err = r.planMove(path, before, entries, &res); err != nil {
			return res, err
		}
	}
	r.nameVariables(mv)
	if r.Client.withholds {
		res.Unpassed = r.Launch.variables
	}
	text, err := r.edit(before, old, mv)
	if err != nil {
		return res, fmt.Errorf("%s: %w", path, err)
	}
	if res.Others, err = r.others(text); err != nil {
		return res, fmt.Errorf("%s: %w", path, err)
	}
	res.Changed = res.Created || !bytes.Equal(before, text)
	if old != nil {
		res.Backup = old.Backup
	}
	if r.DryRun || !res.Changed {
		return res, nil
	}
	for _, o := range res.Moved {
		for name, value := range o.Secrets {
			if err := r.Store(name, value); err != nil {
				return res, err
			}
		}
	}
	if mv != nil {
		if err := mv.write(); err != nil {
			return res, err
		}
	}
	return r.commit(j, old, before, text, mv, res)
}

// nameVariables finds the variables that the client must pass to the broker.
func (r *Request) nameVariables(mv *move) {
	text := []byte(nil)
	if mv != nil {
		text = mv.after
	} else if data, err := os.ReadFile(r.Config); err == nil { // otherwise the file does not exist yet
		text = data
	}
	r.Launch.variables = config.Variables(text)
}

// edit returns text with the entry of the broker, without its entry under an earlier name, and
// without moved servers. Those are removed last, so that the entry is formatted like its
// neighbours.
func (r Request) edit(text []byte, old *record, mv *move) ([]byte, error) {
	gone := map[string][]string{} // by project; "" is the file's own root
	if old != nil && old.Name != r.Name {
		gone[""] = append(gone[""], old.Name)
	}
	if mv != nil {
		for dir, names := range mv.names {
			gone[dir] = append(gone[dir], names...)
		}
	}
	text, err := r.setEntry(text)
	for _, dir := range slices.Sorted(maps.Keys(gone)) {
		for _, name := range gone[dir] {
			if err == nil {
				text, err = r.Client.format.remove(text, r.Client.rootOf(dir), name)
			}
		}
	}
	return text, err
}

// setEntry returns text with the broker's entry. If text has an equal entry, it is returned unchanged,
// so that the user's position and formatting of the entry remain.
func (r Request) setEntry(text []byte) ([]byte, error) {
	entry := r.Client.entry(r.Launch)
	fields, err := r.Client.format.servers(text, r.Client.root)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		if f.Key == r.Name && sameJSON(f.Value, entry) {
			return text, nil
		}
	}
	return r.Client.format.set(text, r.Client.root, r.Name, entry)
}

// sameJSON reports whether a and b have the same keys and values, in any order.
func sameJSON(a, b any) bool { return reflect.DeepEqual(plain(a), plain(b)) }

// plain returns v as encoding/json decodes it.
func plain(v any) (out any) {
	data, err := json.Marshal(v)
	if err != nil || json.Unmarshal(data, &out) != nil {
		return err
	}
	return out
}

// entries returns the servers of the file for the broker's entry.
func (r Request) entries(path string, data []byte) ([]Entry, error) {
	rd := reader{client: r.Client, env: r.Env, options: orZero(r.Options)}
	scope := "user"
	if r.Project {
		scope = "project"
	}
	return rd.entries(data, path, serverLocation{r.Client.root, scope})
}

// others returns the servers in text besides the broker.
func (r Request) others(text []byte) ([]string, error) {
	fields, err := r.Client.format.servers(text, r.Client.root)
	var names []string
	for _, f := range fields {
		if f.Key != r.Name {
			names = append(names, f.Key)
		}
	}
	return names, err
}

// commit writes backup, journal and file in this order, so that an interruption loses nothing.
func (r Request) commit(j *journal, old *record, before, text []byte, mv *move, res InstallResult) (InstallResult, error) {
	rec := record{Client: r.Client.ID, Path: res.Path, Name: r.Name, After: sum(text), Config: r.Config}
	switch {
	case old != nil:
		rec.Backup, rec.Dirs, rec.Before, rec.Moved, rec.OfProjects = old.Backup, old.Dirs, old.Before, old.Moved, maps.Clone(old.OfProjects)
		if sum(before) != old.After {
			// The file was edited since: the backup would undo that too, so uninstall must not
			// treat this state as unchanged.
			rec.After = old.After
		}
	case res.Created:
		rec.Dirs = missingDirs(res.Path)
	default:
		backup, err := saveBackup(r.Journal, res.Path, before)
		if err != nil {
			return res, err
		}
		rec.Backup, rec.Before = backup, sum(before)
	}
	if mv != nil {
		for dir, names := range mv.names {
			rec.addMoved(dir, names)
		}
	}
	res.Backup = rec.Backup
	if err := j.put(rec); err != nil {
		return res, err
	}
	return res, config.Replace(res.Path, before, text)
}
