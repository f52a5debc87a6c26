package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/sharing"
)

// What the keys of instances begin with.
const (
	clientKey   = "client "
	projectKey  = "project "
	personalKey = "person "
)

// maxPeople is how many instances a remote server has for people, which cost no
// process.
const maxPeople = 1000

// instanceFor returns the server that a call goes to, and what ends its use.
func (s *server) instanceFor(ctx context.Context) (at *server, leave func(), err error) {
	key, folder := s.instanceKey(ctx)
	person, access, err := s.forPerson(ctx)
	if err != nil {
		return nil, nil, err
	}
	ofClient := strings.HasPrefix(key, clientKey)
	key = person + key
	c := conversationOf(ctx)
	if folder == "" && c != nil && s.cfg.usesFolder() { // the shared one is in another's
		return nil, nil, &ConnectError{Server: s.cfg.Name, State: StateFailed, Hint: errNoFolder.Hint, Err: errNoFolder}
	}
	if key == "" {
		return s, func() {}, nil
	}
	most := maxInstances
	if person != "" {
		most = maxPeople
	}
	if person != "" && s.cfg.Command != "" {
		most = math.MaxInt // makeRoom counts those of all servers
		s.host.personal.Lock()
		defer s.host.personal.Unlock()
		if err := s.host.makeRoom(&s.instances, key); err != nil {
			return nil, nil, s.busy(err)
		}
	}
	at, leave, err = s.instances.use(key, access.Version, most, func(end func()) (*server, func() bool) {
		i := s.newInstance(folder)
		if person != "" {
			i.dialFor(access)
		}
		if ofClient && c.Over != nil {
			return i, context.AfterFunc(c.Over, end)
		}
		return i, func() bool { return true }
	})
	if err != nil && err != ErrClosed {
		err = s.busy(err)
	}
	return at, leave, err
}

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
	who, _ := s.inventory.shared()
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
	p, people := personOf(ctx), s.host.opts.People
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

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
