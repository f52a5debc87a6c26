package upstream

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
)

// A Conversation is one client's use of the broker, from its connection to its end. It
// has its own instance of a server that is not Shared.
type Conversation struct {
	// ID differs from the IDs of all other conversations of its owner.
	ID string
	// Owner is the person or program that the client acts for; empty for the user of
	// the broker. Two owners never share an instance, unless the server is shared by
	// all.
	Owner string
	// Folders returns the folders of the project that the client works in, the main
	// one first; nil, and none, if that is not known. It is called for servers that
	// have an instance for each project.
	Folders func(ctx context.Context) []string
	// Over is done when the conversation is; nil if that is never known.
	Over context.Context
}

type conversationKey struct{}

// WithConversation returns a context for the calls of a conversation. Calls
// without one go to the instance that is shared.
func WithConversation(ctx context.Context, c *Conversation) context.Context {
	return context.WithValue(ctx, conversationKey{}, c)
}

func conversationOf(ctx context.Context) *Conversation {
	c, _ := ctx.Value(conversationKey{}).(*Conversation)
	return c
}

// maxInstances bounds the instances of a server besides the shared one. An unused
// instance makes room for another.
const maxInstances = 32

// instances are the instances of one server besides the shared one, by key.
type instances struct {
	mu     sync.Mutex
	closed bool
	byKey  map[string]*instance
}

// An instance is a server that is started as of is and lists nothing by itself.
// Its uses and when it was used last are guarded by instances.mu.
type instance struct {
	*server
	uses    int
	used    time.Time
	version string      // of what it was given of its person
	forget  func() bool // ends the wait for the end of its conversation
}

