package docker

import (
	"context"
	"slices"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// PythonImage is the default image for Python.
const PythonImage = "mcpbroker/sandbox-python:latest"

// python runs Python in an image that a user created.
type python struct{}

func (python) name() string                  { return KindPython }
func (python) languages() []sandbox.Language { return []sandbox.Language{sandbox.Python} }
func (python) command(int64) []string {
	args := runnerArgs("python", ".py", "wire", "values", "source", "host", "skills", "report", "waits", "program")
	// The tables follow boot as a module of their own.
	functions := []string{"functions", "import json\nFUNCTIONS = json.loads(r'''" + script.FunctionsJSON() + "''')\nMEDIA = json.loads(r'''" + script.PythonMediaJSON() + "''')"}
	return append([]string{"python3", "-I", "-B", "-X", "utf8", "-c"}, slices.Insert(args, 1, functions...)...)
}
func (python) env() []string            { return []string{"HOME=/tmp", "TMPDIR=/tmp", "TZ=UTC"} }
func (python) tmpfs() map[string]string { return map[string]string{"/tmp": tmpfsOptions} }
func (python) overhead() int64          { return 32 << 20 }

func (python) image(ctx context.Context, e *engine, o *Options) (string, error) {
	return e.imageOf(ctx, KindPython, o.Image)
}
