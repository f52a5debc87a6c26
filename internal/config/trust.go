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

// A Trust records that the user allows the servers of a project to start as they are.
type Trust struct {
	// Path is the path of the project's file, without links.
	Path string `json:"path"`
	// Digest is the result of Project.Digest.
	Digest string `json:"digest"`
	// Servers are the names of the allowed servers.
	Servers []string  `json:"servers"`
	At      time.Time `json:"at"`
}

// TrustPath returns the file of a state directory with the trusted projects.
func TrustPath(state string) string { return filepath.Join(state, "projects.json") }

// Trusts returns the trusted projects, sorted by path.
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

// SetTrust replaces the record for the project at t.Path, or removes it if t has no Digest.
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

// RealPath returns the path by which a project is trusted.
func (p *Project) RealPath() string {
	if real, err := filepath.EvalSymlinks(p.Path); err == nil {
		return real
	}
	return p.Path
}
