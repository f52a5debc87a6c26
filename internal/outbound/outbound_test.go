package outbound

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
)

func parse(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestZones(t *testing.T) {
	for s, want := range map[string]zone{
		"8.8.8.8": public, "2606:4700::1": public, "198.18.0.1": public,
		"127.0.0.1": loopback, "127.9.9.9": loopback, "::1": loopback, "::ffff:127.0.0.1": loopback, "64:ff9b::7f00:1": loopback,
		"10.0.0.1": private, "172.16.3.4": private, "192.168.1.1": private, "100.64.0.1": private, "fd12::1": private, "fec0::1": private,
		"169.254.169.254": linkLocal, "fe80::1%eth0": linkLocal, "fd00:ec2::254": linkLocal, "::ffff:169.254.169.254": linkLocal,
		"100.100.100.200": linkLocal, "168.63.129.16": linkLocal, "64:ff9b::a9fe:a9fe": linkLocal,
		"0.0.0.0": unreachable, "::": unreachable, "0.1.2.3": unreachable, "224.0.0.1": unreachable, "ff02::1": unreachable, "255.255.255.255": unreachable,
	} {
		if got := zoneOf(netip.MustParseAddr(s)); got != want {
			t.Errorf("%s is %v, want %v", s, got, want)
		}
	}
	for s, want := range map[string]zone{
		"localhost": loopback, "LOCALHOST.": loopback, "a.localhost": loopback, "example.com": unknown, "10.0.0.1": private, "localhost.example.com": unknown,
	} {
		if got := zoneOfName(s); got != want {
			t.Errorf("%s is %v, want %v", s, got, want)
		}
	}
}

func TestWhatHomeLeadsTo(t *testing.T) {
	all := []zone{public, private, loopback, linkLocal, unreachable}
	for home, want := range map[zone]string{
		unknown: "public", public: "public", private: "public private", loopback: "public private loopback", linkLocal: "public link-local", unreachable: "public",
	} {
		var got []string
		for _, to := range all {
			if home.reaches(to) {
				got = append(got, strings.Fields(to.String())[1])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v leads to %q, want %q", home, got, want)
		}
	}
}

// A name whose address changes after it was checked is checked again with each
// connection, at the address that is connected to.
func TestAddressesAreCheckedWhenConnectedTo(t *testing.T) {
	g := newGuard(parse(t, "https://mcp.example/mcp"))
	if err := g.allow("mcp.example", public); err != nil {
		t.Fatal(err)
	}
	g.reached(&net.TCPAddr{IP: net.IPv4(203, 0, 113, 5), Port: 443})
	if err := g.allow("as.example", public); err != nil {
		t.Fatal(err)
	}
	for host, to := range map[string]zone{"as.example": linkLocal, "mcp.example": loopback} {
		if err := g.allow(host, to); err == nil {
			t.Errorf("%s is followed to %v", host, to)
		}
	}
	// The other way round, what was private once and is public now is public.
	g = newGuard(parse(t, "https://mcp.example/mcp"))
	g.reached(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 443})
	if err := g.allow("as.example", private); err != nil {
		t.Error(err)
	}
	g.reached(&net.TCPAddr{IP: net.IPv4(203, 0, 113, 5), Port: 443})
	if g.allow("as.example", private) == nil {
		t.Error("a public server leads to a private address")
	}
}

// The check is at work in real connections: a name that resolves to this machine
// is not connected to from a home that is elsewhere.
func TestDialedAddressIsChecked(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	defer srv.Close()
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	g := newGuard(parse(t, "https://203.0.113.5/"))
	// localhost stands for any name that resolves so; checkName is not asked.
	conn, err := g.dial(t.Context(), "tcp", net.JoinHostPort("localhost", port))
	if err == nil {
		conn.Close()
		t.Fatal("connected")
	}
	if !strings.Contains(err.Error(), "a loopback address") {
		t.Errorf("err = %v", err)
	}
}

func TestRedirects(t *testing.T) {
	var got http.Header
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer other.Close()
	to := other.URL
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	}))
	defer srv.Close()
	home := parse(t, srv.URL)
	do := func(o Options, method string) (*http.Response, error) {
		o.Home, o.MaxBytes = home, 100
		c := New(o)
		defer c.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL, strings.NewReader("secret"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer x")
		req.Header.Set("Cookie", "a=b")
		resp, err := c.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return resp, err
	}
	if _, err := do(Options{}, http.MethodGet); err != nil || got == nil || got.Get("Authorization") != "" || got.Get("Cookie") != "" {
		t.Errorf("GET: %v; the other origin got %v", err, got)
	}
	got = nil
	if resp, err := do(Options{}, http.MethodPost); err != nil || resp.StatusCode != http.StatusTemporaryRedirect || got != nil {
		t.Errorf("POST: %v; the other origin got %v", err, got)
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		if _, err := do(Options{HomeOnly: true}, method); err == nil || got != nil {
			t.Errorf("%s from home: %v; the other origin got %v", method, err, got)
		} else if e, ok := errors.AsType[*RedirectError](err); !ok || e.To != to {
			t.Errorf("%s from home: %v", method, err)
		}
	}
	for _, bad := range []string{"http://169.254.169.254/latest/", "http://[fe80::1]/", "http://0.0.0.0:1/", "gopher://x/"} {
		to = bad
		if _, err := do(Options{}, http.MethodGet); err == nil {
			t.Errorf("a redirect to %s was followed", bad)
		}
	}
	to = srv.URL
	if _, err := do(Options{}, http.MethodGet); err == nil || !strings.Contains(err.Error(), "more than 5 redirects") {
		t.Errorf("endless redirects: %v", err)
	}
}

