package host

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// pathVariable lists the folders of programs. Clients may have different values, which
// do not affect each other.
const pathVariable = "PATH"

// A Variables has the environment variables of a process and those that a daemon has
// adopted from clients. Those of the process take precedence and are never changed.
type Variables struct {
	process func(name string) (string, bool)

	mu      sync.Mutex
	adopted map[string]string
}

// NewVariables returns the variables that process finds.
func NewVariables(process func(name string) (string, bool)) *Variables {
	return &Variables{process: process, adopted: make(map[string]string)}
}

// Lookup returns the value of a variable.
func (v *Variables) Lookup(name string) (string, bool) {
	if value, ok := v.process(name); ok {
		return value, true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	value, ok := v.adopted[name]
	return value, ok
}

// adopt adds a variable unless it exists, and reports whether it did.
func (v *Variables) adopt(name, value string) bool {
	if _, has := v.Lookup(name); has {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.adopted[name] = value
	return true
}

// sources returns from with v as its environment.
func (v *Variables) sources(from config.Sources) config.Sources {
	from.Env = v.Lookup
	return from
}

// withPath returns a function that returns an environment with another PATH.
func withPath(environ func() []string, path string) func() []string {
	return func() []string {
		env := slices.DeleteFunc(environ(), func(kv string) bool {
			name, _, _ := strings.Cut(kv, "=")
			return strings.EqualFold(name, pathVariable)
		})
		return append(env, pathVariable+"="+path)
	}
}

// samePath reports whether two values of PATH list the same folders in the same order.
func samePath(a, b string) bool { return a == b || slices.Equal(foldersOf(a), foldersOf(b)) }

func foldersOf(path string) (folders []string) {
	for _, dir := range filepath.SplitList(path) {
		if dir = filepath.Clean(dir); filepath.IsAbs(dir) && !slices.Contains(folders, dir) { // relative folders are not searched
			folders = append(folders, dir)
		}
	}
	return folders
}
