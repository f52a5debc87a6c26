package docker

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// identity makes a certificate that is its own authority, of a server on this machine
// and of a client, in a folder as docker has it.
func identity(t *testing.T) (dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, block := range map[string]*pem.Block{"ca.pem": {Type: "CERTIFICATE", Bytes: cert}, "cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// secured puts TLS in front of the engine that is here: it answers who has a
// certificate that is signed by the authority of dir.
func secured(t *testing.T, dir string, newest uint16) (host string) {
	t.Helper()
	own, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(own.Leaf)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	engine := needEngine(t).api.Dialer()
	config := &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: newest}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { join(ctx, tls.Server(c, config), engine) })
		}
	})
	t.Cleanup(func() { l.Close(); stop(); serving.Wait() })
	return "tcp://" + l.Addr().String()
}

// join copies between a connection and the engine. Who has nothing more to say may go
// on listening.
func join(ctx context.Context, near *tls.Conn, dial func(context.Context) (net.Conn, error)) {
	defer near.Close()
	if near.HandshakeContext(ctx) != nil {
		return
	}
	far, err := dial(ctx)
	if err != nil {
		return
	}
	defer far.Close()
	defer context.AfterFunc(ctx, func() { near.Close(); far.Close() })()
	var copying sync.WaitGroup
	copying.Go(func() {
		_, _ = io.Copy(far, near)
		_ = far.(interface{ CloseWrite() error }).CloseWrite()
	})
	copying.Go(func() {
		_, _ = io.Copy(near, far)
		_ = near.CloseWrite()
	})
	copying.Wait()
}

// An engine over TCP runs programs for who has a certificate of its authority, by the
// options and by the environment, and for nobody else.
func TestEngineWithCertificates(t *testing.T) {
	o, dir, stranger := options(t), identity(t), identity(t)
	host := secured(t, dir, 0)
	at := func(host, dir string) Address {
		return Address{Host: host, CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	}
	runs := func(a Address) error {
		own := *o
		own.Engine, own.Spares = a, -1
		r := New(&own)
		defer r.Close()
		res, err := r.Run(t.Context(), sandbox.Request{Code: "return 6 * 7"})
		if err == nil && string(res.Value) != "42" {
			t.Errorf("%+v: %+v", a, res)
		}
		return err
	}
	if err := runs(at(host, dir)); err != nil {
		t.Error(err)
	}
	t.Setenv("DOCKER_HOST", host)
	t.Setenv("DOCKER_CERT_PATH", dir)
	if err := runs(Address{}); err != nil {
		t.Errorf("by the environment: %v", err)
	}
	t.Setenv("DOCKER_CERT_PATH", stranger) // and no DOCKER_TLS_VERIFY
	mixed := at(host, stranger)
	mixed.CA = filepath.Join(dir, "ca.pem")
	for says, a := range map[string]Address{
		"certificate signed by unknown authority": {},
		"tls: unknown certificate authority":      mixed,
		"protocol version not supported":          at(secured(t, dir, tls.VersionTLS11), dir),
	} {
		if err := runs(a); !errors.Is(err, ErrNoEngine) || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %q", a, err, says)
		}
	}
	t.Setenv("DOCKER_CERT_PATH", "")
	if err := runs(Address{Host: host}); !errors.Is(err, ErrNoEngine) {
		t.Errorf("without certificates: %v", err)
	}
	m, err := NewManager(t.Context(), at(host, dir))
	if err != nil || m.Address() != host {
		t.Fatalf("%+v, %v", m, err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
