// Package identity decides whose a request is, as a config says: tokens of programs,
// sign-ins of people, their accounts at servers, and the clients that the broker is to
// authorization servers.
package identity

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/bearer"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// An Error is a setting that cannot be followed.
type Error struct {
	Err error
	// Hint says what to do; it may be empty.
	Hint string
}

// Error returns the text without the hint.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// wrong is fmt.Errorf with a hint.
func wrong(hint, format string, args ...any) error {
	return &Error{fmt.Errorf(format, args...), hint}
}

// Tokens returns the tokens of a config by client, and their limits.
func Tokens(c config.HTTP, expand func(string) (string, error)) (values map[string]string, limits map[string]broker.TokenLimits, err error) {
	values, limits = make(map[string]string), make(map[string]broker.TokenLimits)
	for _, name := range slices.Sorted(maps.Keys(c.Tokens)) {
		t := c.Tokens[name]
		if values[name], err = expand(t.Value); err != nil {
			return nil, nil, wrong("", "http token of %q: %w", name, err)
		}
		if t.Profile != "" || t.Team != "" || !t.Expires.IsZero() {
			limits[name] = broker.TokenLimits{Profile: t.Profile, Team: t.Team, Expires: t.Expires}
		}
	}
	return values, limits, nil
}

// SignIn returns how people sign in; nil if the config has no issuer.
func SignIn(c config.SignIn) (*broker.SignIn, error) {
	if c.Issuer == "" {
		return nil, nil
	}
	v, err := bearer.New(bearer.Options{Issuer: c.Issuer, Resource: c.Resource, User: c.User, ProfileClaim: c.ProfileClaim, Profiles: c.Profiles, TeamClaim: c.TeamClaim})
	if err != nil {
		return nil, wrong("", "http.signIn: %w", err)
	}
	verify := func(ctx context.Context, token string) (broker.Bearer, error) {
		p, err := v.Verify(ctx, token)
		if errors.Is(err, bearer.ErrRefused) {
			err = fmt.Errorf("%w: %w", surface.ErrToken, err)
		}
		return broker.Bearer{Name: p.Name, Subject: p.Subject, Expires: p.Expires, Scopes: p.Scopes, Limited: p.Limited, Profiles: p.Profiles, Team: p.Team}, err
	}
	return &broker.SignIn{Issuer: c.Issuer, Resource: c.Resource, Scopes: c.Scopes, Verify: verify}, nil
}

// OwnerOf returns a function that finds the client of a token without limits.
func OwnerOf(values map[string]string, limits map[string]broker.TokenLimits) func(map[string]string, string) string {
	return func(among map[string]string, token string) string {
		name := surface.TokenOwner(among, token)
		if l := limits[name]; among[name] == values[name] && (l.Profile != "" || l.Expired()) {
			return ""
		}
		return name
	}
}
