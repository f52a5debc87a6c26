package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/policy"
)

// rules reads the policy at an offset, negative if there is none, and the profiles at
// another. It returns nil and reports mistakes of the file.
func (c *collector) rules(start, profiles int) *policy.Rules {
	// What is left out for JSON is blank in it: places stay.
	text, err := hujson.Standardize(append(bytes.Clone(c.data), '\n'))
	if err != nil {
		c.fail(max(start, profiles), "%v", err)
		return nil
	}
	rules, mistakes := policy.ReadRules(policy.Source{File: c.path, Text: text, Start: start, Profiles: profiles})
	for _, m := range mistakes {
		if len(c.mistakes) == maxMistakes {
			c.more++
			continue
		}
		c.mistakes = append(c.mistakes, Mistake{m.Line, m.Column, m.Text})
	}
	return rules
}

// ManagedPath is where the policy of who manages this computer stands, which the
// users of it cannot loosen.
func ManagedPath() string {
	switch runtime.GOOS {
	case "windows":
		dir := os.Getenv("ProgramData")
		if dir == "" {
			dir = `C:\ProgramData`
		}
		return filepath.Join(dir, "broker", "policy.json")
	case "darwin":
		return "/Library/Application Support/broker/policy.json"
	}
	return "/etc/broker/policy.json"
}

// LoadPolicy reads a file that holds a policy and nothing else. Without a file
// the policy is nil; a wrong one is a *Report.
func LoadPolicy(path string) (*policy.Rules, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	return ParsePolicy(path, data)
}

// ParsePolicy reads a policy from data; path names it in messages.
func ParsePolicy(path string, data []byte) (*policy.Rules, error) {
	c := newCollector(bytes.TrimPrefix(data, []byte("\ufeff")))
	c.path = path
	var rules *policy.Rules
	if c.encoding() {
		if v, ok := parseSyntax(c); ok {
			rules = c.rules(v.StartOffset, 0)
		}
	}
	return rules, c.report(path)
}

// Rules are the policy in force: that of the file, or the default one, under the
// managed one.
func (c *Config) Rules() *policy.Rules {
	rules := c.Broker.Policy
	if rules == nil {
		rules = policy.Default()
	}
	if c.Managed != nil {
		rules = rules.Under(c.Managed)
	}
	return rules
}

// addProfiles makes the profiles of the policy profiles like others.
func (b *Broker) addProfiles() {
	if b.Policy == nil {
		return
	}
	all := []string{"*"}
	for name, scope := range b.Policy.Profiles() {
		if _, known := b.Profiles[name]; known || !profileName.MatchString(name) {
			continue
		}
		p := Profile{Servers: scope.Servers, Allow: scope.Allow, Deny: scope.Deny, ReadOnly: scope.ReadOnly}
		if p.Servers == nil {
			p.Servers = all
		}
		if p.Allow == nil {
			p.Allow = all
		}
		if b.Profiles == nil {
			b.Profiles = make(map[string]Profile)
		}
		b.Profiles[name] = p
	}
}
