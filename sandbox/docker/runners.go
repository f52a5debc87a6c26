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

// runnerArgs are the arguments that start a runner: the text of boot, and the
// names and texts of its modules, which boot runs in this order.
func runnerArgs(language, ext string, modules ...string) []string {
	text := func(name string) string {
		b, err := runnerFiles.ReadFile(path.Join("runners", language, name+ext))
		if err != nil {
			panic(err) // a name of our own
		}
		return string(b)
	}
	args := []string{text("boot")}
	for _, name := range modules {
		args = append(args, name, text(name))
	}
	return args
}
