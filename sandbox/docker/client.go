//go:build !nodocker

package docker

import "github.com/docker/docker/client"

// An apiClient is a client of an engine's API. A program that is built with the tag nodocker has
// none.
type apiClient = client.Client

// errNone is the error of a program without a client.
var errNone error

func newClient(a Address) (*apiClient, error) {
	opts := []client.Opt{client.WithHost(a.Host), client.WithVersionFromEnv(), client.WithAPIVersionNegotiation()}
	if a.CA != "" {
		opts = append(opts, client.WithTLSClientConfig(a.CA, a.Cert, a.Key)) // at least TLS 1.2
	}
	return client.NewClientWithOpts(opts...)
}

// connectionFailed reports whether err means that no engine answers.
func connectionFailed(err error) bool { return client.IsErrConnectionFailed(err) }
