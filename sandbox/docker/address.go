package docker

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
)

// An Address is the address of a container engine. The zero value means $DOCKER_HOST, with the
// certificates of $DOCKER_CERT_PATH, or without that the default sockets of Docker and Podman.
type Address struct {
	Host string // such as "unix:///run/podman/podman.sock" or "tcp://10.0.0.5:2376"
	// CA, Cert and Key are files in PEM, all of them or none: the certificate authority of the
	// engine, the broker's certificate, and its key. An engine on another machine needs them,
	// since its clients are root there.
	CA, Cert, Key string
}

// ofEnvironment returns the address that docker itself would use. Unlike docker, it
// refuses an engine with an unchecked certificate.
func ofEnvironment() Address {
	a := Address{Host: os.Getenv("DOCKER_HOST")}
	dir := os.Getenv("DOCKER_CERT_PATH")
	if home, err := os.UserHomeDir(); dir == "" && os.Getenv("DOCKER_TLS_VERIFY") != "" && err == nil {
		dir = filepath.Join(home, ".docker")
	}
	if u, err := url.Parse(a.Host); err == nil && u.Scheme == "tcp" && dir != "" {
		a.CA, a.Cert, a.Key = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	}
	return a
}

// check rejects invalid addresses, and engines of other machines without a checked certificate.
func (a Address) check() error {
	u, err := url.Parse(a.Host)
	if err != nil {
		return fmt.Errorf("the address of the container engine is %q, which is invalid: write unix:///PATH or tcp://HOST:PORT", a.Host)
	}
	switch u.Scheme {
	case "unix", "npipe":
		return nil
	case "ssh":
		return fmt.Errorf("ssh is not supported: forward its socket, as in ssh -L /tmp/docker.sock:/var/run/docker.sock %s", u.Host)
	case "tcp":
	default:
		return fmt.Errorf("the address of the container engine is %q: write unix:///PATH or tcp://HOST:PORT", a.Host)
	}
	if a.CA == "" && !isLoopback(u.Hostname()) {
		return fmt.Errorf("%s is on another machine, and anybody on the way to it could run anything as root: "+
			`name "ca", "cert" and "key" in "docker" of "sandbox" in the config, or set DOCKER_CERT_PATH to their folder`, a.Host)
	}
	for _, file := range []string{a.CA, a.Cert, a.Key} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("a certificate of the container engine at %s: %w", a.Host, err)
		}
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(cmp.Or(host, "127.0.0.1")) // as in tcp://:2375
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
