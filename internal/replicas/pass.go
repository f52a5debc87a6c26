package replicas

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

const (
	// maxPassed bounds the requests at other replicas at one time, including streams.
	maxPassed = 1000
	// dialTime bounds the time for another replica to accept a connection.
	dialTime = 2 * time.Second
)

// A peer is another registered replica.
type peer struct {
	state.Replica
	f     *Fleet
	proxy *httputil.ReverseProxy
}

func (f *Fleet) newPeer(r state.Replica) *peer {
	dialer := &net.Dialer{Timeout: dialTime}
	p := &peer{Replica: r, f: f}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, errUnreached{err}
			}
			return c, nil
		},
		// Each request has its own connection: a replica that ends may close a reused one, and it
		// would be unknown whether the request arrived.
		TLSHandshakeTimeout: dialTime, DisableKeepAlives: true, DisableCompression: true,
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{f.self},
			// The certificate has no authority: it must be the registered one.
			InsecureSkipVerify: true,
			VerifyConnection: func(cs tls.ConnectionState) error {
				if len(cs.PeerCertificates) == 0 || !bytes.Equal(cs.PeerCertificates[0].Raw, r.Certificate) {
					return errUnreached{errors.New("another certificate than that of the replica")}
				}
				return nil
			},
		},
	}
	p.proxy = &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorHandler: p.failed,
		ErrorLog: slog.NewLogLogger(f.o.Logger.Handler(), slog.LevelDebug),
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme, pr.Out.URL.Host = "https", r.Address
			pr.Out.Host = pr.In.Host // the other replica checks the origin against it
		},
	}
	return p
}

// errUnreached reports that a request was not sent.
type errUnreached struct{ error }

func (e errUnreached) Unwrap() error { return e.error }

// pass passes a request on. It returns false if the replica is gone.
func (p *peer) pass(w http.ResponseWriter, r *http.Request) bool {
	select {
	case p.f.slots <- struct{}{}:
		defer func() { <-p.f.slots }()
	default:
		unavailable(w, fmt.Sprintf("%d requests are with other replicas already", maxPassed))
		return true
	}
	var gone bool
	r = r.WithContext(context.WithValue(r.Context(), goneKey{}, &gone))
	if r.Body != nil && r.Body != http.NoBody { // another replica may need it
		body := r.Body
		r.Body = io.NopCloser(body)
		defer func() {
			if !gone {
				_ = body.Close()
			}
		}()
	}
	p.proxy.ServeHTTP(w, r)
	return !gone
}

// goneKey is the context key for a note that the replica was gone.
type goneKey struct{}

// noticed is about the time until the state notices that a killed replica is gone.
const noticed = 300 * time.Millisecond

func (p *peer) failed(w http.ResponseWriter, r *http.Request, err error) {
	p.f.o.Logger.Warn("pass a request on", "replica", p.Name, "err", err)
	if _, unsent := errors.AsType[errUnreached](err); !unsent {
		http.Error(w, "the replica that this belongs to ended before it answered", http.StatusBadGateway)
		return
	}
	for wait := 10 * time.Millisecond; wait < noticed; wait *= 2 {
		p.f.ask(r.Context())
		if p.f.peer(p.Name) != p {
			gone, _ := r.Context().Value(goneKey{}).(*bool)
			*gone = true
			return
		}
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			return
		}
	}
	unavailable(w, "the replica that this belongs to does not answer")
}

func unavailable(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// newCertificate creates a key with a certificate for it.
func newCertificate(name string) (tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, err
	}
	// The validity is up to the state in which it is registered.
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, nil
}
