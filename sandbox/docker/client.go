//go:build !nodocker

package docker

import "github.com/docker/docker/client"

// An apiClient speaks the API of an engine. A program that is built with the tag
// nodocker has one that answers nothing.
type apiClient = client.Client

// errNone says that the program has no client.
var errNone error

func newClient(a Address) (*apiClient, error) {
	opts := []client.Opt{client.WithHost(a.Host), client.WithVersionFromEnv(), client.WithAPIVersionNegotiation()}
	if a.CA != "" {
		opts = append(opts, client.WithTLSClientConfig(a.CA, a.Cert, a.Key)) // TLS 1.2 at least
	}
	return client.NewClientWithOpts(opts...)
}

// connectionFailed reports whether err says that no engine answers.
func connectionFailed(err error) bool { return client.IsErrConnectionFailed(err) }
