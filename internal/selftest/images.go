package selftest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/mcpbroker/mcpbroker/images"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
)

// A Recipe is how the image of a kind is made that holds more than this program.
type Recipe struct {
	Base       string // the usual image to begin with
	Dockerfile []byte
}

var Recipes = map[string]Recipe{
	docker.KindNode:   {"node:22-slim", images.Node},
	docker.KindPython: {"python:3-slim", images.Python},
}

// TryImage runs a small script in a new image, and says what is there now.
func TryImage(ctx context.Context, t *cli.IO, set config.Sandbox, kind, name string, log *slog.Logger) error {
	o := &docker.Options{Engine: application.EngineAddress(set), Spares: -1, Logger: log}
	var r sandbox.Runner
	var req sandbox.Request
	switch kind {
	case docker.KindNode:
		r, req.Code = docker.NewNode(o), "return 'JavaScript and TypeScript in Node'"
	case docker.KindPython:
		r, req.Code = docker.NewPython(o), "import platform, asyncio, json\n'Python ' + platform.python_version()"
		req.Language = sandbox.Python
	default:
		r, req.Code = docker.New(o), "return 'JavaScript and TypeScript'"
	}
	defer r.Close()
	res, err := r.Run(ctx, req)
	if err == nil && res.ExitCode != sandbox.ExitOK {
		err = fmt.Errorf("a small script ended with code %d: %s", res.ExitCode, res.Error)
	}
	if err != nil {
		return fmt.Errorf("the image %s was built but does not work: %w", name, err)
	}
	says := strings.Trim(string(res.Value), `"`)
	if t.JSON {
		return t.PrintJSON(map[string]string{"kind": kind, "image": name, "runs": says})
	}
	_, err = cli.Fprintf(t.Out, "%s is ready: %s\n", name, says)
	return err
}

func PrintImages(w io.Writer, list []docker.Image) error {
	return cli.NewTable("KIND\tIMAGE\tID\tSIZE\tUSE", func(i docker.Image) []any {
		use := "not used by this version: broker sandbox prune"
		if i.Current {
			use = "current"
		}
		return []any{i.Kind, strings.Join(i.Names, " "), i.ID, fmt.Sprintf("%d MB", i.Bytes/1e6), use}
	}).Print(w, list)
}
