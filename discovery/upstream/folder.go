package upstream

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// folderRef matches the references to the folder of the project or its name; after
// another "$" they are plain text.
var folderRef = lazyregexp.New(`\$?\$\{workspaceFolder(?:Basename)?\}`)

// errNoFolder is why a server cannot be started that is for a project.
var errNoFolder = &link.Error{
	Err:  errors.New("it waits for a project: ${workspaceFolder} stands for its folder, and no client with one has connected"),
	Hint: "connect a client from the folder of a project, or write a path",
}

// usesFolder reports whether the folder of a project is a part of what is started.
func (c Config) usesFolder() bool {
	uses := false
	c.eachText(func(text string) string {
		if !strings.Contains(text, "${workspaceFolder") { // each call asks
			return text
		}
		for _, ref := range folderRef.FindAllString(text, -1) {
			uses = uses || !strings.HasPrefix(ref, "$$")
		}
		return text
	})
	return uses
}

// inFolder returns c with references to the folder replaced.
func (c Config) inFolder(folder string) Config {
	plain := strings.NewReplacer("${", "$${")
	return c.eachText(func(text string) string {
		return folderRef.ReplaceAllStringFunc(text, func(ref string) string {
			switch ref {
			case "${workspaceFolder}":
				return plain.Replace(folder)
			case "${workspaceFolderBasename}":
				return plain.Replace(filepath.Base(folder))
			}
			return ref
		})
	})
}

// eachText is c with f applied to each text that may hold references.
func (c Config) eachText(f func(string) string) Config {
	c.Command, c.Dir, c.URL = f(c.Command), f(c.Dir), f(c.URL)
	c.Args, c.Env, c.Headers = slices.Clone(c.Args), maps.Clone(c.Env), maps.Clone(c.Headers)
	for i := range c.Args {
		c.Args[i] = f(c.Args[i])
	}
	for _, m := range []map[string]string{c.Env, c.Headers} {
		for k, v := range m {
			m[k] = f(v)
		}
	}
	return c
}
