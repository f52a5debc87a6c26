//go:build nodocker

package docker

import (
	"context"
	"errors"
	"io"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/build"
	typec "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/system"
)

var errNone = errors.New("this broker was built without containers, with the tag nodocker")

// An apiClient is the client in a program without containers. newClient never returns one.
type apiClient struct{}

func newClient(Address) (*apiClient, error) { return nil, errNone }

func connectionFailed(error) bool { return true }

func (*apiClient) Close() error                             { return nil }
func (*apiClient) Ping(context.Context) (types.Ping, error) { return types.Ping{}, errNone }

func (*apiClient) ContainerAttach(context.Context, string, typec.AttachOptions) (types.HijackedResponse, error) {
	return types.HijackedResponse{}, errNone
}

func (*apiClient) ContainerCreate(context.Context, *typec.Config, *typec.HostConfig, *network.NetworkingConfig, any, string) (typec.CreateResponse, error) {
	return typec.CreateResponse{}, errNone
}

func (*apiClient) ContainerInspect(context.Context, string) (typec.InspectResponse, error) {
	return typec.InspectResponse{}, errNone
}

func (*apiClient) ContainerList(context.Context, typec.ListOptions) ([]typec.Summary, error) {
	return nil, errNone
}

func (*apiClient) ContainerRemove(context.Context, string, typec.RemoveOptions) error {
	return errNone
}

func (*apiClient) ContainerStart(context.Context, string, typec.StartOptions) error {
	return errNone
}

func (*apiClient) ContainerStatsOneShot(context.Context, string) (typec.StatsResponseReader, error) {
	return typec.StatsResponseReader{}, errNone
}

func (*apiClient) ContainerWait(context.Context, string, typec.WaitCondition) (<-chan typec.WaitResponse, <-chan error) {
	failed := make(chan error, 1)
	failed <- errNone
	return nil, failed
}

func (*apiClient) CopyToContainer(context.Context, string, string, io.Reader, typec.CopyToContainerOptions) error {
	return errNone
}

func (*apiClient) ImageBuild(context.Context, io.Reader, build.ImageBuildOptions) (build.ImageBuildResponse, error) {
	return build.ImageBuildResponse{}, errNone
}

func (*apiClient) ImageImport(context.Context, image.ImportSource, string, image.ImportOptions) (io.ReadCloser, error) {
	return nil, errNone
}

func (*apiClient) ImageInspect(context.Context, string) (image.InspectResponse, error) {
	return image.InspectResponse{}, errNone
}

func (*apiClient) ImageList(context.Context, image.ListOptions) ([]image.Summary, error) {
	return nil, errNone
}

func (*apiClient) ImageRemove(context.Context, string, image.RemoveOptions) ([]image.DeleteResponse, error) {
	return nil, errNone
}

func (*apiClient) Info(context.Context) (system.Info, error) { return system.Info{}, errNone }

func (*apiClient) ServerVersion(context.Context) (types.Version, error) {
	return types.Version{}, errNone
}
