// Package replicas passes requests from one broker of a fleet to another: some state of a broker
// is only in its memory, such as a script that waits for an answer, and the next request of the
// client may reach any broker.
//
// Brokers use TLS with each other, at an address for this purpose only. Each creates a key and a
// certificate when it starts, and registers the certificate with its address in the shared state.
// A client must present a certificate that a living broker has registered, and expects exactly the
// one of its target: writers of the state are trusted, nobody else. No address comes from a
// client.
package replicas

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// Options configure a Fleet. All fields but Logger are required, and Address only if others may
// reach this replica.
type Options struct {
	// Name is the name of this replica.
	Name string
	// Address is the address for other replicas, as "host:port"; empty if there is none. It must
	// be an address of this machine.
	Address string
	// State contains the other replicas.
	State state.Replicas
	// Around wraps the handler of the requests of others; it may be nil.
	Around func(http.Handler) http.Handler
	Logger *slog.Logger
}

// A Fleet is one replica's view of all. It must be closed.
type Fleet struct {
	o     Options
	self  tls.Certificate
	leave func()
	wg    sync.WaitGroup
	serve *http.Server // nil without an address
	slots chan struct{}
	// handler receives the handler of the requests of others; nil without an address.
	handler chan http.Handler

	asking sync.Mutex // held while the state is asked
	mu     sync.Mutex
	asked  time.Time // the time of the query that filled known
	known  map[string]*peer
}

// joinTime bounds the time to register.
const joinTime = 10 * time.Second

// Join begins to accept requests of other replicas, which Serve answers. Without an address there
// are no others.
func Join(ctx context.Context, o Options) (*Fleet, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Fleet{o: o, leave: func() {}, slots: make(chan struct{}, maxPassed)}
	if o.Address == "" {
		return f, nil
	}
	var err error
	if f.self, err = newCertificate(o.Name); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	f.o.Address = l.Addr().String() // with the chosen port
	if _, port, _ := net.SplitHostPort(o.Address); port != "0" {
		f.o.Address = o.Address
	}
	f.leave, err = o.State.Join(ctx, state.Replica{Name: o.Name, Address: f.o.Address, Certificate: f.self.Certificate[0]})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	f.serve = &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{f.self}, ClientAuth: tls.RequireAnyClientCert, VerifyConnection: f.fromReplica},
		Protocols:         new(http.Protocols),
	}
	f.serve.Protocols.SetHTTP1(true)
	f.handler = make(chan http.Handler, 1)
	f.serve.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case h := <-f.handler:
			f.handler <- h
			h.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
	f.wg.Go(func() {
		if err := f.serve.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			o.Logger.Error("requests of other replicas", "err", err)
		}
	})
	return f, nil
}

// Name returns the name of this replica.
func (f *Fleet) Name() string { return f.o.Name }

// Address returns the address for other replicas.
func (f *Fleet) Address() string { return f.o.Address }

// Serve uses h for the requests that others pass on. It must be called once.
func (f *Fleet) Serve(h http.Handler) {
	if f.handler == nil {
		return
	}
	if f.o.Around != nil {
		h = f.o.Around(h)
	}
	f.handler <- h
}

// Close leaves the fleet, and ends the requests of others.
func (f *Fleet) Close() error {
	f.leave()
	var err error
	if f.serve != nil {
		err = f.serve.Close()
	}
	f.wg.Wait()
	return err
}

// Pass passes a request on to the replica of a name. It is false, and nothing has been
// read or written, if there is no such replica, or none any more.
func (f *Fleet) Pass(w http.ResponseWriter, r *http.Request, name string) bool {
	if f.serve == nil || name == f.o.Name {
		return false
	}
	p := f.peer(name)
	if p == nil {
		f.ask(r.Context())
		p = f.peer(name)
	}
	return p != nil && p.pass(w, r)
}

func (f *Fleet) peer(name string) *peer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known[name]
}

// ask brings what is known of the others up to date, as of now. At most one asks at
// a time, for all that wait by then.
func (f *Fleet) ask(ctx context.Context) {
	since := time.Now()
	f.asking.Lock()
	defer f.asking.Unlock()
	f.mu.Lock()
	fresh := f.asked.After(since)
	f.mu.Unlock()
	if fresh {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	began := time.Now()
	living, err := f.o.State.Living(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = began // also after an error, so that not every connection waits for it
	if err != nil {
		f.o.Logger.Warn("look for the other replicas", "err", err) // those that are known may still live
		return
	}
	before := f.known
	f.known = make(map[string]*peer, len(living))
	for _, r := range living {
		p := before[r.Name]
		if p == nil || p.Address != r.Address || !bytes.Equal(p.Certificate, r.Certificate) {
			p = f.newPeer(r)
		}
		f.known[r.Name] = p
	}
}

// askTime bounds the time for the state to name the others.
const askTime = 3 * time.Second

// fromReplica accepts the connections of living replicas.
func (f *Fleet) fromReplica(cs tls.ConnectionState) error {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	if f.certified(cs.PeerCertificates, trustTime) {
		return nil
	}
	if f.ask(ctx); f.certified(cs.PeerCertificates, 0) {
		return nil
	}
	return errors.New("not the certificate of a replica")
}

// trustTime is the time for which a replica is trusted without checking again that it is
// registered. While the state does not answer, known replicas stay trusted.
const trustTime = 5 * time.Second

// certified reports whether a replica presents its certificate, according to a query that is not
// older than within; zero means of any age.
func (f *Fleet) certified(shown []*x509.Certificate, within time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if within > 0 && time.Since(f.asked) > within {
		return false
	}
	for _, p := range f.known {
		if len(shown) > 0 && bytes.Equal(shown[0].Raw, p.Certificate) {
			return true
		}
	}
	return false
}

// NormalizeAddress completes an address such as fd00::1:8081, as programs write that
// put a colon and a port behind whatever an address is.
func NormalizeAddress(addr string) (string, error) {
	i := strings.LastIndexByte(addr, ':')
	if i > 0 {
		host, port := addr[:i], addr[i+1:]
		if ip, err := netip.ParseAddr(host); err == nil {
			host = ip.String()
		} else {
			host = strings.Trim(host, "[]")
		}
		if _, err := strconv.ParseUint(port, 10, 16); err == nil && host != "" {
			if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
				return "", fmt.Errorf("%q names no machine: others must be able to connect to it", addr)
			}
			return net.JoinHostPort(host, port), nil
		}
	}
	return "", fmt.Errorf("%q is not HOST:PORT", addr)
}
