package docker

import (
	"embed"
	"path"
)

// runnerFiles are the runners in other languages than Go. They are passed to their interpreters as
// arguments, so that an image needs no files of this package and works with every version of it.
//
//go:embed runners
var runnerFiles embed.FS

// runnerText returns one file of a runner.
func runnerText(language, file string) string {
	b, err := runnerFiles.ReadFile(path.Join("runners", language, file))
	if err != nil {
		panic(err) // the name is a constant
	}
	return string(b)
}

// runnerArgs returns the arguments that start a runner: the text of boot, and the names and texts
// of its modules, which boot runs in this order.
func runnerArgs(language, ext string, modules ...string) []string {
	args := []string{runnerText(language, "boot"+ext)}
	for _, name := range modules {
		args = append(args, name, runnerText(language, name+ext))
	}
	return args
}
