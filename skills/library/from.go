package library

import (
	"context"
	"os"
	"path/filepath"

	"github.com/mcpbroker/mcpbroker/skills/remote"
	"github.com/mcpbroker/mcpbroker/skills/repo"
)

// A From is where a skill or a plugin is installed from: a path or, for a skill,
// a host, for a plugin, a repository or a marketplace.
type From struct {
	Path string // of an archive or a folder
	// Upload means that Path is a copy of received data with a meaningless name.
	Upload bool
	Hosted *Hosted // a skill of a host
	// Repo is a git repository; with Path, the commit that Path was fetched at.
	Repo  *repo.Source
	Offer *Offer // of a marketplace
	// Within is a folder that contains Path: links that stay inside it are followed.
	// Empty means Path.
	Within string
	// Strict refuses a skill that breaks the standard, instead of one that would not
	// load.
	Strict bool
}

// A Hosted is a skill that a host lists. It is installed under the name that it
// is listed by, or not at all; so is the plugin of an Offer.
type Hosted struct {
	Client *remote.Client
	Entry  remote.Entry
}

// name returns the name of the source before it was read.
func (f From) name() string {
	switch {
	case f.Hosted != nil:
		return f.Hosted.Entry.Name
	case f.Offer != nil:
		return f.Offer.Name
	case f.Repo != nil && f.Path == "":
		return f.Repo.URL
	case f.Upload:
		return "upload"
	}
	return filepath.Base(f.Path)
}

// origin is what the record says of where it comes from, unless its name does.
func (f From) origin() string {
	switch {
	case f.Hosted != nil:
		return "from " + f.Hosted.Client.Host()
	case f.Upload:
		return "from an upload"
	case f.Repo != nil && f.Path != "":
		return "from " + f.Repo.URL + " " + f.Repo.Commit
	}
	return ""
}

// fetch fetches the skill. It takes long: no lock may be held. done removes what
// was fetched, and is never nil.
func (h *Hosted) fetch(ctx context.Context) (path string, done func(), err error) {
	tmp, err := os.MkdirTemp("", "broker-skill-")
	if err != nil {
		return "", func() {}, err
	}
	path, err = h.Client.Fetch(ctx, h.Entry, tmp)
	return path, func() { os.RemoveAll(tmp) }, err
}
