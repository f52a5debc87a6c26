package s3_test

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/fakes3"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/s3"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

func literal(s string) (string, error) { return s, nil }

func none(string) (string, bool) { return "", false }

// open returns the objects of a server.
func open(t testing.TB, address string) state.Objects {
	t.Helper()
	o, err := s3.Parse("s3://bucket/some%20prefix/%25+é?accessKey=id&secretKey=secret&endpoint="+address, literal, none)
	if err != nil {
		t.Fatal(err)
	}
	return s3.New(o)
}

func TestObjects(t *testing.T) {
	backend := fakes3.New("bucket")
	server := httptest.NewServer(backend)
	defer server.Close()
	plain := open(t, server.URL)
	sealed, err := state.SealObjects(plain, state.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []state.Objects{plain, sealed} {
		statetest.Objects{Open: func(testing.TB) state.Objects { return o }}.Run(t)
	}
	if err := sealed.Put(t.Context(), "a/0", []byte("planted")); err != nil {
		t.Fatal(err)
	}
	if got, err := plain.Get(t.Context(), "a/0"); err != nil || strings.Contains(string(got), "planted") {
		t.Errorf("in the clear: %q, %v", got, err)
	}
	if names := slices.Collect(maps.Keys(backend.Objects("bucket"))); len(names) != 1 || names[0] != "some prefix/%+é/a/0" {
		t.Errorf("the objects are %q", names)
	}
	if got, _ := plain.Get(t.Context(), "a/0"); plain.Put(t.Context(), "b/0", got) != nil {
		t.Fatal("not copied")
	}
	if _, err := sealed.Get(t.Context(), "b/0"); !errors.Is(err, state.ErrSealed) {
		t.Errorf("under another name: %v", err)
	}
}

// A bucket that is not there is no object that is gone.
func TestNoBucket(t *testing.T) {
	server := httptest.NewServer(fakes3.New())
	defer server.Close()
	o := open(t, server.URL)
	_, err := o.Get(t.Context(), "a")
	for _, err := range []error{err, o.Put(t.Context(), "a", nil), o.Delete(t.Context(), "a")} {
		if err == nil || !strings.Contains(err.Error(), "NoSuchBucket") {
			t.Error(err)
		}
	}
}

// Nothing is sent to where a server leads.
func TestNoRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	if err := open(t, server.URL).Put(t.Context(), "a", []byte("x")); err == nil || !strings.Contains(err.Error(), "307") {
		t.Error(err)
	}
}

// A server that is gone holds nobody up.
func TestServerIsAway(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	o := open(t, server.URL)
	for _, want := range []string{"connection refused", "some seconds ago"} {
		if err := o.Put(t.Context(), "a", []byte("x")); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "s+/=", "AWS_REGION": "eu-1"}[name]
		return v, ok
	}
	o, err := s3.Parse("s3://b/p/", literal, env)
	if err != nil || o.Endpoint.String() != "https://s3.eu-1.amazonaws.com" || o.Bucket != "b" || o.Prefix != "p" || o.SecretKey != "s+/=" {
		t.Errorf("%+v, %v", o, err)
	}
	for address, want := range map[string]string{
		"https://b":                  "write s3://",
		"s3://b?bukket=1":            `unknown "bukket"`,
		"s3://b?endpoint=ftp://host": "not a URL",
		"s3://id:hunter2@b":          "write s3://",
	} {
		if _, err := s3.Parse(address, literal, env); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	if _, err := s3.Parse("s3://b", literal, none); err == nil || !strings.Contains(err.Error(), "credentials") {
		t.Error(err)
	}
}
