// Package remote speaks the discovery of skills by address: a host lists its skills in
// /.well-known/agent-skills/index.json, each with the digest of its files. Files with
// another digest are not used.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
	"github.com/mcpbroker/mcpbroker/internal/outbound"
	"github.com/mcpbroker/mcpbroker/skills"
)

const (
	// Path is where a host lists its skills.
	Path = "/.well-known/agent-skills/index.json"
	// Schema is the version of the list that is understood.
	Schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

	maxIndexBytes    = 4 << 20
	maxArtifactBytes = skills.MaxTotalBytes + skills.MaxTotalBytes/16
)

// The types of entries.
const (
	TypeFile    = "skill-md"
	TypeArchive = "archive"
)

// An Index lists the skills of a host.
type Index struct {
	Schema string  `json:"$schema"`
	Skills []Entry `json:"skills"`
}

// An Entry is one skill of an Index. URL may be relative to the index.
type Entry struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
	URL         string `json:"url"`
	// Digest is sha256: and 64 hexadecimal digits, over the bytes as they come.
	Digest string `json:"digest"`
}

// A Client fetches skills. It follows redirects on the same host only, and
// takes https, or http from this machine.
type Client struct {
	http *outbound.Client
	// base is the address of the index.
	base *url.URL
}

// New returns a client for the host of an address such as https://example.com.
// An address that ends in .json is that of the index itself.
func New(address string, timeout time.Duration) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is not an address: write https://host", address)
	}
	if err := safe(u); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(u.Path, ".json") {
		u = u.ResolveReference(&url.URL{Path: Path})
	}
	u.Fragment = ""
	c := &Client{base: u, http: outbound.New(outbound.Options{Home: u, HomeOnly: true, MaxBytes: maxArtifactBytes, Timeout: timeout})}
	follow := c.http.CheckRedirect
	c.http.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		return cmp.Or(c.ours(r.URL), follow(r, via))
	}
	return c, nil
}

// safe refuses addresses with answers that could be changed in transit.
func safe(u *url.URL) error {
	if u.Scheme == "https" {
		return nil
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("%s is not https: skills are fetched over https only", u.Redacted())
}

// ours refuses addresses of other hosts: who trusts a host has not said that
// all those it names are trusted.
func (c *Client) ours(u *url.URL) error {
	if !strings.EqualFold(u.Host, c.base.Host) || u.Scheme != c.base.Scheme {
		return fmt.Errorf("%s is not on %s: fetch it from there by its own address", u.Redacted(), c.base.Host)
	}
	return nil
}

// Host is where the skills come from.
func (c *Client) Host() string { return c.base.Host }

// Index fetches the list. Entries of unknown types, or without a usable address or
// digest, are left out and named in notes.
func (c *Client) Index(ctx context.Context) (index *Index, notes []string, err error) {
	var data bytes.Buffer
	if err := c.get(ctx, c.base, maxIndexBytes, &data); err != nil {
		return nil, nil, err
	}
	index = &Index{}
	if err := json.Unmarshal(data.Bytes(), index); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", c.base.Redacted(), jsonscan.Explain(err))
	}
	switch index.Schema {
	case Schema:
	case "":
		return nil, nil, fmt.Errorf("%s has no $schema: lists of version 0.1 have no digests and are not supported", c.base.Redacted())
	default:
		return nil, nil, fmt.Errorf("%s has the unknown $schema %q", c.base.Redacted(), index.Schema)
	}
	var usable []Entry
	for _, e := range index.Skills {
		if problem := c.check(e); problem != "" {
			notes = append(notes, fmt.Sprintf("skill %q is left out: %s", e.Name, problem))
			continue
		}
		usable = append(usable, e)
	}
	index.Skills = usable
	return index, notes, nil
}

func (c *Client) check(e Entry) string {
	digest, ok := strings.CutPrefix(e.Digest, "sha256:")
	u, err := c.resolve(e)
	switch {
	case e.Name == "":
		return "it has no name"
	case e.Type != TypeFile && e.Type != TypeArchive:
		return fmt.Sprintf("its type %q is not known", e.Type)
	case !ok || len(digest) != 2*sha256.Size || strings.Trim(digest, "0123456789abcdef") != "":
		return "its digest is not sha256: with 64 digits"
	case err != nil:
		return err.Error()
	case e.Type == TypeArchive && extension(u) == "":
		return "its archive is neither .zip nor .tar.gz"
	}
	return ""
}

func (c *Client) resolve(e Entry) (*url.URL, error) {
	u, err := c.base.Parse(e.URL)
	if err != nil || e.URL == "" {
		return nil, fmt.Errorf("its address %q is wrong", e.URL)
	}
	return u, c.ours(u)
}

// extension is that of an archive, or nothing.
func extension(u *url.URL) string {
	for _, ext := range []string{".tar.gz", ".tgz", ".zip", ".skill"} {
		if strings.HasSuffix(strings.ToLower(u.Path), ext) {
			return ext
		}
	}
	return ""
}

// Fetch puts the skill of an entry into the folder dir, which exists, and
// returns what can be installed: an archive, or a folder with a SKILL.md. What
// does not have the digest of the entry is an error, and is not written.
func (c *Client) Fetch(ctx context.Context, e Entry, dir string) (path string, err error) {
	u, err := c.resolve(e)
	if err != nil {
		return "", fmt.Errorf("fetch skill %q: %w", e.Name, err)
	}
	limit := int64(maxArtifactBytes)
	if e.Type == TypeFile {
		limit = skills.MaxFileBytes
	}
	path = filepath.Join(dir, "skill"+extension(u))
	if e.Type == TypeFile {
		path = filepath.Join(dir, "skill", skills.FileName)
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
	}
	part := path + ".part"
	defer os.Remove(part) // it is not there any more when all went well
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if err := errors.Join(c.get(ctx, u, limit, io.MultiWriter(f, h)), f.Close()); err != nil {
		return "", err
	}
	if got := skills.Digest(h.Sum(nil)); got != e.Digest {
		return "", fmt.Errorf("fetch skill %q: %s has the digest %s, but the list says %s", e.Name, u.Redacted(), got, e.Digest)
	}
	if err := os.Rename(part, path); err != nil {
		return "", err
	}
	if e.Type == TypeFile {
		return filepath.Dir(path), nil
	}
	return path, nil
}

// get fetches at most limit bytes.
func (c *Client) get(ctx context.Context, u *url.URL, limit int64, to io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", u.Redacted(), outbound.Cause(err))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("fetch %s: the host answers %s", u.Redacted(), res.Status)
	}
	if _, err := io.Copy(to, outbound.Limit(res.Body, limit)); err != nil {
		return fmt.Errorf("fetch %s: %w", u.Redacted(), outbound.Cause(err))
	}
	return nil
}
