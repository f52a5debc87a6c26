package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/images"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
)

func (a *app) sandboxBuildCommand() *cobra.Command {
	var base, rootfs string
	c := &cobra.Command{
		Use:   "build goja|python",
		Short: "Make the image that scripts run in",
		Long: "Make an image for containers. goja is for JavaScript and TypeScript; it holds this program alone, and is also made\n" +
			"when it is first needed. python is made of an image that has python3, which is downloaded unless the engine has it,\n" +
			"or of a file system in a tar archive. Packages that are in it can be imported by scripts.",
		Args: oneArg("goja or python"),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := args[0]
			if kind != "goja" && kind != "python" {
				return usage("unknown image %q\nhint: the images are goja and python", kind)
			}
			if kind == "goja" && (cmd.Flags().Changed("base") || rootfs != "") {
				return usage("--base and --rootfs are for python: goja is made of this program alone")
			}
			if cmd.Flags().Changed("base") && rootfs != "" {
				return usage("--base and --rootfs exclude each other")
			}
			m, err := docker.NewManager(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer m.Close()
			var name string
			switch {
			case kind == "goja":
				name, err = m.BuildGoja(cmd.Context(), "")
			case rootfs != "":
				name, err = a.importPython(cmd, m, rootfs)
			default:
				name, err = m.BuildPython(cmd.Context(), "", images.Python, base)
			}
			if err != nil {
				return err
			}
			return a.tryImage(cmd, kind, name)
		},
	}
	c.Flags().StringVar(&base, "base", "python:3-slim", "the image that has python3")
	c.Flags().StringVar(&rootfs, "rootfs", "", "a tar archive with python3 instead, - for stdin")
	return c
}

func (a *app) importPython(cmd *cobra.Command, m *docker.Manager, rootfs string) (string, error) {
	var in io.Reader = a.stdin
	if rootfs != "-" {
		f, err := os.Open(rootfs)
		if err != nil {
			return "", usage("--rootfs: %w", err)
		}
		defer f.Close()
		in = f
	}
	return m.ImportPython(cmd.Context(), "", in)
}

// tryImage runs a small script in a new image, and says what is there now.
func (a *app) tryImage(cmd *cobra.Command, kind, name string) error {
	o, req := &docker.Options{Spares: -1, Logger: a.logger()}, sandbox.Request{Code: "return 'JavaScript and TypeScript'"}
	r := docker.New(o)
	if kind == "python" {
		r = docker.NewPython(o)
		req = sandbox.Request{Language: sandbox.Python, Code: "import platform, asyncio, json\n'Python ' + platform.python_version()"}
	}
	defer r.Close()
	res, err := r.Run(cmd.Context(), req)
	if err == nil && res.ExitCode != sandbox.ExitOK {
		err = fmt.Errorf("a small script ended with code %d: %s", res.ExitCode, res.Error)
	}
	if err != nil {
		return fmt.Errorf("the image %s was made, and does not work: %w", name, err)
	}
	says := strings.Trim(string(res.Value), `"`)
	if a.json {
		return a.printJSON(map[string]string{"kind": kind, "image": name, "runs": says})
	}
	_, err = fmt.Fprintf(a.stdout, "%s is ready: %s\n", name, says)
	return err
}

func (a *app) sandboxListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the images that scripts run in",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := docker.NewManager(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer m.Close()
			list, err := m.Images(cmd.Context(), "")
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"engine": m.Address(), "images": append([]docker.Image{}, list...)})
			}
			if len(list) == 0 {
				_, err := fmt.Fprintf(a.stdout, "no images at %s; broker sandbox build python makes one\n", m.Address())
				return err
			}
			return printImages(a.stdout, list)
		},
	}
}

func printImages(w io.Writer, list []docker.Image) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KIND\tIMAGE\tID\tSIZE\tUSE")
	for _, i := range list {
		use := "not used by this version: broker sandbox prune"
		if i.Current {
			use = "current"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d MB\t%s\n", i.Kind, strings.Join(i.Names, " "), i.ID, i.Bytes/1e6, use)
	}
	return t.Flush()
}

func (a *app) sandboxPruneCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "prune",
		Short: "Remove containers of brokers that are gone, and images of other versions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := docker.NewManager(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer m.Close()
			p, err := m.Prune(cmd.Context(), "", all, a.logger())
			if a.json {
				if jerr := a.printJSON(p); jerr != nil {
					return jerr
				}
				return err
			}
			fmt.Fprintf(a.stdout, "removed %d containers and %d images\n", p.Containers, len(p.Images))
			return err
		},
	}
	c.Flags().BoolVar(&all, "all", false, "remove the images of this version too")
	return c
}
