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

// rules reads the policy at an offset, which is negative if there is none, and the profiles at
// another. It returns nil after reporting mistakes of the file.
func (c *collector) rules(start, profiles int) *policy.Rules {
	// Standardize replaces comments by blanks, so positions do not change.
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

// ManagedPath returns the path of the machine-wide policy, which users of the machine cannot
// loosen.
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

// LoadPolicy reads a file that contains only a policy. Without a file it returns nil; for an
// invalid one it returns a *Report.
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

// Rules returns the effective policy: that of the file, or the default one, under the managed one.
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

// addProfiles adds the profiles of the policy to the others.
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
