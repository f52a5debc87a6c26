package upstream

import (
	"errors"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/modelcontextprotocol/go-sdk/auth"
)

// reached is how a server is connected, with what o says of references and sign-ins.
func (c Config) reached(o *Options) link.Server {
	s := link.Server{
		Name: c.Name, Type: c.kind(), Command: c.Command, Args: c.Args,
		Timeout: c.StartTimeout, ShortInstalled: c.anyStart, Plain: c.direct(), OwnDir: c.Dir != "" && !c.lent,
		Resolve: func() (*link.Target, error) { return c.target(o) },
	}
	if o.OAuth != nil {
		s.OAuth = func(url string) (auth.OAuthHandler, error) { return o.OAuth(c, url) }
	}
	if c.Permit != nil {
		s.MayStart = c.Permit.MayStart
	}
	return s
}

// target returns what to start or dial for c.
func (c Config) target(o *Options) (*link.Target, error) {
	if c.usesFolder() {
		folder := c.folder
		if folder == "" {
			folder = o.Folder()
		}
		if folder == "" {
			return nil, errNoFolder
		}
		c = c.inFolder(folder)
	}
	t, err := c.resolveIn(o.Expand, o.Environ())
	if need, ok := errors.AsType[transport.SignInNeeded](err); ok {
		return nil, link.NeedsSignIn(need)
	}
	if err != nil {
		return nil, &link.Error{Err: &ReferenceError{err}, Hint: "set it, or change the value in the configuration"}
	}
	return t, nil
}
