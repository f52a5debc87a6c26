package outbound

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// An authority signs server certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Example Corp Root"}, NotBefore: time.Now().Add(-1000 * time.Hour), NotAfter: time.Now().Add(1000 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err == nil {
		c, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &authority{c, key}
}

// serve starts a server with a certificate modified by change.
func (a *authority) serve(t *testing.T, change func(*x509.Certificate), config *tls.Config) *url.URL {
	t.Helper()
	c := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if change != nil {
		change(c)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	s.Config.ErrorLog = log.New(t.Output(), "", 0)
	if config == nil {
		config = &tls.Config{}
	}
	config.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: a.key}}
	s.TLS = config
	s.StartTLS()
	t.Cleanup(s.Close)
	return parse(t, s.URL)
}

// Every TLS failure has advice, with SSL_CERT_FILE if that helps.
func TestTLSErrorsSayWhatHelps(t *testing.T) {
	a := newAuthority(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	go func() {
		for {
			conn, err := raw.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "220 mail.example ESMTP\r\n")
			conn.Close()
		}
	}()
	https := func(address string) *url.URL { return parse(t, "https://"+address) }
	named := parse(t, strings.Replace(a.serve(t, nil, nil).String(), "127.0.0.1", "localhost", 1))
	for _, tt := range []struct {
		name      string
		at        *url.URL
		trust     bool
		want      string
		authority bool
	}{
		{"an unknown authority", a.serve(t, nil, nil), false, "signed by an authority that this machine does not know (CN=Example Corp Root)", true},
		{"expired", a.serve(t, func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(-200*time.Hour), time.Now().Add(-100*time.Hour)
		}, nil), true, "expired on " + day(time.Now().Add(-100*time.Hour)), false},
		{"for later", a.serve(t, func(c *x509.Certificate) {
			c.NotBefore = time.Now().Add(50 * time.Hour)
			c.NotAfter = time.Now().Add(99 * time.Hour)
		}, nil), true, "check the clock", false},
		{"for other names", a.serve(t, func(c *x509.Certificate) {
			c.IPAddresses = nil
			c.DNSNames = []string{"a.example", "b.example", "c.example", "d.example", "e.example"}
		}, nil), true, "is for a.example, b.example, c.example, 2 others", false},
		{"for no names", a.serve(t, func(c *x509.Certificate) { c.IPAddresses = nil }, nil), true, "is for no host", false},
		{"for the address, asked for by name", named, true, "is for 127.0.0.1", false},
		{"for another use", a.serve(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, nil), true, "is refused", false},
		{"one of the client is wanted", a.serve(t, nil, &tls.Config{ClientAuth: tls.RequireAnyClientCert}), true, "certificate of the client", false},
		{"another version", a.serve(t, nil, &tls.Config{MaxVersion: tls.VersionTLS10}), true, "another version of TLS", false},
		{"no TLS", https(strings.TrimPrefix(plain.URL, "http://")), true, "may begin with http://", false},
		{"another protocol", https(raw.Addr().String()), true, "does not speak TLS", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := New(Options{Home: tt.at, MaxBytes: 1 << 20, Timeout: 10 * time.Second})
			defer c.CloseIdleConnections()
			if tt.trust {
				pool := x509.NewCertPool()
				pool.AddCert(a.cert)
				c.Transport.(*transport).TLSClientConfig = &tls.Config{RootCAs: pool}
			}
			resp, err := c.Get(tt.at.String())
			if err == nil {
				resp.Body.Close()
			}
			e, ok := errors.AsType[*TLSError](err)
			if !ok || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.at.Host) || e.CertFile != (tt.authority && !systemList) {
				t.Fatalf("err = %v (%T), want %q", err, errors.Unwrap(err), tt.want)
			}
			if names := strings.Contains(err.Error(), "SSL_CERT_FILE"); names != e.CertFile {
				t.Errorf("SSL_CERT_FILE is named: %v, in %v", names, err)
			}
		})
	}
	if err := explainTLS("host", errors.New("connection refused")); err.Error() != "connection refused" {
		t.Errorf("another error: %v", err)
	}
}

// The advice of the error works.
func TestCertFile(t *testing.T) {
	if at := os.Getenv("OUTBOUND_TEST_AT"); at != "" {
		c := New(Options{Home: parse(t, at), MaxBytes: 1 << 20, Timeout: 10 * time.Second})
		resp, err := c.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("the system has a list of its own")
	}
	a := newAuthority(t)
	at := a.serve(t, nil, nil).String()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, with := range []bool{false, true} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCertFile$")
		cmd.Env = append(os.Environ(), "OUTBOUND_TEST_AT="+at, "SSL_CERT_FILE=")
		if with {
			cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+file)
		}
		if out, err := cmd.CombinedOutput(); (err == nil) != with {
			t.Errorf("with the file %v: %v\n%s", with, err, out)
		}
	}
}
