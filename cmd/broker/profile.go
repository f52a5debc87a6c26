package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/bearer"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/policy"
)

// profileVariable names the profile where --profile does not.
const profileVariable = "BROKER_PROFILE"

// chosenProfile returns the profile that this run of the program is bound to, or "".
func (a *app) chosenProfile() string { return cmp.Or(a.profile, os.Getenv(profileVariable)) }

// checkProfile refuses a profile that does not exist, since its user wants no more than
// it contains.
func (a *app) checkProfile(cfg *config.Config) error {
	if a.whole {
		return nil
	}
	name := cmp.Or(a.chosenProfile(), cfg.Broker.Profile)
	if _, ok := cfg.Broker.Profiles[name]; ok || name == "" {
		return nil
	}
	return usage("there is no profile %q in %s%s\nhint: broker profiles list", name, cfg.Path, lines(cfg.Broker.NearProfile(name)))
}

// hasProfile reports whether the file of a config has a profile, without reading
// the rest of it.
func hasProfile(path, name string) bool {
	if name == "" {
		return true
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	_, ok, err := config.LookupKey(data, []string{"broker", "profiles", name})
	return ok && err == nil
}

// profiles are those of a config as the broker knows them.
func profiles(cfg *config.Config) map[string]policy.Profile {
	all := make(map[string]policy.Profile)
	for name, p := range cfg.Broker.Profiles {
		all[name] = known(name, p)
	}
	return all
}

func known(name string, p config.Profile) policy.Profile {
	return policy.Profile{Name: name, Servers: p.Servers, Allow: p.Allow, Deny: p.Deny, ReadOnly: p.ReadOnly}
}

// httpTokens are those of a config, with what they are good for.
func httpTokens(cfg *config.Config) (values map[string]string, limits map[string]broker.TokenLimits, err error) {
	values, limits = make(map[string]string), make(map[string]broker.TokenLimits)
	for _, name := range slices.Sorted(maps.Keys(cfg.Broker.HTTP.Tokens)) {
		t := cfg.Broker.HTTP.Tokens[name]
		if values[name], err = expand(t.Value); err != nil {
			return nil, nil, usage("http token of %q: %w", name, err)
		}
		if t.Profile != "" || t.Team != "" || !t.Expires.IsZero() {
			limits[name] = broker.TokenLimits{Profile: t.Profile, Team: t.Team, Expires: t.Expires}
		}
	}
	return values, limits, nil
}

// signIn is how people sign in, nil if the config says nothing of it.
func signIn(c config.SignIn) (*broker.SignIn, error) {
	if c.Issuer == "" {
		return nil, nil
	}
	v, err := bearer.New(bearer.Options{Issuer: c.Issuer, Resource: c.Resource, User: c.User, ProfileClaim: c.ProfileClaim, Profiles: c.Profiles, TeamClaim: c.TeamClaim})
	if err != nil {
		return nil, usage("http.signIn: %w", err)
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

// ownerOf finds the client of a token that is good for more than a profile.
func ownerOf(values map[string]string, limits map[string]broker.TokenLimits) func(map[string]string, string) string {
	return func(among map[string]string, token string) string {
		name := surface.TokenOwner(among, token)
		if l := limits[name]; among[name] == values[name] && (l.Profile != "" || l.Expired()) {
			return ""
		}
		return name
	}
}

// problems are what the config says that has no effect.
func (s *session) problems() []string {
	return append(s.config.Broker.UnknownProfiles(), s.root.Problems()...)
}
