package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	typec "github.com/docker/docker/api/types/container"
	typei "github.com/docker/docker/api/types/image"
)

// A pruning is a manager of images that nobody but its test sees.
type pruning struct {
	*Manager
	t          *testing.T
	executable string
}

func newPruning(t *testing.T) *pruning {
	e := needEngine(t)
	id := fmt.Sprintf("%x", rand.Uint64())
	p := &pruning{t: t, Manager: &Manager{eng: e, within: "mcpbroker.test=" + id}, executable: filepath.Join(t.TempDir(), "broker")}
	if err := os.WriteFile(p.executable, []byte(id), 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// image makes an image with these names, and returns its id.
func (p *pruning) image(names ...string) string {
	p.t.Helper()
	var rootfs bytes.Buffer
	w := tar.NewWriter(&rootfs)
	if err := w.WriteHeader(&tar.Header{Name: "x", Mode: 0o555, Typeflag: tar.TypeReg}); err != nil {
		p.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		p.t.Fatal(err)
	}
	answer, err := p.eng.api.ImageImport(p.t.Context(), typei.ImportSource{Source: &rootfs, SourceName: "-"}, names[0],
		typei.ImportOptions{Changes: []string{"LABEL " + labelKind + "=" + KindGoja, "LABEL " + p.within}})
	if err == nil {
		err = drain(answer)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range names[1:] {
		if err := p.eng.api.ImageTag(p.t.Context(), names[0], name); err != nil {
			p.t.Fatal(err)
		}
	}
	info, err := p.eng.api.ImageInspect(p.t.Context(), names[0])
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		p.eng.api.ImageRemove(context.Background(), info.ID, typei.RemoveOptions{Force: true, PruneChildren: true})
	})
	return shortID(info.ID)
}

// container makes one of an image, which never runs.
func (p *pruning) container(image, owner string) string {
	p.t.Helper()
	c, err := p.eng.api.ContainerCreate(p.t.Context(), &typec.Config{Image: image, Cmd: []string{"x"},
		Labels: map[string]string{labelKind: KindGoja, labelOwner: owner}}, &typec.HostConfig{NetworkMode: "none"}, nil, nil, "")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { p.eng.removeContainer(c.ID) })
	return c.ID
}

// left are the ids of the images that are there, sorted.
func (p *pruning) left() []string {
	p.t.Helper()
	list, err := p.Images(p.t.Context(), p.executable)
	if err != nil {
		p.t.Fatal(err)
	}
	var ids []string
	for _, i := range list {
		ids = append(ids, i.ID)
	}
	slices.Sort(ids)
	return ids
}

func sortedIDs(ids ...string) []string {
	slices.Sort(ids)
	return ids
}

// Prune removes what no broker uses: images of other versions, with however many
// names, and containers whose owner is gone. The rest is removed on demand.
func TestPruneRemovesWhatNobodyUses(t *testing.T) {
	p := newPruning(t)
	name, err := gojaName(p.executable)
	if err != nil {
		t.Fatal(err)
	}
	current := p.image(name)
	p.image(name + "-old")
	p.image(name+"-older", name+"-oldest")
	used := p.image(name + "-used")
	p.container(name, owner())
	keeps := p.container(name+"-used", owner())
	dead := p.container(name, fmt.Sprintf("%s/%d/1", machine(), 1<<22+1)) // more than any process id

	got, err := p.Prune(t.Context(), p.executable, false, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), used) {
		t.Errorf("error %v does not name the image that is used, %s", err, used)
	}
	if len(got.Images) != 2 || got.Containers < 1 {
		t.Errorf("removed %+v, want two images and the dead one's container", got)
	}
	if left := p.left(); !slices.Equal(left, sortedIDs(current, used)) {
		t.Errorf("left are %v, want %v", left, sortedIDs(current, used))
	}
	if _, err := p.eng.api.ContainerInspect(t.Context(), dead); err == nil {
		t.Error("the container of the dead broker is still there")
	}

	if err := p.eng.removeContainer(keeps); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Prune(t.Context(), p.executable, false, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
	if left := p.left(); !slices.Equal(left, []string{current}) {
		t.Errorf("left are %v, want %s", left, current)
	}
}

func TestPruneAllRemovesEveryImage(t *testing.T) {
	p := newPruning(t)
	name, err := gojaName(p.executable)
	if err != nil {
		t.Fatal(err)
	}
	p.image(name)
	p.image(name + "-old")
	got, err := p.Prune(t.Context(), p.executable, true, slog.New(slog.DiscardHandler))
	if err != nil || len(got.Images) != 2 || len(p.left()) != 0 {
		t.Errorf("removed %+v, %v; left are %v, want none", got, err, p.left())
	}
}
