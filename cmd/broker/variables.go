package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// pathVariable lists the folders of programs. Clients may have different values, which
// do not affect each other.
const pathVariable = "PATH"

// variables are the environment variables of this process and those that a daemon has
// adopted from clients. Those of the process take precedence and are never changed. The
// zero value is ready to use.
type variables struct {
	mu      sync.Mutex
	adopted map[string]string
}

// lookupVariable is os.LookupEnv without what a client has passed although it does not have
// it: its entry for the broker names a variable as "$NAME" or in a similar form, which
// stays as it is written, or for Gemini CLI becomes an empty text.
func lookupVariable(name string) (string, bool) {
	value, ok := os.LookupEnv(name)
	switch value {
	case "$" + name, "${" + name + "}", "${env:" + name + "}":
		return "", false
	case "":
		return "", ok && os.Getenv("GEMINI_CLI") != "1"
	}
	return value, ok
}

// lookup returns the value of a variable.
func (v *variables) lookup(name string) (string, bool) {
	if value, ok := lookupVariable(name); ok {
		return value, true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	value, ok := v.adopted[name]
	return value, ok
}

// adopt adds a variable unless it exists, and reports whether it did.
func (v *variables) adopt(name, value string) bool {
	if _, has := v.lookup(name); has {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.adopted == nil {
		v.adopted = make(map[string]string)
	}
	v.adopted[name] = value
	return true
}

// sources returns the sources of references in the config of servers.
func (v *variables) sources() config.Sources {
	from := sources()
	from.Env = v.lookup
	return from
}

// environWith returns a function that returns the environment of this process with
// another PATH.
func environWith(path string) func() []string {
	return func() []string {
		env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
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
