package main

import (
	"github.com/mcpbroker/mcpbroker/broker/quota"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/policy"
)

// quotaRules are those of a config, which has checked them.
func quotaRules(cfg *config.Config) []*quota.Rule {
	var rules []*quota.Rule
	for _, q := range cfg.Broker.Quotas {
		r := &quota.Rule{Executions: q.Executions > 0, Names: q.Tools, Profile: q.Profile, Amount: max(q.Calls, q.Executions), Every: q.Every, Burst: q.Burst, Where: q.Where}
		patterns, _ := policy.NewPatterns(q.Tools)
		r.Tools = patterns.Restricting()
		for _, d := range q.Per {
			r.Per = append(r.Per, quota.Dimension(d))
		}
		rules = append(rules, r)
	}
	return rules
}