func TestNoWayFromHTTPSToHTTP(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	defer plain.Close()
	srv := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer srv.Close()
	c := New(Options{Home: parse(t, srv.URL), MaxBytes: 100})
	c.Transport.(*transport).TLSClientConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig
	resp, err := c.Get(srv.URL)
	if err == nil {
		resp.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "is not https") {
		t.Errorf("err = %v", err)
	}
}

// A proxy of the environment may be anywhere; what it is asked for may not.
func TestProxy(t *testing.T) {
	asked := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.String() }))
	defer proxy.Close()
	c := New(Options{Home: parse(t, "http://mcp.example/"), MaxBytes: 100})
	defer c.CloseIdleConnections()
	base := c.Transport.(*transport)
	base.Proxy = http.ProxyURL(parse(t, proxy.URL))
	c.guard.put(base.Transport)
	for address, ok := range map[string]bool{"http://mcp.example/x": true, "http://as.example/": true, "http://127.0.0.1:1/": false, "http://169.254.169.254/": false} {
		resp, err := c.Get(address)
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	if len(asked) != 2 {
		t.Errorf("the proxy got %d requests, want 2", len(asked))
	}
}

func TestBodiesAreBounded(t *testing.T) {
	for _, n := range []int{0, 9, 10, 11, 100_000} {
		body := Limit(io.NopCloser(strings.NewReader(strings.Repeat("x", n))), 10)
		got, err := io.ReadAll(body)
		if len(got) != min(n, 10) || (err != nil) != (n > 10) {
			t.Errorf("%d bytes: %d read, %v", n, len(got), err)
		}
		if _, ok := errors.AsType[*SizeError](err); err != nil && !ok {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// A body that drips ends, though each byte comes soon after the one before.
func TestDrippingBodyEnds(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
	}))
	defer srv.Close()
	read := func(c *Client, ctx context.Context, wrap func(*http.Response)) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		wrap(resp)
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	home := parse(t, srv.URL)
	if err := read(New(Options{Home: home, MaxBytes: 1 << 30, Timeout: 300 * time.Millisecond}), t.Context(), func(*http.Response) {}); err == nil {
		t.Error("no error with a timeout")
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := read(New(Options{Home: home, MaxBytes: 1 << 30}), ctx, func(r *http.Response) { r.Body = Deadline(r.Body, 300*time.Millisecond, cancel) })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("with a deadline: %v", err)
	}
}