// instanceFor returns the server that a call goes to, and what ends its use.
func (s *server) instanceFor(ctx context.Context) (at *server, leave func(), err error) {
	key, folder := s.instanceKey(ctx)
	person, access, err := s.forPerson(ctx)
	if err != nil {
		return nil, nil, err
	}
	ofClient := strings.HasPrefix(key, clientKey)
	key = person + key
	if folder == "" && s.cfg.usesFolder() && conversationOf(ctx) != nil { // the shared one is in another's
		return nil, nil, &ConnectError{Server: s.cfg.Name, State: StateFailed, Hint: errNoFolder.Hint, Err: errNoFolder}
	}
	if key == "" {
		return s, func() {}, nil
	}
	in, most := &s.instances, maxInstances
	if person != "" {
		most = maxPeople
	}
	if person != "" && s.cfg.Command != "" {
		most = math.MaxInt // makeRoom counts those of all servers
		s.pool.personal.Lock()
		defer s.pool.personal.Unlock()
		if err := s.pool.makeRoom(s, key); err != nil {
			return nil, nil, s.busy(err)
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	i := in.byKey[key]
	if i != nil && i.version != access.Version { // the person has given other secrets since
		delete(in.byKey, key)
		i.forget()
		s.pool.retire(i.server)
		i = nil
	}
	if i == nil {
		if in.closed {
			return nil, nil, ErrClosed
		}
		if len(in.byKey) >= most && !s.evictLocked() {
			return nil, nil, s.busy(fmt.Errorf("%d instances of it are in use", most))
		}
		i = &instance{server: s.newInstance(folder), version: access.Version, forget: func() bool { return true }}
		if person != "" {
			i.dialFor(access)
		}
		if in.byKey == nil {
			in.byKey = make(map[string]*instance)
		}
		in.byKey[key] = i
		if c := conversationOf(ctx); ofClient && c.Over != nil {
			i.forget = context.AfterFunc(c.Over, func() { s.endInstance(key, i) })
		}
	}
	i.uses++
	return i.server, func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		i.uses--
		i.used = time.Now()
	}, nil
}

// What the keys of instances begin with.
const (
	clientKey   = "client "
	projectKey  = "project "
	personalKey = "person "
)

// busy returns the error of a call without a free instance.
func (s *server) busy(err error) error {
	return &ConnectError{Server: s.cfg.Name, State: StateFailed, Hint: "call again when others are done", Err: err}
}

// instanceKey returns the key of the instance that a call needs, "" for the shared one,
// and its folder.
func (s *server) instanceKey(ctx context.Context) (key, folder string) {
	c := conversationOf(ctx)
	if c == nil || c.ID == "" {
		return "", ""
	}
	s.mu.Lock()
	who := s.sharing
	s.mu.Unlock()
	switch {
	case who == sharing.PerClient:
		if c.Folders != nil { // only what is started in it looks at it
			folder = first(c.Folders(ctx))
		}
		if key = clientKey + owned(c, c.ID); s.cfg.usesFolder() {
			key += "\x00" + folder
		}
		return key, folder
	case who == sharing.PerProject && c.Folders != nil:
		if folders := c.Folders(ctx); len(folders) > 0 {
			return projectKey + owned(c, strings.Join(folders, "\x00")), folders[0]
		}
	}
	return "", ""
}

// owned adds the owner of c to a key.
func owned(c *Conversation, key string) string { return strconv.Quote(c.Owner) + " " + key }

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// newInstance returns another server like s, with the tools of s.
func (s *server) newInstance(folder string) *server {
	i := makeServer(s.ctx, s.pool, s.cfg.apart(folder))
	i.parent = s
	s.mu.Lock()
	defer s.mu.Unlock()
	i.full, i.shown, i.known = s.full, s.shown, s.known
	i.dial.Era, i.kind = s.era, s.kind
	if s.kind != "stdio" {
		i.dial.Transport = s.kind
	}
	return i
}

// evictLocked ends the least recently used of the unused instances; instances.mu must
// be held.
func (s *server) evictLocked() bool {
	oldest := ""
	for key, i := range s.instances.byKey {
		if i.uses == 0 && (oldest == "" || i.used.Before(s.instances.byKey[oldest].used)) {
			oldest = key
		}
	}
	if oldest == "" {
		return false
	}
	i := s.instances.byKey[oldest]
	delete(s.instances.byKey, oldest)
	i.forget()
	s.pool.retire(i.server)
	return true
}

// endInstance ends an instance after its conversation.
func (s *server) endInstance(key string, i *instance) {
	s.instances.mu.Lock()
	here := s.instances.byKey[key] == i
	if here {
		delete(s.instances.byKey, key)
	}
	s.instances.mu.Unlock()
	if here {
		s.pool.retire(i.server)
	}
}

// closeInstances ends all instances, for good.
func (s *server) closeInstances() {
	s.instances.mu.Lock()
	all := s.instances.byKey
	s.instances.byKey, s.instances.closed = nil, true
	s.instances.mu.Unlock()
	var wg sync.WaitGroup
	for _, i := range all {
		i.forget()
		wg.Go(i.server.close)
	}
	wg.Wait()
}

// running is how many instances have a connection, beside the shared one.
func (s *server) running() int {
	s.instances.mu.Lock()
	defer s.instances.mu.Unlock()
	n := 0
	for _, i := range s.instances.byKey {
		i.mu.Lock()
		if i.sess != nil {
			n++
		}
		i.mu.Unlock()
	}
	return n
}

// readied is firstListing for an instance, which has known tools.
func (s *server) readied(ctx context.Context, sess *session) {
	if sess.Transport == "http" && sess.Era == link.EraModern { // see callOnce
		limited, cancel := context.WithTimeout(ctx, s.cfg.StartTimeout)
		if _, _, err := sess.List(limited, s.cfg.Name); err != nil {
			s.log.Debug("cannot list an instance", "err", err)
		}
		cancel()
	}
	close(sess.listed)
	close(sess.taught)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armIdleLocked(sess)
}

// hear makes known what an instance of s lists after its tools have changed:
// some servers have more of them after a call.
func (s *server) hear(ctx context.Context, sess *session) error {
	if s.cfg.Credentials.OfPeople() { // what one of them may use is not for all to see
		return nil
	}
	l, _, err := sess.List(ctx, s.cfg.Name)
	if err != nil {
		return err
	}
	sess.Hide.Listing(&l)
	s.taking.Lock()
	defer s.taking.Unlock()
	s.mu.Lock()
	l.Prompts, l.Resources, l.Origin = s.full.Prompts, s.full.Resources, s.full.Origin
	l.Skills, l.SkillProblems = s.full.Skills, s.full.SkillProblems
	s.mu.Unlock()
	s.share(s.entry(sess, l))
	s.learn(l)
	return nil
}

// asked records that the server asks its clients questions in requests that do not name
// a call: each client gets an instance from then on.
func (s *server) asked(sess *session) {
	if s.parent != nil {
		s.parent.asked(sess)
		return
	}
	s.taking.Lock()
	defer s.taking.Unlock()
	s.mu.Lock()
	news := !s.asks && s.known
	s.asks = true
	s.decideLocked()
	l := s.full
	s.mu.Unlock()
	if news {
		s.store(sess, l)
	}
}

// decideLocked decides who shares an instance, after something has become known
// of the server; s.mu is held.
func (s *server) decideLocked() {
	s.sharing, s.why = s.cfg.sharing(s.full.Tools, s.asks)
}
