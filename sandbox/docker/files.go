package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	cerrdefs "github.com/containerd/errdefs"
	typec "github.com/docker/docker/api/types/container"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Files of the host are copied, not mounted: a bind mount would need an engine with access to this
// machine's folders, and files that user 65534 may read. The copy is in the volume of a container
// that is never started, the shelf; other containers mount that volume read-only. It is removed
// with the last of them.

// A shelf is a container that is never started, with a volume of files.
type shelf struct{ id, key string }

// createWith creates a container with access to files. If there are no files, or its kind has no
// file system, it is an ordinary container. If the files cannot be copied, the container is
// created without them and unfiled is the reason.
func (r *runner) createWith(ctx context.Context, eng *engine, config *typec.Config, host *typec.HostConfig, files fileSet) (id string, unfiled, err error) {
	if files.key == "" {
		id, err = eng.create(ctx, config, host)
		return id, nil, err
	}
	r.shelfMu.Lock()
	defer r.shelfMu.Unlock()
	for range 2 {
		if unfiled = r.stock(ctx, eng, config.Image, files); unfiled != nil {
			break
		}
		with := *host
		with.VolumesFrom = []string{r.shelf.id + ":ro"}
		id, err = eng.create(ctx, config, &with)
		if err == nil || ctx.Err() != nil {
			return id, nil, err
		}
		unfiled = err
		r.clearShelf(r.pool.Go) // it may have been removed
	}
	if cerrdefs.IsNotFound(unfiled) {
		return "", nil, unfiled // the image is probably missing
	}
	id, err = eng.create(ctx, config, host)
	return id, unfiled, err
}

// stock creates a shelf with files, unless it exists; r.shelving must be held.
func (r *runner) stock(ctx context.Context, eng *engine, image string, files fileSet) error {
	if r.shelf.id != "" && r.shelf.key == files.key {
		return nil
	}
	r.clearShelf(r.pool.Go) // the caller, who starts a container, is active
	id, err := eng.create(ctx, &typec.Config{
		Image: image, User: user, Entrypoint: []string{"/never-started"}, NetworkDisabled: true,
		Volumes: map[string]struct{}{files.Dir: {}},
		Labels:  map[string]string{labelKind: "files", labelOwner: owner()},
	}, &typec.HostConfig{NetworkMode: "none", LogConfig: typec.LogConfig{Type: "none"}})
	if err != nil {
		return err
	}
	r.shelf = shelf{id: id, key: files.key}
	archive, w := io.Pipe()
	go func() { w.CloseWithError(writeFiles(w, files.Files)) }()
	err = eng.api.CopyToContainer(ctx, id, files.Dir, archive, typec.CopyToContainerOptions{})
	archive.CloseWithError(errors.New("copy ended")) // lets the goroutine end
	if err != nil {
		r.clearShelf(r.pool.Go)
		return fmt.Errorf("copy files to the container engine: %w", because(ctx, err))
	}
	return nil
}

// clearShelf has the shelf removed by do, perhaps later. Its volume remains as long as containers
// mount it. r.shelving must be held.
func (r *runner) clearShelf(do func(remove func(context.Context))) {
	id := r.shelf.id
	r.shelf = shelf{}
	if id == "" {
		return
	}
	do(func(context.Context) {
		if err := r.eng.removeContainer(id); err != nil {
			r.log.Warn("remove container with files", "container", id, "err", err)
		}
	})
}

// writeFiles writes files as a tar archive that only root may write.
func writeFiles(w io.Writer, files *sandbox.Files) error {
	t := tar.NewWriter(w)
	made := map[string]bool{}
	for f, err := range files.All {
		if err != nil {
			return err
		}
		if !fs.ValidPath(f.Path) || f.Path == "." {
			return fmt.Errorf("%q is not the path of a file", f.Path)
		}
		for i, c := range f.Path {
			if dir := f.Path[:i]; c == '/' && !made[dir] {
				made[dir] = true
				if err := t.WriteHeader(&tar.Header{Name: dir + "/", Mode: 0o555, Typeflag: tar.TypeDir}); err != nil {
					return err
				}
			}
		}
		h := &tar.Header{Name: f.Path, Mode: 0o444, Size: int64(len(f.Data)), Typeflag: tar.TypeReg}
		if f.Executable {
			h.Mode = 0o555
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.Data); err != nil {
			return err
		}
	}
	return t.Close()
}

// A fileSet is a set of files with its key, which is empty if there are none.
type fileSet struct {
	*sandbox.Files
	key string
}

// filesOf returns the files for containers of r from those of a request.
func (r *runner) filesOf(files *sandbox.Files) fileSet {
	if kind := r.kind.name(); files == nil || kind == KindGoja || kind == KindNode { // these programs have no file system
		return fileSet{}
	}
	key := files.Key()
	if key == "" {
		return fileSet{}
	}
	return fileSet{files, files.Dir + "\x00" + key}
}
