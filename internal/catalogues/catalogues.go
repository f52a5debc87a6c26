// Package catalogues contains the tools of a dozen made-up servers for tests, with
// schemas and annotations like those of published servers. For measurements it adds
// recorded servers, if the variable BROKER_RECORDED names their folder.
package catalogues

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed servers
var servers embed.FS

// A File contains the tools of one server, as {"server": …, "tools": […]}.
type File struct {
	Name string // of the server
	Data []byte
}

// Own returns the servers of this package, sorted by name.
func Own() []File {
	sub, err := fs.Sub(servers, "servers")
	if err != nil {
		panic(err) // a constant
	}
	return filesOf(sub)
}

// All returns Own and the recorded servers.
func All() []File {
	dir := Recorded("catalog")
	if dir == "" {
		return Own()
	}
	return append(Own(), filesOf(os.DirFS(dir))...)
}

func filesOf(dir fs.FS) (list []File) {
	names, _ := fs.Glob(dir, "*.json") // the pattern is valid
	for _, name := range names {
		if data, err := fs.ReadFile(dir, name); err == nil && name != "servers.json" { // servers.json lists the others
			list = append(list, File{strings.TrimSuffix(name, ".json"), data})
		}
	}
	return list
}

// Recorded returns the path of a folder of recordings, or "" without BROKER_RECORDED.
func Recorded(name string) string {
	dir := os.Getenv("BROKER_RECORDED")
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}
