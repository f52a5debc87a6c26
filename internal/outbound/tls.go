package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A TLSError reports that a secure connection to a host failed. Its text contains advice.
type TLSError struct {
	Host string
	// CertFile is set if a file of certificates, named by SSL_CERT_FILE, would help.
	CertFile bool
	Err      error

	text string
}

// Error describes the problem, with advice.
func (e *TLSError) Error() string { return e.text }

// Unwrap returns the cause.
func (e *TLSError) Unwrap() error { return e.Err }

// explainTLS returns a *TLSError for the error of a handshake with host, or err.
func explainTLS(host string, err error) error {
	say := func(authority bool, format string, args ...any) error {
		return &TLSError{Host: host, CertFile: authority && !systemList, Err: err, text: fmt.Sprintf(format, args...)}
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return say(false, "the certificate of %s is for %s: use that name, or ask the operator of the server for another certificate", host, namesOf(e.Certificate))
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return say(false, "%s", invalid(host, e, time.Now()))
	}
	if _, ok := errors.AsType[x509.SystemRootsError](err); ok {
		return say(true, "this machine knows no certificate authority, so the certificate of %s cannot be checked: %s", host, knowAuthority)
	}
	if e, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return say(true, "the certificate of %s is signed by an authority that this machine does not know%s: %s", host, issuerOf(e.Cert), knowAuthority)
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return say(false, "the certificate of %s is refused: %v; ask the operator of the server for another", host, e.Err)
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "remote error" { // an alert of TLS
		return say(false, "%s refuses the TLS connection: %v; it may want a certificate of the client, or speak another version of TLS", host, e.Err)
	}
	if e, ok := errors.AsType[tls.RecordHeaderError](err); ok && string(e.RecordHeader[:]) == "HTTP/" {
		return say(false, "%s answers without TLS: its address may begin with http://", host)
	} else if ok {
		return say(false, "%s does not speak TLS (%s): check the port and whether its address begins with http://", host, e.Msg)
	}
	return err
}

// systemList reports whether the system decides which authorities are trusted; on other systems,
// Go reads SSL_CERT_FILE.
const systemList = runtime.GOOS == "windows" || runtime.GOOS == "darwin"

// knowAuthority is advice on how to make this machine trust an authority.
var knowAuthority = func() string {
	if systemList {
		return "add the authority to the certificates that this system trusts"
	}
	return "set SSL_CERT_FILE to a file with the authority's certificate (PEM) in the environment of the broker, and start the broker again (broker daemon restart)"
}()

// invalid returns why a certificate is not valid.
func invalid(host string, e x509.CertificateInvalidError, now time.Time) string {
	if e.Reason != x509.Expired || e.Cert == nil {
		return fmt.Sprintf("the certificate of %s is refused: %v; ask the operator of the server for another", host, e)
	}
	whose := "the certificate of " + host
	if e.Cert.IsCA {
		whose = "a certificate that " + host + " depends on"
	}
	if now.Before(e.Cert.NotBefore) {
		return fmt.Sprintf("%s is not valid before %s: check the clock of this machine, which says %s", whose, day(e.Cert.NotBefore), day(now))
	}
	return fmt.Sprintf("%s expired on %s: check the clock of this machine, which says %s, or ask the operator of the server for a new one", whose, day(e.Cert.NotAfter), day(now))
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// namesOf returns some names of a certificate.
func namesOf(c *x509.Certificate) string {
	if c == nil {
		return "another host"
	}
	names := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no host"
	}
	if n := len(names) - 3; n > 1 {
		names = append(names[:3], fmt.Sprintf("%d others", n))
	}
	return gate.Cut(gate.Line(strings.Join(names, ", ")), 200)
}

// issuerOf returns the name of the authority that signed a certificate.
func issuerOf(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	name := gate.Cut(gate.Line(c.Issuer.String()), 100)
	if name == "" {
		return ""
	}
	return " (" + name + ")"
}
