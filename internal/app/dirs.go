package app

import (
	"path/filepath"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// CatalogueDir returns the folder of a state directory with the listings and failures
// of servers.
func CatalogueDir(state string) string { return filepath.Join(state, "catalogue") }

// IndexDir returns the folder of a state directory with search indexes.
func IndexDir(state string) string { return filepath.Join(state, "index") }

// SkillCacheDir returns the folder of a state directory with files of skills of servers.
// Nothing looks for skills there.
func SkillCacheDir(state string) string { return filepath.Join(state, "server-skills") }

// SavedScripts returns the folder of the saved scripts of a config: beside it, where
// people review them and put them under version control with it.
func SavedScripts(cfg *config.Config) string { return filepath.Join(filepath.Dir(cfg.Path), "scripts") }
