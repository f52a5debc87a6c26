package docker

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	typei "github.com/docker/docker/api/types/image"

	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// gojaRepository contains an image for each binary, tagged by its digest.
const gojaRepository = "mcpbroker/sandbox-goja"

// gojaImage returns the image of a binary. It creates the image if necessary.
func (e *engine) gojaImage(ctx context.Context, executable string) (string, error) {
	ref, err := gojaName(executable)
	if err != nil {
		return "", err
	}
	if ok, err := e.hasImage(ctx, ref); ok || err != nil {
		return ref, err
	}
	f, err := openExecutable(executable)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := static(f); err != nil {
		return "", err
	}
	rootfs, w := io.Pipe()
	go func() { w.CloseWithError(writeRootfs(w, f)) }()
	err = e.importImage(ctx, rootfs, ref, KindGoja)
	rootfs.CloseWithError(errors.New("import ended")) // lets the goroutine end
	return ref, err
}

// gojaName returns the name of the image of a binary.
func gojaName(executable string) (string, error) {
	f, err := openExecutable(executable)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s:%x", gojaRepository, h.Sum(nil)[:8]), nil
}

// openExecutable opens the binary that containers run.
func openExecutable(path string) (*os.File, error) {
	switch {
	case path != "":
	case runtime.GOOS != "linux":
		return nil, fmt.Errorf("the broker runs scripts in containers with its own binary, which must be built for Linux; this one is built for %s: use \"isolation\": \"auto\"", runtime.GOOS)
	default:
		path = worker.Executable()
	}
	return os.Open(path)
}

// CheckExecutable reports, as an error with advice, why containers cannot run the binary
// executable, which is as in Options. It does not ask the engine.
func CheckExecutable(executable string) error {
	f, err := openExecutable(executable)
	if err != nil {
		return err
	}
	defer f.Close()
	return static(f)
}

// static rejects a binary that needs a dynamic linker, since the image contains nothing else.
func static(r io.ReaderAt) error {
	f, err := elf.NewFile(r)
	if err != nil {
		return fmt.Errorf("the binary for containers is not for Linux: %w", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("this broker was built with cgo and needs a C library, which its container does not have: use a released binary, or one that is built with: CGO_ENABLED=0 go install ./cmd/broker ./cmd/broker-worker")
		}
	}
	return nil
}

// writeRootfs writes the complete file system of the image for binary.
func writeRootfs(w io.Writer, binary *os.File) error {
	info, err := binary.Stat()
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	if err := t.WriteHeader(&tar.Header{Name: worker.Command()[0], Mode: 0o555, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	if _, err := io.Copy(t, io.NewSectionReader(binary, 0, info.Size())); err != nil {
		return err
	}
	return t.Close()
}

// hasImage reports whether the engine has an image.
func (e *engine) hasImage(ctx context.Context, ref string) (bool, error) {
	_, err := e.api.ImageInspect(ctx, ref)
	switch {
	case err == nil:
		return true, nil
	case cerrdefs.IsNotFound(err):
		return false, nil
	}
	return false, fmt.Errorf("look for image %s: %w", ref, because(ctx, err))
}

// defaultImage returns the default image of a kind.
func defaultImage(kind string) string {
	if kind == KindNode {
		return NodeImage
	}
	return PythonImage
}

// imageOf returns the image of a kind: the named or the default one. It must exist.
func (e *engine) imageOf(ctx context.Context, kind, named string) (string, error) {
	ref := cmp.Or(named, defaultImage(kind))
	ok, err := e.hasImage(ctx, ref)
	if err == nil && !ok {
		err = fmt.Errorf("%w of %s (%s)", ErrNoImage, kind, ref)
	}
	return ref, err
}

// importImage creates an image from a file system in a tar archive, which may be compressed.
func (e *engine) importImage(ctx context.Context, rootfs io.Reader, ref, kind string) error {
	answer, err := e.api.ImageImport(ctx, typei.ImportSource{Source: rootfs, SourceName: "-"}, ref,
		typei.ImportOptions{Changes: []string{"USER " + user, "LABEL " + labelKind + "=" + kind}})
	if err == nil {
		err = drain(answer)
	}
	if err != nil {
		return fmt.Errorf("make image %s: %w", ref, because(ctx, err))
	}
	if ok, err := e.hasImage(ctx, ref); err != nil {
		return err
	} else if !ok {
		return fmt.Errorf("make image %s: the engine says that it has, and does not have it", ref)
	}
	return nil
}

// An Image is an image of this package, or of a broker of another version.
type Image struct {
	Kind  string   `json:"kind"`
	Names []string `json:"names"`
	ID    string   `json:"id"`
	Bytes int64    `json:"bytes"`
	// Current reports whether this program uses the image.
	Current bool `json:"current"`
}

func shortID(id string) string {
	_, hex, ok := strings.Cut(id, ":")
	if !ok {
		hex = id
	}
	return hex[:min(12, len(hex))]
}
