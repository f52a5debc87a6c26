package remote

import (
	"context"
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// What is wrong with a server or a certificate is told in plain words, and at once.
func TestConnectionsThatFailSayWhy(t *testing.T) {
	ca, foreign := newAuthority(t), newAuthority(t)
	server, client := ca.server(t), ca.client(t)
	_, address := start(t, ServerOptions{Files: server})
	expired := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
	elsewhere := func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"other.test"}, nil }
	_, named := start(t, ServerOptions{Files: ca.issue(t, "named", x509.ExtKeyUsageServerAuth, elsewhere)})
	plainTCP, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plainTCP.Close()
	go func() {
		for {
			c, err := plainTCP.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("SSH-2.0-OpenSSH_9.2\r\n"))
			c.Close()
		}
	}()
	stranger := foreign.client(t)
	stranger.CA = client.CA // it knows the server, and not the other way round
	for _, tt := range []struct {
		name, address string
		files         Files
		says          string
	}{
		{"a server of another authority", address, foreign.client(t), `its certificate is signed by none of those in "ca"`},
		{"a broker of another authority", address, stranger, "it rejects the broker's certificate: it is signed by none of those in its --client-ca"},
		{"a certificate of a server for a broker", address, server, "it rejects the broker's certificate: it is not one of a client"},
		{"an expired certificate", address, ca.issue(t, "old", x509.ExtKeyUsageClientAuth, expired), "old.pem has expired"},
		{"a missing file", address, Files{CA: client.CA, Cert: client.Cert, Key: "/nowhere/key"}, "/nowhere/key: no such file"},
		{"a certificate for another name", named, client, "its certificate is for other.test, not for 127.0.0.1"},
		{"something else", plainTCP.Addr().String(), client, "it does not speak TLS"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := New(Options{Addresses: []string{tt.address}, Files: tt.files})
			defer r.Close()
			began := time.Now()
			_, err := r.Run(context.Background(), sandbox.Request{Code: "1"})
			if err == nil || !strings.Contains(err.Error(), tt.says) || time.Since(began) > patience {
				t.Errorf("error %v after %v, want %q", err, time.Since(began), tt.says)
			}
		})
	}
}
