package main

import (
	"cmp"
	"os"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
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
	return cli.Usagef("there is no profile %q in %s%s\nhint: broker profiles list", name, cfg.Path, cli.Lines(cfg.Broker.NearProfile(name)))
}

// Problems are what the config says that has no effect.
func (s *App) Problems() []string {
	return append(s.Config.Broker.UnknownProfiles(), s.Root.Problems()...)
}
