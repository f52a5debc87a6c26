// Package skills reads Agent Skills (agentskills.io): folders whose SKILL.md
// says in a YAML header what the skill is for and in its body, in Markdown, how
// it is done.
//
// A [Doc] is one SKILL.md, judged by one table of rules in three ways: as the
// standard does, as a catalogue that wants to load what it can, and as an
// installer that takes nothing dubious. A [Registry] finds the skills of many
// folders, takes those that are defined in Go beside them, and answers what a
// model may ask: which skills there are, the text of one, its files, its tools.
//
// A skill is untrusted input. Every file is read through an
// os.Root, so no name and no link leads out of the skill's own folder; files
// are bounded; YAML is read as nodes, so nothing in it becomes a type, and
// anchors are refused, since they can grow without end. No text that is made
// for a model holds a path of the host.
//
// A [Source] is an MCP server that serves skills. What it lists is judged by the
// same rules, and a file that is fetched from it is used only if it is what was
// listed: size, digest and header. Its skills are called server:skill and never
// take the name of another.
//
// The package runs no code of skills that are read from files.
package skills
