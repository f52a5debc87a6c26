// Package s3 keeps objects at a service that speaks the API of Amazon S3, such as
// MinIO or Ceph: it puts, gets and deletes them, and goes nowhere else.
package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/outbound"
	"github.com/mcpbroker/mcpbroker/state"
)

const (
	// MaxObject is the longest object.
	MaxObject = 8 << 20
	// exchangeTime is how long one request may take, and restTime how long nothing is
	// asked of a service that could not be reached.
	exchangeTime, restTime = 20 * time.Second, 5 * time.Second
)

// Options are the place of the objects and the credentials.
type Options struct {
	Endpoint       *url.URL
	Bucket, Prefix string
	Region         string // default us-east-1
	AccessKey      string
	SecretKey      string
	SessionToken   string // may be empty
}

// Parse reads an address such as s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION.
// Its query may have accessKey and secretKey, which are those of the usual environment
// variables of AWS by default. Values of the query go through expand.
func Parse(address string, expand func(string) (string, error), env func(string) (string, bool)) (o Options, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil {
		return o, errors.New("write s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION")
	}
	variable := func(name string) string { v, _ := env(name); return v }
	o = Options{
		Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"), Region: variable("AWS_REGION"),
		AccessKey: variable("AWS_ACCESS_KEY_ID"), SecretKey: variable("AWS_SECRET_ACCESS_KEY"), SessionToken: variable("AWS_SESSION_TOKEN"),
	}
	endpoint := variable("AWS_ENDPOINT_URL_S3")
	fields := map[string]*string{"endpoint": &endpoint, "region": &o.Region, "accessKey": &o.AccessKey, "secretKey": &o.SecretKey}
	for name, values := range u.Query() {
		to := fields[name]
		if to == nil {
			return o, fmt.Errorf("unknown %q: the address may have endpoint, region, accessKey and secretKey", name)
		}
		if *to, err = expand(values[0]); err != nil {
			return o, err
		}
		if name == "accessKey" {
			o.SessionToken = ""
		}
	}
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	if endpoint == "" {
		endpoint = "https://s3." + o.Region + ".amazonaws.com"
	}
	if o.Endpoint, err = url.Parse(endpoint); err != nil || o.Endpoint.Host == "" || o.Endpoint.Scheme != "https" && o.Endpoint.Scheme != "http" {
		return o, errors.New("the endpoint of the object store is not a URL such as https://HOST")
	}
	if o.AccessKey == "" || o.SecretKey == "" {
		return o, errors.New("no credentials for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or add &accessKey=${ID}&secretKey=${SECRET}")
	}
	return o, nil
}

// A Client implements state.Objects.
type Client struct {
	o    Options
	http *outbound.Client
	rest atomic.Int64 // until when nothing is asked
}

var _ state.Objects = (*Client)(nil)

// New returns a client. It connects when it is used first.
func New(o Options) *Client {
	c := &Client{o: o, http: outbound.New(outbound.Options{Home: o.Endpoint, HomeOnly: true, MaxBytes: MaxObject, Timeout: exchangeTime, MaxIdle: 8})}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// Put implements state.Objects.
func (c *Client) Put(ctx context.Context, name string, body []byte) error {
	_, err := c.do(ctx, http.MethodPut, name, body)
	return err
}

// Get implements state.Objects.
func (c *Client) Get(ctx context.Context, name string) ([]byte, error) {
	return c.do(ctx, http.MethodGet, name, nil)
}

// Delete implements state.Objects.
func (c *Client) Delete(ctx context.Context, name string) error {
	_, err := c.do(ctx, http.MethodDelete, name, nil)
	if errors.Is(err, state.ErrNotFound) {
		return nil
	}
	return err
}

// do makes one request. Its error names neither the object nor a key.
func (c *Client) do(ctx context.Context, method, name string, body []byte) ([]byte, error) {
	failed := func(err error) error {
		return fmt.Errorf("objects in %s at %s: %w", c.o.Bucket, c.o.Endpoint.Host, err)
	}
	if time.Now().UnixNano() < c.rest.Load() {
		return nil, failed(errors.New("it could not be reached some seconds ago"))
	}
	at := *c.o.Endpoint
	at.Path = path.Join("/", at.Path, c.o.Bucket, c.o.Prefix, name)
	req, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, failed(err)
	}
	sum := sha256.Sum256(body)
	req.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	if method == http.MethodPut {
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	sign(req, c.o, time.Now())
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() == nil {
			c.rest.Store(time.Now().Add(restTime).UnixNano())
		}
		return nil, failed(outbound.Cause(err))
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	code := codeOf(answer)
	switch {
	case resp.StatusCode == http.StatusNotFound && (code == "" || code == ", NoSuchKey") && method != http.MethodPut: // otherwise the bucket does not exist
		return nil, state.ErrNotFound
	case resp.StatusCode/100 != 2:
		return nil, failed(fmt.Errorf("the server answered %s%s", resp.Status, code))
	case err != nil:
		return nil, failed(outbound.Cause(err))
	}
	return answer, nil
}

// codeOf is the code of an error, such as AccessDenied.
func codeOf(answer []byte) string {
	_, rest, _ := bytes.Cut(answer, []byte("<Code>"))
	code, _, found := bytes.Cut(rest, []byte("</Code>"))
	if !found || len(code) > 60 || bytes.ContainsFunc(code, func(r rune) bool { return r < 'A' || r > 'z' }) {
		return ""
	}
	return ", " + string(code)
}
