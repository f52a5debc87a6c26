package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Files are the paths of PEM files by which a broker and a sandboxd know each
// other. They are read again when they change.
type Files struct {
	CA   string // who signs the other side's certificate, and nothing else
	Cert string // the own certificate, with those between it and what the other side trusts
	Key  string // of Cert
}

// certificates are what Files hold. They are safe for concurrent use.
type certificates struct {
	files Files

	mu     sync.Mutex
	seen   [3]time.Time // when the files were changed
	config *tls.Config
}

// current is a config with what the files hold now.
func (c *certificates) current() (*tls.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var seen [3]time.Time
	for i, path := range []string{c.files.CA, c.files.Cert, c.files.Key} {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		seen[i] = info.ModTime()
	}
	if c.config != nil && slices.Equal(seen[:], c.seen[:]) {
		return c.config, nil
	}
	config, err := c.files.load()
	if err != nil {
		if c.config != nil { // one of them is written just now
			return c.config, nil
		}
		return nil, err
	}
	c.config, c.seen = config, seen
	return config, nil
}

// load reads the files.
func (f Files) load() (*tls.Config, error) {
	text, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM", f.CA)
	}
	own, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", f.Cert, f.Key, err)
	}
	if end := own.Leaf.NotAfter; time.Now().After(end) {
		return nil, fmt.Errorf("%s has expired on %s", f.Cert, end.Format(time.DateOnly))
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{own},
		RootCAs:      pool, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}

// server is a config for a listener.
func (c *certificates) server() (*tls.Config, error) {
	first, err := c.current()
	if err != nil {
		return nil, err
	}
	config := first.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current() }
	return config, nil
}

// client is a config for a connection to a server of that name.
func (c *certificates) client(name string, sessions tls.ClientSessionCache) (*tls.Config, error) {
	now, err := c.current()
	if err != nil {
		return nil, err
	}
	config := now.Clone()
	config.ServerName, config.ClientSessionCache = name, sessions
	return config, nil
}

// A certError is what waiting does not help against.
type certError struct {
	text string
	err  error
}

func (e *certError) Error() string { return e.text }
func (e *certError) Unwrap() error { return e.err }

// plain says in plain words why no stream could be opened.
func plain(err error) error {
	because := func(format string, args ...any) error { return &certError{fmt.Sprintf(format, args...), err} }
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if e.Reason == x509.Expired {
			return because("its certificate is not valid now, only from %s to %s", e.Cert.NotBefore.Format(time.DateOnly), e.Cert.NotAfter.Format(time.DateOnly))
		}
		return because("its certificate is not one of a server: %v", e)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return because("its certificate is signed by none of those in \"ca\"")
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return because("its certificate is for %s, not for %s", names(e.Certificate), e.Host)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return because("it does not speak TLS")
	}
	if alert, ok := errors.AsType[tls.AlertError](err); ok {
		return because("it does not speak TLS 1.3 with us (%v)", alert)
	}
	text := err.Error()
	if _, alert, ok := strings.Cut(text, "remote error: tls: "); ok {
		why := map[string]string{
			"unknown certificate authority": "it is signed by none of those in its --client-ca",
			"expired certificate":           "it has expired",
			"bad certificate":               "it is not one of a client",
			"certificate required":          "it got none",
		}[alert]
		if why == "" {
			why = alert
		}
		return because("it rejects the broker's certificate: %s", why)
	}
	switch op, ok := errors.AsType[*net.OpError](err); {
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("nothing listens there")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return errors.New("it closed the connection")
	case ok && op.Timeout():
		return errors.New("no answer")
	}
	return err
}

// names are those that a certificate is for.
func names(c *x509.Certificate) string {
	list := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		list = append(list, ip.String())
	}
	if len(list) == 0 {
		return "no name"
	}
	return strings.Join(list, ", ")
}
