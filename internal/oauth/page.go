package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

const (
	// maxPageFolders bounds the folders of a sign-in page's path that are searched for
	// metadata, and pageLimit the time of the search.
	maxPageFolders = 6
	pageLimit      = 15 * time.Second
)

// trusts reports whether the configuration names issuer.
func (d *discovery) trusts(issuer string) bool {
	return d.s.Client.Issuer != "" && sameIssuer(d.s.Client.Issuer, issuer)
}

// checkPage refuses the sign-in page of an authorization server if another one would
// redeem its codes (RFC 9700, section 4.4): a person would sign in at an honest page,
// and the author of the metadata would get the code. If the page is not on the issuer's
// host, checkPage reads the metadata of the page's host. It accepts a host without
// metadata, which may belong to the issuer; the person sees both names.
func (d *discovery) checkPage(ctx context.Context) error {
	page, err := url.Parse(d.as.AuthorizationEndpoint)
	if err != nil {
		return errors.New("the sign-in page is not an address")
	}
	issuer, err := url.Parse(d.as.Issuer)
	if err != nil {
		return errors.New("the issuer is not a URL")
	}
	if outbound.SameOrigin(page, issuer) || d.trusts(d.as.Issuer) {
		return nil
	}
	found, err := d.metadataAround(ctx, page)
	if err != nil {
		return fmt.Errorf("the sign-in page is on %s, not on the host of its issuer %s, and the owner of the page cannot be determined: %w; %s",
			page.Host, cleanText(d.as.Issuer), err, issuerHint(d.as.Issuer))
	}
	other := ""
	for _, as := range found {
		if sameIssuer(as.Issuer, d.as.Issuer) {
			return nil
		}
		if !d.redeemsAt(page, as) {
			other = as.Issuer
		}
	}
	if other == "" {
		return nil
	}
	return fmt.Errorf("the sign-in page on %s is that of %s, but the codes that it gives would go to %s, which %s names: this is refused; %s",
		page.Host, cleanText(other), cleanText(hostOf(d.as.TokenEndpoint)), cleanText(d.as.Issuer), issuerHint(d.as.Issuer))
}

// issuerHint returns the setting that allows issuer.
func issuerHint(issuer string) string {
	return fmt.Sprintf(`if you know that the page is for this issuer, add "issuer": %q to "oauth" of the server`, cleanText(issuer))
}

// redeemsAt reports whether codes and tokens go only to the host of page, or to the
// token endpoint in as, the metadata of that host.
func (d *discovery) redeemsAt(page *url.URL, as *oauthex.AuthServerMeta) bool {
	own, err := url.Parse(as.TokenEndpoint)
	for _, address := range []string{d.as.TokenEndpoint, d.as.RevocationEndpoint} {
		u, bad := url.Parse(address)
		if address == "" {
			continue
		}
		if bad != nil || !outbound.SameOrigin(u, page) && (err != nil || own.Host == "" || !outbound.SameOrigin(u, own)) {
			return false
		}
	}
	return true
}

// metadataAround reads the metadata of authorization servers at the host of page: at
// its root and for the folders of page's path. It returns an error if the host does not
// answer.
func (d *discovery) metadataAround(ctx context.Context, page *url.URL) ([]*oauthex.AuthServerMeta, error) {
	ctx, cancel := context.WithTimeout(ctx, pageLimit)
	defer cancel()
	var addresses []string
	folder := &url.URL{Scheme: page.Scheme, Host: page.Host}
	addresses = append(addresses, metadataAddresses(folder)...)
	for i, name := range strings.Split(strings.Trim(page.Path, "/"), "/") {
		if name == "" || i == maxPageFolders {
			break
		}
		folder = folder.JoinPath(url.PathEscape(name))
		addresses = append(addresses, metadataAddresses(folder)...)
	}
	var (
		mu       sync.Mutex
		wg       sync.WaitGroup
		found    []*oauthex.AuthServerMeta
		problems []error
	)
	for _, address := range addresses {
		wg.Go(func() {
			var as oauthex.AuthServerMeta
			ok, err := d.get(ctx, address, &as)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				problems = append(problems, err)
			} else if ok && as.Issuer != "" {
				found = append(found, &as)
			}
		})
	}
	wg.Wait()
	if len(found) == 0 && len(problems) == len(addresses) {
		return nil, problems[0]
	}
	return found, nil
}

// hostOf returns the host of an address, or the address if it has none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return u.Host
}
