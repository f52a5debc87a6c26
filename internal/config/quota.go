package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/policy"
)

// A Quota limits how many calls or executions there may be in a time.
type Quota struct {
	// Per selects what is counted separately, any of "user", "team", "server" and "tool";
	// default everything is counted together.
	Per []string `name:"per" read:"dimension" reload:"live"`
	// Tools are the tools whose calls count, such as "github" or "github.create_*"; default
	// all.
	Tools []string `name:"tools" read:"quotaTools" reload:"live"`
	// Calls is the number of calls of tools that may be sent.
	Calls int `name:"calls" most:"1000000000" reload:"live"`
	// Executions is the number of scripts that may run.
	Executions int `name:"executions" most:"1000000000" reload:"live"`
	// Every is the period of that number, from "1s" to "744h", 31 days.
	Every time.Duration `name:"every" reload:"live"`
	// Burst is the number that can come at once; default all of them.
	Burst int `name:"burst" most:"1000000000" reload:"live"`
	// Where is the place in the file, and Profile the profile of the clients; empty
	// means all.
	Where, Profile string
}

// The bounds of a quota.
const (
	minEvery = time.Second
	maxEvery = 31 * 24 * time.Hour
	// maxQuotas bounds the quotas that are checked on each call.
	maxQuotas = 100
)

// quotas reads a list of quotas. Those of a profile are added to the others.
func (c *collector) quotas(where, profile string, to *[]Quota) field {
	return func(v hujson.Value) {
		arr, ok := v.Value.(*hujson.Array)
		if !ok {
			c.wrongType(v, where, "a list of quotas, [{ … }]")
			return
		}
		for _, e := range arr.Elements {
			q := Quota{Profile: profile}
			before := len(c.mistakes) + c.more
			c.quota(e, "a quota of "+where, &q)
			if len(c.mistakes)+c.more > before {
				continue
			}
			if i := slices.IndexFunc(*to, q.same); i >= 0 {
				c.fail(e.StartOffset, "%s counts the same as that at %s: leave one of them out", where, (*to)[i].Where)
				continue
			}
			if len(*to) == maxQuotas {
				c.fail(e.StartOffset, "%s: there are more than %d quotas", where, maxQuotas)
				return
			}
			*to = append(*to, q)
		}
	}
}

func (c *collector) quota(v hujson.Value, where string, q *Quota) {
	of := func(key string) string { return quote(key) + " of " + where }
	line, column := c.position(v.StartOffset)
	q.Where = fmt.Sprintf("%s:%d:%d", c.path, line, column)
	seen := c.object(v, where, c.settings(q, of, nil))
	has := func(key string) bool { _, ok := seen[key]; return ok }
	amount := max(q.Calls, q.Executions)
	switch {
	case v.Value.Kind() != '{':
	case has("calls") == has("executions"):
		c.fail(v.StartOffset, `%s needs "calls" or "executions", one of them: {"per": "user", "calls": 1000, "every": "1h"}`, where)
	case !has("every"):
		c.fail(v.StartOffset, `%s needs "every", the time that its number is for, such as "1h"`, where)
	case q.Every != 0 && (q.Every < minEvery || q.Every > maxEvery):
		c.fail(seen["every"], `%s is %s: from "1s" to "744h", 31 days`, of("every"), q.Every)
	case q.Burst > amount && amount > 0:
		c.fail(seen["burst"], `%s is %d, more than the %d in all of "every": leave it out`, of("burst"), q.Burst, amount)
	case has("executions") && (has("tools") || slices.Contains(q.Per, "server") || slices.Contains(q.Per, "tool")):
		c.fail(v.StartOffset, `%s counts executions, which are of no server or tool: use "calls"`, where)
	}
	slices.Sort(q.Per)
	if n := len(q.Per); n != len(slices.Compact(slices.Clone(q.Per))) {
		c.fail(seen["per"], "%s has a word twice", of("per"))
	}
	if q.Burst == 0 {
		q.Burst = amount
	}
}

// dimension reads a dimension of a quota.
func (c *collector) dimension(where string, to *string) field {
	return c.choice("word in "+where, to, "user", "team", "server", "tool")
}

// quotaTools reads a pattern of tools, and records its offset for a check when the servers are
// known.
func (c *collector) quotaTools(where string, to *string) field {
	read := c.toolPattern(where, to)
	return func(v hujson.Value) {
		before := len(c.mistakes) + c.more
		if read(v); len(c.mistakes)+c.more == before {
			c.quotaAt = append(c.quotaAt, located{v.StartOffset, *to})
		}
	}
}

// A located text is a text with its offset in the file.
type located struct {
	off  int
	text string
}

// checkQuotas rejects tools of unknown servers. Servers of plugins, which have a colon
// in their names, are not in the file.
func (c *collector) checkQuotas(cfg *Config) {
	names := make([]string, len(cfg.Servers))
	for i, s := range cfg.Servers {
		names[i] = s.Name
	}
	for _, p := range c.quotaAt {
		patterns, err := policy.NewPatterns([]string{p.text})
		if err != nil || strings.Contains(p.text, ":") || slices.ContainsFunc(names, patterns.MatchServer) {
			continue
		}
		server, _, _ := strings.Cut(strings.ReplaceAll(p.text, "__", "."), ".")
		c.fail(p.off, "the tools of a quota: no server is called %s%s", quote(server), didYouMean(server, names))
	}
}

// same reports whether two quotas would use the same buckets.
func (q Quota) same(o Quota) bool {
	return slices.Equal(q.Per, o.Per) && slices.Equal(q.Tools, o.Tools) && q.Every == o.Every && q.Profile == o.Profile && (q.Calls > 0) == (o.Calls > 0)
}
