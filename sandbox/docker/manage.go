package docker

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/filters"
	typei "github.com/docker/docker/api/types/image"
)

// drain reads the engine's messages about the creation of an image, and returns the failure that
// they report.
func drain(answer io.ReadCloser) error {
	defer answer.Close()
	dec := json.NewDecoder(answer)
	for {
		var m struct {
			Error string `json:"error"`
		}
		switch err := dec.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case m.Error != "":
			return errors.New(m.Error)
		}
	}
}

// A Manager manages the images of sandboxes. Close must be called.
type Manager struct {
	eng    *engine
	within string // a label that images must have as well; may be empty
}

// NewManager connects to an engine. It returns ErrNoEngine if none answers.
func NewManager(ctx context.Context, at Address) (*Manager, error) {
	e, err := connect(ctx, at)
	if err != nil {
		return nil, err
	}
	return &Manager{eng: e}, nil
}

// Close ends the connection.
func (m *Manager) Close() error { return m.eng.api.Close() }

// Address returns the address of the engine.
func (m *Manager) Address() string { return m.eng.address }

// BuildGoja creates the image of executable, which is as in Options, unless it exists, and returns
// its name.
func (m *Manager) BuildGoja(ctx context.Context, executable string) (string, error) {
	return m.eng.gojaImage(ctx, executable)
}

// Import creates the image name of a kind, KindNode or KindPython, from a file system in a tar
// archive, which may be compressed. It must meet the requirements of Options.Image. An empty name
// means NodeImage or PythonImage.
func (m *Manager) Import(ctx context.Context, kind, name string, rootfs io.Reader) (string, error) {
	name = cmp.Or(name, defaultImage(kind))
	return name, m.eng.importImage(ctx, rootfs, name, kind)
}

// Build is like Import, for a Dockerfile with an argument BASE, the base image, which the engine
// downloads unless it has it.
func (m *Manager) Build(ctx context.Context, kind, name string, dockerfile []byte, base string) (string, error) {
	name = cmp.Or(name, defaultImage(kind))
	var dir bytes.Buffer
	t := tar.NewWriter(&dir)
	if err := t.WriteHeader(&tar.Header{Name: "Dockerfile", Mode: 0o644, Size: int64(len(dockerfile)), Typeflag: tar.TypeReg}); err != nil {
		return "", err
	}
	if _, err := t.Write(dockerfile); err != nil {
		return "", err
	}
	if err := t.Close(); err != nil {
		return "", err
	}
	args := map[string]*string{"BASE": &base}
	answer, err := m.eng.api.ImageBuild(ctx, &dir, build.ImageBuildOptions{
		Tags: []string{name}, BuildArgs: args, Remove: true, ForceRemove: true,
		Labels: map[string]string{labelKind: kind},
	})
	if err == nil {
		err = drain(answer.Body)
	}
	if err != nil {
		return "", fmt.Errorf("build image %s from %s: %w", name, base, because(ctx, err))
	}
	return name, nil
}

// Images returns the images of sandboxes, by kind and name. executable is as in Options: its image
// is a current one.
func (m *Manager) Images(ctx context.Context, executable string) ([]Image, error) {
	which := filters.NewArgs(filters.Arg("label", labelKind))
	if m.within != "" {
		which.Add("label", m.within)
	}
	list, err := m.eng.api.ImageList(ctx, typei.ListOptions{Filters: which})
	if err != nil {
		return nil, fmt.Errorf("list images: %w", because(ctx, err))
	}
	goja, err := gojaName(executable)
	if err != nil {
		return nil, err
	}
	var images []Image
	for _, i := range list {
		image := Image{Kind: i.Labels[labelKind], ID: shortID(i.ID), Bytes: i.Size}
		for _, name := range i.RepoTags {
			if name == "<none>:<none>" {
				continue
			}
			name = strings.TrimPrefix(strings.TrimPrefix(name, "docker.io/"), "localhost/")
			image.Names = append(image.Names, name)
			image.Current = image.Current || name == goja || name == PythonImage || name == NodeImage
		}
		images = append(images, image)
	}
	slices.SortFunc(images, func(a, b Image) int {
		return strings.Compare(a.Kind+strings.Join(a.Names, " ")+a.ID, b.Kind+strings.Join(b.Names, " ")+b.ID)
	})
	return images, nil
}

// A Pruned lists what Prune removed.
type Pruned struct {
	// Containers is the number of removed containers of dead brokers.
	Containers int `json:"containers"`
	// Images are the removed images.
	Images []Image `json:"images"`
}

// Prune removes the containers of dead brokers, and the images that are not current or, if all is
// set, all images. An image that a container uses stays, and is part of the error.
func (m *Manager) Prune(ctx context.Context, executable string, all bool, log *slog.Logger) (Pruned, error) {
	p := Pruned{Containers: m.eng.sweep(ctx, log), Images: []Image{}}
	images, err := m.Images(ctx, executable)
	if err != nil {
		return p, err
	}
	var failed []error
	for _, i := range images {
		if i.Current && !all {
			continue
		}
		if _, err := m.eng.api.ImageRemove(ctx, i.ID, typei.RemoveOptions{Force: len(i.Names) > 1, PruneChildren: true}); err != nil {
			failed = append(failed, fmt.Errorf("remove image %s: %w", i.ID, because(ctx, err)))
			continue
		}
		p.Images = append(p.Images, i)
	}
	return p, errors.Join(failed...)
}

// Has returns ErrNoImage if the engine lacks the image of a kind, KindNode or KindPython. image is
// as in Options.
func (m *Manager) Has(ctx context.Context, kind, image string) error {
	_, err := m.eng.imageOf(ctx, kind, image)
	return err
}

// HasCommands returns the image in which a command with that name would run, or ErrNoImage. image
// is as in sandbox.Command.
func (m *Manager) HasCommands(ctx context.Context, program, image string) (string, error) {
	return m.eng.commandImage(ctx, program, image)
}
