package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/images"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
)

// A recipe is how the image of a kind is made that holds more than this program.
type recipe struct {
	base       string // the usual image to begin with
	dockerfile []byte
}

var recipes = map[string]recipe{
	docker.KindNode:   {"node:22-slim", images.Node},
	docker.KindPython: {"python:3-slim", images.Python},
}

func (a *app) sandboxBuildCommand() *cobra.Command {
	var base, rootfs string
	c := &cobra.Command{
		Use:   "build goja|node|python",
		Short: "Build the container image that scripts run in",
		Long: "Make an image for containers. goja is for JavaScript and TypeScript; it holds this program alone, and is also made\n" +
			"when it is first needed. node, for JavaScript and TypeScript in Node, and python are made of an image that has node\n" +
			"or python3, which is downloaded unless the engine has it, or of a file system in a tar archive. Packages that are in\n" +
			"the image of Python can be imported by scripts.",
		Args: cli.OneArg("goja, node or python"),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := args[0]
			how, made := recipes[kind]
			if !made && kind != docker.KindGoja {
				return cli.Usagef("unknown image %q\nhint: the images are goja, node and python", kind)
			}
			if !made && (base != "" || rootfs != "") {
				return cli.Usagef("--base and --rootfs are for node and python: goja is made of this program alone")
			}
			if base != "" && rootfs != "" {
				return cli.Usagef("--base and --rootfs exclude each other")
			}
			m, err := a.imageManager(cmd.Context())
			if err != nil {
				return err
			}
			defer m.Close()
			var name string
			stop := a.Busy("making the image of " + kind)
			defer stop()
			switch {
			case !made:
				name, err = m.BuildGoja(cmd.Context(), "")
			case rootfs != "":
				name, err = a.importImage(cmd.Context(), m, kind, rootfs)
			default:
				name, err = m.Build(cmd.Context(), kind, "", how.dockerfile, cmp.Or(base, how.base))
			}
			if stop(); err != nil {
				return err
			}
			return a.tryImage(cmd, kind, name)
		},
	}
	c.Flags().StringVar(&base, "base", "", "the image that has node or python3 (default node:22-slim, python:3-slim)")
	c.Flags().StringVar(&rootfs, "rootfs", "", "a tar archive with node or python3 instead, - for stdin")
	return c
}

// imageManager returns the manager of the images of the configured engine, or of the
// default one.
func (a *app) imageManager(ctx context.Context) (*docker.Manager, error) {
	set, err := a.sandboxSettings()
	if err != nil {
		return nil, err
	}
	return docker.NewManager(ctx, application.EngineAddress(set))
}

func (a *app) importImage(ctx context.Context, m *docker.Manager, kind, rootfs string) (string, error) {
	in := a.In
	if rootfs != "-" {
		f, err := os.Open(rootfs)
		if err != nil {
			return "", cli.Usagef("--rootfs: %w", err)
		}
		defer f.Close()
		in = f
	}
	return m.Import(ctx, kind, "", in)
}

// tryImage runs a small script in a new image, and says what is there now.
func (a *app) tryImage(cmd *cobra.Command, kind, name string) error {
	set, err := a.sandboxSettings()
	if err != nil {
		return err
	}
	o := &docker.Options{Engine: application.EngineAddress(set), Spares: -1, Logger: a.logger()}
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
	res, err := r.Run(cmd.Context(), req)
	if err == nil && res.ExitCode != sandbox.ExitOK {
		err = fmt.Errorf("a small script ended with code %d: %s", res.ExitCode, res.Error)
	}
	if err != nil {
		return fmt.Errorf("the image %s was built but does not work: %w", name, err)
	}
	says := strings.Trim(string(res.Value), `"`)
	if a.JSON {
		return a.PrintJSON(map[string]string{"kind": kind, "image": name, "runs": says})
	}
	_, err = cli.Fprintf(a.Out, "%s is ready: %s\n", name, says)
	return err
}

func (a *app) sandboxListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the container images that scripts run in",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := a.imageManager(cmd.Context())
			if err != nil {
				return err
			}
			defer m.Close()
			list, err := m.Images(cmd.Context(), "")
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(map[string]any{"engine": m.Address(), "images": append([]docker.Image{}, list...)})
			}
			if len(list) == 0 {
				_, err := cli.Fprintf(a.Out, "no images at %s; broker sandbox build makes them\n", m.Address())
				return err
			}
			return printImages(a.Out, list)
		},
	}
}

func printImages(w io.Writer, list []docker.Image) error {
	return cli.NewTable("KIND\tIMAGE\tID\tSIZE\tUSE", func(i docker.Image) []any {
		use := "not used by this version: broker sandbox prune"
		if i.Current {
			use = "current"
		}
		return []any{i.Kind, strings.Join(i.Names, " "), i.ID, fmt.Sprintf("%d MB", i.Bytes/1e6), use}
	}).Print(w, list)
}

func (a *app) sandboxPruneCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "prune",
		Short: "Remove leftover containers and images of other versions",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := a.imageManager(cmd.Context())
			if err != nil {
				return err
			}
			defer m.Close()
			p, err := m.Prune(cmd.Context(), "", all, a.logger())
			if a.JSON {
				if jerr := a.PrintJSON(p); jerr != nil {
					return jerr
				}
				return err
			}
			cli.Fprintf(a.Out, "removed %s and %s\n", cli.Count(p.Containers, "container"), cli.Count(len(p.Images), "image"))
			return err
		},
	}
	c.Flags().BoolVar(&all, "all", false, "remove the images of this version too")
	return c
}
