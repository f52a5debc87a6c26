package upstream

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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

const (
	// maxPeople is how many instances a remote server has for people, which cost no
	// process.
	maxPeople = 1000
	// usualProcesses is how many processes there are for people if Options do not say it.
	usualProcesses = 128
)

// refusePerson returns the error of a call without a person, or for a person without
// access.
func (s *server) refusePerson(why string) error {
	return &ConnectError{Server: s.cfg.Name, State: StateFailed, Err: errors.New(why),
		Hint: fmt.Sprintf(`its "credentials" are %q in the config: broker serve --http has them for people who sign in`, s.cfg.Credentials)}
}

// forPerson is how s is reached for the person of a call, and what the keys of the
// person's instances begin with; "" if s is the same for everybody.
func (s *server) forPerson(ctx context.Context) (key string, a Access, err error) {
	if !s.cfg.Credentials.OfPeople() {
		return "", Access{}, nil
	}
	p, people := personOf(ctx), s.pool.opts.People
	switch {
	case p == nil || people == nil:
		return "", Access{}, s.refusePerson("it is called for a person, and this request does not name one")
	case s.cfg.Credentials == OfExchange && p.Token == "":
		return "", Access{}, s.refusePerson(fmt.Sprintf("%q is a token of the config, and only access tokens of people can be exchanged", p.Name))
	}
	if a, err = people.Reach(ctx, s.cfg, p); err != nil {
		state, hint, _, cause := failure(err)
		return "", Access{}, &ConnectError{Server: s.cfg.Name, State: state, Hint: hint, Err: cause}
	}
	if key = p.Key(); s.cfg.Credentials == OfExchange {
		// What one token of a person is good for, another may not be.
		sum := sha256.Sum256([]byte(p.Token))
		key += " " + hex.EncodeToString(sum[:])
	}
	return personalKey + key + "\x00", a, nil
}

// dialFor makes an instance reach its server as a says.
func (s *server) dialFor(a Access) {
	o := s.pool.opts
	o.OAuth = a.OAuth
	if a.Expand != nil {
		o.Expand = a.Expand
	}
	s.dial.Server = s.cfg.reached(&o)
}

// Forget ends the instances of a server that a person has.
func (p *Pool) Forget(name string, person *Person) {
	if s := p.roster.Load().byName[name]; s != nil {
		s.endInstances(personalKey + person.Key())
	}
}

// endInstances ends the instances with keys that begin with prefix.
func (s *server) endInstances(prefix string) {
	var gone []*instance
	s.instances.mu.Lock()
	for key, i := range s.instances.byKey {
		if strings.HasPrefix(key, prefix) {
			delete(s.instances.byKey, key)
			gone = append(gone, i)
		}
	}
	s.instances.mu.Unlock()
	for _, i := range gone {
		i.forget()
		s.pool.retire(i.server)
	}
}

// makeRoom ends the least recently used of people's unused processes, if there are too
// many to start another one, of s for key. p.personal must be held.
func (p *Pool) makeRoom(of *server, key string) error {
	total := 0
	var oldest *server
	var at time.Time
	for _, s := range p.roster.Load().servers {
		if s.cfg.Command == "" || !s.cfg.Credentials.OfPeople() {
			continue
		}
		s.instances.mu.Lock()
		if s == of && s.instances.byKey[key] != nil {
			s.instances.mu.Unlock()
			return nil
		}
		total += len(s.instances.byKey)
		for _, i := range s.instances.byKey {
			if i.uses == 0 && (oldest == nil || i.used.Before(at)) {
				oldest, at = s, i.used
			}
		}
		s.instances.mu.Unlock()
	}
	most := cmp.Or(p.opts.PersonalProcesses, usualProcesses)
	if total < most {
		return nil
	}
	if oldest != nil {
		oldest.instances.mu.Lock()
		defer oldest.instances.mu.Unlock()
		if oldest.evictLocked() {
			return nil
		}
	}
	return fmt.Errorf("%d processes of people are in use, the most that \"personalProcesses\" in the config lets run", most)
}

// callConnected is Call for a server to which each person connects an account. It asks
// a person without one to do so, if the client can show pages, or returns the address.
func (s *server) callConnected(ctx context.Context, tool string, args json.RawMessage, o *CallOptions) (json.RawMessage, error) {
	raw, err := s.call(ctx, tool, args, o)
	need, ok := errors.AsType[*ConnectError](err)
	p := personOf(ctx)
	if !ok || need.State != StateNeedsSignIn || p == nil {
		return raw, err
	}
	if _, partial := errors.AsType[transport.SignInNeeded](need.Err); !partial {
		s.endInstances(personalKey + p.Key())
	}
	page, err := s.pool.opts.People.Page(ctx, s.cfg, p)
	if err != nil {
		return nil, &ConnectError{Server: s.cfg.Name, State: StateFailed, Hint: "try again later", Err: err}
	}
	need.Hint = "ask the user to connect their account of it, at " + page.URL + ", and then call again"
	if o == nil || o.Talker == nil || !o.Talker.Capabilities().URL {
		return nil, need
	}
	connected, err := s.askToConnect(ctx, tool, o, p, page)
	if err != nil || !connected {
		return nil, errors.Join(need, err)
	}
	return s.call(ctx, tool, args, o)
}

const (
	// maxConnecting bounds the wait of a call for a person who has agreed to open the
	// page; a later call finds the account.
	maxConnecting = 30 * time.Second
	connectPoll   = 300 * time.Millisecond
)

// askToConnect asks the person to open the page, and waits for a while until it was
// of use.
func (s *server) askToConnect(ctx context.Context, tool string, o *CallOptions, p *Person, page Page) (bool, error) {
	c := link.NewCall(ctx, s.cfg.Name, tool, o, s.cfg.CallTimeout, func() {})
	defer c.Stop()
	answer, err := c.Ask(ctx, &mcp.ElicitParams{
		Mode: "url", URL: page.URL, ElicitationID: page.URL,
		Message: fmt.Sprintf("This is a page of the broker, where %s connects their account of %s.", p.Name, s.cfg.Name),
	})
	if err != nil {
		return false, err
	}
	if answer.(*mcp.ElicitResult).Action != "accept" { // Ask has seen to what it is
		return false, nil
	}
	defer c.Pause()()
	limited, cancel := context.WithTimeout(ctx, maxConnecting)
	defer cancel()
	tick := time.NewTicker(connectPoll)
	defer tick.Stop()
	for !page.Done(limited) {
		select {
		case <-tick.C:
		case <-limited.Done():
			return false, nil
		}
	}
	return true, nil
}
