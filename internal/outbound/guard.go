package outbound

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A zone is the kind of network of an address.
type zone int32

const (
	unknown zone = iota // for a name before its first connection
	public
	private
	loopback
	linkLocal   // including the metadata services of clouds
	unreachable // not the address of a server: unspecified, multicast
)

func (z zone) String() string {
	return [...]string{"an unknown", "a public", "a private", "a loopback", "a link-local", "an unusable"}[z] + " address"
}

// reaches reports whether content found in z may lead to an address in to.
func (z zone) reaches(to zone) bool {
	switch to {
	case unknown, public:
		return true
	case private:
		return z == private || z == loopback
	case loopback, linkLocal:
		return z == to
	}
	return false
}

var (
	sharedSpace = netip.MustParsePrefix("100.64.0.0/10")
	siteLocal   = netip.MustParsePrefix("fec0::/10")
	nat64       = netip.MustParsePrefix("64:ff9b::/96")
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	reserved    = netip.MustParsePrefix("240.0.0.0/4")

	// Addresses outside 169.254.0.0/16 of metadata services with credentials.
	metadata = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16")}
)

func zoneOf(ip netip.Addr) zone {
	ip = ip.Unmap().WithZone("")
	if nat64.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
	if slices.Contains(metadata, ip) {
		return linkLocal
	}
	switch {
	case !ip.IsValid(), ip.IsUnspecified(), ip.IsMulticast(), thisNetwork.Contains(ip), reserved.Contains(ip):
		return unreachable
	case ip.IsLoopback():
		return loopback
	case ip.IsLinkLocalUnicast():
		return linkLocal
	case ip.IsPrivate(), sharedSpace.Contains(ip), siteLocal.Contains(ip):
		return private
	}
	return public
}

// zoneOfName returns the zone that a host name implies.
func zoneOfName(host string) zone {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return zoneOf(ip)
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return loopback
	}
	return unknown
}

// A guard restricts connections. The zone of home is that of its addresses so far. A public zone
// stays public: a name that leads elsewhere later is refused.
type guard struct {
	home    string // host name
	zone    atomic.Int32
	proxies sync.Map // host:port of proxies in the environment
}

func newGuard(home *url.URL) *guard {
	g := &guard{home: strings.ToLower(home.Hostname())}
	g.zone.Store(int32(zoneOfName(g.home)))
	return g
}

// checkName refuses an address that is wrong regardless of DNS. With a proxy, which resolves names
// itself, it is the only check.
func (g *guard) checkName(u *url.URL) error {
	host := u.Hostname()
	if strings.EqualFold(host, g.home) {
		return nil
	}
	return g.allow(host, zoneOfName(host))
}

func (g *guard) allow(host string, to zone) error {
	home := zone(g.zone.Load())
	if strings.EqualFold(host, g.home) {
		if home == public && to != public {
			return fmt.Errorf("%s was at a public address and is now at %s", host, to)
		}
		return nil
	}
	if home.reaches(to) {
		return nil
	}
	return fmt.Errorf("%s leads to %s, which is at %s", g.home, host, to)
}

// put makes t dial through g.
func (g *guard) put(t *http.Transport) {
	if proxy := t.Proxy; proxy != nil {
		t.Proxy = func(req *http.Request) (*url.URL, error) {
			u, err := proxy(req)
			if u != nil {
				g.proxies.Store(net.JoinHostPort(u.Hostname(), proxyPort(u)), true)
			}
			return u, err
		}
	}
	t.DialContext = g.dial
}

func proxyPort(u *url.URL) string {
	if strings.HasPrefix(u.Scheme, "socks5") && u.Port() == "" {
		return "1080"
	}
	return port(u)
}

func (g *guard) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	if _, ok := g.proxies.Load(addr); ok {
		return d.DialContext(ctx, network, addr)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return g.allow(host, zoneOf(to.Addr()))
	}
	conn, err := d.DialContext(ctx, network, addr)
	if err == nil && strings.EqualFold(host, g.home) {
		g.reached(conn.RemoteAddr())
	}
	return conn, err
}

// reached records an address of home.
func (g *guard) reached(addr net.Addr) {
	to, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return
	}
	if z := zoneOf(to.Addr()); z == public || zone(g.zone.Load()) == unknown {
		g.zone.Store(int32(z))
	}
}
