package clients

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// An UninstallResult describes what Uninstall did, or would do.
type UninstallResult struct {
	Client string `json:"client"`
	Path   string `json:"path"`
	// Restored means that the file is again what it was, byte for byte, or gone
	// if it was not there.
	Restored bool `json:"restored"`
	// Deleted means that the file is gone, as it was before.
	Deleted bool `json:"deleted"`
	// Removed are the entries that were taken out of a file that has been edited
	// since, Returned the moved servers that were put back.
	Removed  []string `json:"removed,omitempty"`
	Returned []string `json:"returned,omitempty"`
	// Notes say what else there is to know.
	Notes []string `json:"notes,omitempty"`
	// Backup is the backup that was left where it is.
	Backup string `json:"backup,omitempty"`
	// Config is the servers.json that keeps the servers which were moved.
	Config string `json:"config,omitempty"`
}

// ErrNotInstalled means that the client does not start the broker.
var ErrNotInstalled = errors.New("the broker is not installed")

// Uninstall reverts Install: the file gets its original content, byte for byte. If it was edited
// since, Uninstall only removes the broker's entry and adds the moved servers after the others.
func Uninstall(r Request) (UninstallResult, error) {
	j, err := openJournal(r.Journal)
	if err != nil {
		return UninstallResult{}, err
	}
	path, err := r.installed(j)
	if err != nil {
		return UninstallResult{}, err
	}
	res := UninstallResult{Client: r.Client.ID, Path: path}
	rec := j.record(path)
	now, err := readAll(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && rec != nil:
		res.Backup = rec.Backup
		res.Notes = append(res.Notes, "the file is gone, there is nothing to undo in it")
		return res, r.forget(j, path)
	case errors.Is(err, fs.ErrNotExist):
		return res, fmt.Errorf("%w in %s: there is no such file", ErrNotInstalled, path)
	case err != nil:
		return res, err
	}
	if rec != nil {
		if len(rec.Moved)+len(rec.OfProjects) > 0 {
			res.Config = rec.Config
		}
		if sum(now) == rec.After {
			if done, err := r.restore(j, rec, now, &res); done || err != nil {
				return res, err
			}
		} else {
			res.Notes = append(res.Notes, "the file was edited since: what was edited stays")
		}
	}
	return r.removeEntry(j, rec, now, res)
}

// installed returns the file to uninstall from: the user's, or the project's if that is requested
// or is the only one with an install.
func (r Request) installed(j *journal) (string, error) {
	path, err := r.target()
	if err != nil || r.Project || r.Client.project == nil || j.record(path) != nil {
		return path, err
	}
	project := r
	project.Project = true
	if p, err := project.target(); err == nil && j.record(p) != nil {
		return p, nil
	}
	return path, nil
}

// restore restores the content of the file, and returns false if the backup has changed.
func (r Request) restore(j *journal, rec *record, now []byte, res *UninstallResult) (bool, error) {
	res.Restored, res.Deleted = true, rec.Before == ""
	backup, ok := rec.original()
	if !ok && !res.Deleted {
		res.Restored = false
		res.Notes = append(res.Notes, fmt.Sprintf("the backup %s is missing or was changed: only the broker's entry goes", rec.Backup))
		return false, nil
	}
	if r.DryRun {
		return true, nil
	}
	if res.Deleted {
		if err := os.Remove(rec.Path); err != nil {
			return true, err
		}
		for _, dir := range rec.Dirs {
			if os.Remove(dir) != nil { // it is not empty
				break
			}
		}
		return true, r.forget(j, rec.Path)
	}
	saved := rec.Backup
	if err := config.Replace(rec.Path, now, backup); err != nil {
		return true, err
	}
	if err := r.forget(j, rec.Path); err != nil {
		return true, err
	}
	return true, os.Remove(saved)
}

// removeEntry removes the broker's entry from an edited file, and adds moved servers that are
// missing.
func (r Request) removeEntry(j *journal, rec *record, now []byte, res UninstallResult) (UninstallResult, error) {
	fail := func(err error) (UninstallResult, error) { return res, fmt.Errorf("%s: %w", res.Path, err) }
	f, root := r.Client.format, r.Client.root
	entries, err := r.entries(res.Path, now)
	if err != nil {
		return fail(err)
	}
	text, there := now, map[string]bool{}
	for _, e := range entries {
		there[e.Name] = true
		if e.Self && rec == nil || rec != nil && e.Name == rec.Name && e.serves() {
			res.Removed = append(res.Removed, e.Name)
			if text, err = f.remove(text, root, e.Name); err != nil {
				return fail(err)
			}
		}
	}
	if rec == nil && len(res.Removed) == 0 {
		return res, fmt.Errorf("%w in %s", ErrNotInstalled, res.Path)
	}
	if rec != nil {
		if there[rec.Name] && !slices.Contains(res.Removed, rec.Name) {
			res.Notes = append(res.Notes, fmt.Sprintf("%q no longer starts the broker: it stays", rec.Name))
		}
		text = r.returnMoved(rec, text, there, &res)
		res.Backup = rec.Backup
	}
	if r.DryRun {
		return res, nil
	}
	if err := config.Replace(res.Path, now, text); err != nil {
		return res, err
	}
	return res, r.forget(j, res.Path)
}

// returnMoved adds the moved servers to text, as they are in the backup.
func (r Request) returnMoved(rec *record, text []byte, there map[string]bool, res *UninstallResult) []byte {
	if len(rec.Moved)+len(rec.OfProjects) == 0 {
		return text
	}
	backup, err := os.ReadFile(rec.Backup)
	if err != nil {
		res.Notes = append(res.Notes, fmt.Sprintf("the backup is missing, so the servers that were moved stay in %s alone", rec.Config))
		return text
	}
	restore := func(dir, name string) {
		restored, err := r.Client.format.restore(text, backup, r.Client.rootOf(dir), name)
		if err != nil {
			res.Notes = append(res.Notes, fmt.Sprintf("%s did not return and stays in %s alone: %v", name, rec.Config, err))
			return
		}
		text = restored
		res.Returned = append(res.Returned, name)
	}
	for _, name := range rec.Moved {
		if !there[name] {
			restore("", name)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(rec.OfProjects)) {
		fields, err := r.Client.format.servers(text, r.Client.rootOf(dir))
		for _, name := range rec.OfProjects[dir] {
			if err == nil && !slices.ContainsFunc(fields, func(f config.Field) bool { return f.Key == name }) {
				restore(dir, name)
			}
		}
	}
	return text
}

// serves reports whether the entry starts a program that could be the broker, which may have been
// moved since.
func (e Entry) serves() bool {
	args, _ := e.Config.Get("args").([]string)
	return slices.Contains(args, "serve")
}

func (r Request) forget(j *journal, path string) error {
	if r.DryRun || j.record(path) == nil {
		return nil
	}
	j.remove(path)
	return j.save()
}
