package docker

import (
	"embed"
	"path"
)

// runnerFiles are the runners that are not written in Go. They are handed to
// their interpreters as arguments, so that an image needs nothing of ours and
// fits every version of this package.
//
//go:embed runners
var runnerFiles embed.FS

// runnerText is one file of a runner.
func runnerText(language, file string) string {
	b, err := runnerFiles.ReadFile(path.Join("runners", language, file))
	if err != nil {
		panic(err) // a name of our own
	}
	return string(b)
}

// runnerArgs are the arguments that start a runner: the text of boot, and the
// names and texts of its modules, which boot runs in this order.
func runnerArgs(language, ext string, modules ...string) []string {
	args := []string{runnerText(language, "boot"+ext)}
	for _, name := range modules {
		args = append(args, name, runnerText(language, name+ext))
	}
	return args
}
