package launch

import (
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// A Failure is the reason for which a server failed, read from its output. The texts
// are those of foreign programs, which give no other sign of the reason.
type Failure struct {
	// Cause is one line; it is empty if nothing was written.
	Cause string
	// Hint is a step that may help; it may be empty.
	Hint string
	// Known is set if the form of Cause was recognized. Otherwise Cause is the most
	// informative line.
	Known bool
}

// maxCause bounds a cause, in characters.
const maxCause = 300

// Explain finds the reason in the lines that a server wrote to stderr, and in those on
// stdout that are not MCP.
func Explain(stderr, stdout []string) Failure {
	for _, lines := range [][]string{stderr, stdout} {
		for _, r := range rules {
			if cause := strings.TrimRight(r.find(lines), ", "); cause != "" {
				hint := r.hint
				if r.hintOf != nil {
					hint = r.hintOf(cause)
				}
				return Failure{Cause: gate.Cut(gate.Line(cause), maxCause), Hint: hint, Known: true}
			}
		}
	}
	for _, lines := range [][]string{stderr, stdout} {
		if cause := newest(lines); cause != "" {
			return Failure{Cause: gate.Cut(cause, maxCause)}
		}
	}
	return Failure{}
}

// Cause returns the line of a server's stderr that best explains its failure, or "".
func Cause(lines []string) string { return Explain(lines, nil).Cause }

// A rule recognizes one form of a failure.
type rule struct {
	find   func(lines []string) string // the cause, or ""
	hint   string
	hintOf func(cause string) string // replaces hint
}

// rules are tried in this order. Reports of package managers and loaders come first,
// since they are certain; complaints about settings may be warnings.
var rules = []rule{
	{find: npmReport, hintOf: npmHint},
	{find: boxed, hint: "check the package's name and version, and the network"},
	{find: firstOf(`error while loading shared libraries: `, `Library not loaded: `, `symbol lookup error: `, `cannot open shared object file`, `Shared object "\S+" not found`,
		`Error loading shared library `), hint: "install the library that it names"},
	{find: firstOf("version [`'](GLIBC|GLIBCXX|CXXABI|MUSL)\\S* not found"), hint: "the program was built for a newer system: use an older version of it, or a container"},
	{find: joined(`was compiled against a different Node\.js version`, -1, 2), hint: "its package was installed with another Node.js: install it again, or start it with that one"},
	{find: firstOf(`Could not locate the bindings file`, `No native build was found for`, `invalid ELF header`, `wrong ELF class`, `[Ee]xec format error`, `Bad CPU type in executable`),
		hint: "its package has no program for this system: install it again, or use another version"},
	{find: wantsNode, hint: "install the required Node.js, or pin a version of the package that supports this one: broker servers pin"},
	{find: pythonError, hintOf: variableHint},
	{find: javaError},
	{find: nodeError, hintOf: nodeHint},
	{find: firstOf(`(?i)Cannot connect to the (Docker|Podman) daemon`, `(?i)permission denied while trying to connect to the Docker`, `error during connect: .*docker`),
		hint: "start Docker, and check that your user may use it"},
	{find: firstOf(`pull access denied for`, `manifest unknown`, `manifest for \S+ not found`, `no such image`, `(?i)error response from daemon: .*(denied|unauthorized)`),
		hint: "check the name of the image, or sign in to its registry"},
	{find: firstOf(`^(docker|podman): .`, `^Error response from daemon: `)},
	{find: firstOf(`^panic: `, `^fatal error: `, `^FATAL ERROR: `, `^Fatal Python error: `, `^Segmentation fault`, `^Illegal instruction`, `^Bus error`, `Assertion .* failed`, `\(core dumped\)$`)},
	{find: joined(`^terminate called after throwing`, 0, 1)},
	{find: joined(`^thread '.*' (\(\d+\) )?panicked at `, 0, 1)},
	{find: firstOf(`^\S*sh: (line )?(\d+: )?.+: (command )?not found$`, `^\S*sh: command not found: `, `^(\S*/)?env: .+: No such file or directory$`, `executable file not found in`,
		`is not recognized as an internal or external command`, `spawn \S+ ENOENT`, `bad interpreter: `, `cannot execute: required file not found`),
		hint: "install the program, or give its full path (a broker started from a desktop may have a shorter PATH than your shell)"},
	{find: firstOf(`^\S*sh: .*: Permission denied$`), hint: "make the file executable"},
	{find: pipError, hint: "check the package's name and version, and the version of Python"},
	{find: lastOf(`^\S+: error: `, `(?i)^(\w+: )?(error: )?(missing required (argument|option|flag|parameter)|required (option|flag|argument)|unknown (option|argument|flag|command|shorthand flag)|unrecognized (option|argument)|not enough (non-option )?arguments|too (few|many) (positional )?arguments|flag provided but not defined|flag needs an argument|bad option)`),
		hint: `correct "args" of the server`},
	{find: programError, hintOf: variableHint},
	{find: missingVariable, hintOf: variableHint},
	{find: lastOf(`(?i)^please (provide|specify|set|supply|configure) `, credentialText), hint: settingsHint},
	{find: joined(`^[Uu](sage|SAGE):\s*$`, 0, 1), hint: `correct "args" of the server`},
	{find: firstOf(`(?i)^usage:\s*\S`), hint: `correct "args" of the server`},
}

// firstOf returns a search for the first line that matches one of the patterns.
func firstOf(patterns ...string) func([]string) string {
	re := lazyregexp.New(strings.Join(patterns, "|"))
	return func(lines []string) string {
		for _, line := range lines {
			if re.MatchString(line) {
				return strings.TrimSpace(line)
			}
		}
		return ""
	}
}

// lastOf is firstOf for the last line.
func lastOf(patterns ...string) func([]string) string {
	re := lazyregexp.New(strings.Join(patterns, "|"))
	return func(lines []string) string {
		for i := len(lines) - 1; i >= 0; i-- {
			if re.MatchString(lines[i]) {
				return strings.TrimSpace(lines[i])
			}
		}
		return ""
	}
}

// joined returns a search for the first line that matches, joined with up to behind
// lines after it. If the line continues a sentence, the -before lines before it are
// included.
func joined(pattern string, before, behind int) func([]string) string {
	re := lazyregexp.New(pattern)
	return func(lines []string) string {
		for i, line := range lines {
			if re.MatchString(line) {
				from := i
				if strings.HasPrefix(line, "was ") {
					from = max(0, i+before)
				}
				return together(lines[from:min(len(lines), i+behind+1)])
			}
		}
		return ""
	}
}

// together joins the wrapped lines of one message, up to a blank one.
func together(lines []string) string {
	text := ""
	for _, line := range lines {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "note: "):
			return text
		case text == "", strings.HasSuffix(text, "-"), strings.HasSuffix(text, "/"): // wrapped within a word
			text += line
		default:
			text += " " + line
		}
	}
	return text
}

// newest returns the last of the final twenty lines that mentions an error, or else the
// last line. Stack traces end in frames and braces, and reports in advice.
func newest(lines []string) string {
	last := ""
	for i := len(lines) - 1; i >= 0 && i >= len(lines)-20; i-- {
		line := strings.TrimSpace(lines[i])
		if noise.MatchString(line) {
			continue
		}
		if strings.Contains(strings.ToLower(line), "error") {
			return line
		}
		if last == "" {
			last = line
		}
	}
	return last
}

// noise matches lines that do not explain a failure.
var noise = lazyregexp.New(`(?i)^$|^at |^npm (warn|notice|error|err!)|^[\^~{}\[\](),; |+-]*$|^Node\.js v\d|^Run 'docker run --help'|^For more information|^Try '.*--help|^(Downloading|Downloaded|Installed|Prepared|Resolved|Audited|Building|Built|Updating|Updated) |^note: |^Stack backtrace`)
