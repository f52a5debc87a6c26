package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/filelock"
)

// A Trust is the user's word that the servers of a project may start as they are.
type Trust struct {
	// Path is where the project's file is, with no link in it.
	Path string `json:"path"`
	// Digest is that of the project, as Project.Digest gives it.
	Digest string `json:"digest"`
	// Servers are the names of those that it is about.
	Servers []string  `json:"servers"`
	At      time.Time `json:"at"`
}

// TrustPath is the file of a state directory that keeps which projects the user
// trusts.
func TrustPath(state string) string { return filepath.Join(state, "projects.json") }

// Trusts are the projects that the user trusts, sorted by path.
func Trusts(state string) ([]Trust, error) {
	data, err := os.ReadFile(TrustPath(state))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []Trust
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("read which projects are trusted: %s: %w", TrustPath(state), err)
	}
	return list, nil
}

// SetTrust replaces what is kept of the project at t.Path; without a Digest it
// keeps nothing of it any more.
func SetTrust(ctx context.Context, state string, t Trust) error {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	unlock, err := filelock.Lock(ctx, TrustPath(state)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	list, err := Trusts(state)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(o Trust) bool { return o.Path == t.Path })
	if t.Digest != "" {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b Trust) int { return strings.Compare(a.Path, b.Path) })
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteSync(TrustPath(state), append(data, '\n'))
}

// RealPath is the path by which a project is trusted.
func (p *Project) RealPath() string {
	if real, err := filepath.EvalSymlinks(p.Path); err == nil {
		return real
	}
	return p.Path
}
