package app

import (
	"os"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/policy"
)

// ProfileVariable names the profile of a process where no flag does.
const ProfileVariable = "BROKER_PROFILE"

// HasProfile reports whether the file of a config has a profile, without reading
// the rest of it. An empty name is that of no profile, which every config has.
func HasProfile(path, name string) bool {
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

// policyProfiles returns the profiles of a config as the broker knows them.
func policyProfiles(cfg *config.Config) map[string]policy.Profile {
	all := make(map[string]policy.Profile)
	for name, p := range cfg.Broker.Profiles {
		all[name] = profileOf(name, p)
	}
	return all
}

// profileOf returns a profile of a config as the broker knows it.
func profileOf(name string, p config.Profile) policy.Profile {
	return policy.Profile{Name: name, Servers: p.Servers, Allow: p.Allow, Deny: p.Deny, ReadOnly: p.ReadOnly}
}
