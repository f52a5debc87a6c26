// Package policies is what a person does with a policy: change a rule, explain a decision,
// check the rules against the tools, test them with scenarios, replay what was recorded
// under another policy, and propose one.
package policies
