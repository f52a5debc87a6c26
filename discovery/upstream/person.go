package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// Credentials are the credentials that a server gets: those of people or, by default,
// those of the configuration.
type Credentials string

// The credentials of people. Each person has separate instances of such a server, and
// the shared one only lists the tools.
const (
	OfUser     Credentials = "user"     // given by each person for this server
	OfExchange Credentials = "exchange" // tokens that are issued for a person's own
)

// OfPeople reports whether each person has their own.
func (c Credentials) OfPeople() bool { return c == OfUser || c == OfExchange }

// A Person is the person on whose behalf calls are made.
type Person struct {
	// Issuer has vouched for Subject; empty for the named tokens of a configuration,
	// which have the name as their Subject.
	Issuer, Subject string
	// Name is what the person is called.
	Name string
	// Token is what the person's request came with, and Expires its end. It goes to no
	// server. Empty for named tokens.
	Token   string
	Expires time.Time
}

// Key tells people apart, and says nothing about them.
func (p *Person) Key() string {
	b, _ := json.Marshal([]string{p.Issuer, p.Subject}) // strings always marshal
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// People is how servers are reached on behalf of people. Its methods must be safe
// for concurrent use.
type People interface {
	// Reach returns the access to a server for a person. It is called for each call. An
	// error that is a transport.SignInNeeded means that the person must connect an
	// account first.
	Reach(ctx context.Context, server Config, p *Person) (Access, error)
	// Page returns where the person connects an account of the server.
	Page(ctx context.Context, server Config, p *Person) (Page, error)
	// Lister returns the access for the instance that lists the tools of a server.
	Lister(server Config) Access
}

// An Access contains the same settings as Options, for one person. A different Version
// requires a new instance.
type Access struct {
	Expand  func(string) (string, error)
	OAuth   func(server Config, url string) (auth.OAuthHandler, error)
	Version string
}

// A Page is where a person connects an account. Done reports whether that has
// happened since.
type Page struct {
	URL  string
	Done func(context.Context) bool
}

type personKey struct{}

// WithPerson returns a context for the calls of a person.
func WithPerson(ctx context.Context, p *Person) context.Context {
	return context.WithValue(ctx, personKey{}, p)
}

func personOf(ctx context.Context) *Person {
	p, _ := ctx.Value(personKey{}).(*Person)
	return p
}
