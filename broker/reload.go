package broker

// Reconfigure puts in force what of o can change while clients are connected:
// servers, mode, how long a search waits, time limits, output budget, default language, read-only mode, what
// is learned and noted, type checks, the limits of executions, and skills with
// commands, scripts and workflows. Servers that are configured as before go on
// undisturbed; executions under way keep what they began with. The other options
// are ignored.
func (b *Broker) Reconfigure(o Options) {
	next := *b.options()
	next.Servers, next.Tools, next.ReadOnly, next.Language = o.Servers, o.Tools, o.ReadOnly, o.Language
	next.Unlearned, next.UnnotedReads = o.Unlearned, o.UnnotedReads
	next.Mode, next.AutoThreshold, next.SearchWait = o.Mode, o.AutoThreshold, o.SearchWait
	next.Skills, next.SkillBudget, next.Commands = o.Skills, o.SkillBudget, o.Commands
	next.Scripts, next.SkillsDir, next.EnforceAllowedTools = o.Scripts, o.SkillsDir, o.EnforceAllowedTools
	next.NoForms = o.NoForms
	next.Typecheck, next.TypecheckStrict = o.Typecheck, o.TypecheckStrict
	next.Timeout, next.MaxTimeout, next.MaxOutputChars, next.Limits = o.Timeout, o.MaxTimeout, o.MaxOutputChars, o.Limits
	next.setDefaults()
	b.opts.Store(&next)
	b.pool.Update(next.Servers)
	b.SetNotice("")
	b.takeServerSkills()
	b.lookAtSkills()
	b.changed()
	b.showAll()
}

// SetNotice makes text a note in the answers of list_servers, such as that the
// config file is wrong; empty takes it back.
func (b *Broker) SetNotice(text string) { b.notice.Store(&text) }
