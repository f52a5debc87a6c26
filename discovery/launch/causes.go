package launch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// npmReport returns the error code of npm's report and the line with the cause: the
// first error in it, or else the first informative line.
func npmReport(lines []string) string {
	code, first, failed, call, path := "", "", "", "", ""
	var more []string
	for _, line := range lines {
		rest, ok := npmLine(line)
		if !ok {
			continue
		}
		if word, ok := strings.CutPrefix(rest, "code "); ok && code == "" && npmCodeWord.MatchString(word) {
			code = word
			continue
		}
		if strings.HasPrefix(rest, "notsup Required") || strings.HasPrefix(rest, "notsup Actual:") {
			more = append(more, strings.Join(strings.Fields(rest[len("notsup "):]), " "))
			continue
		}
		if word, ok := strings.CutPrefix(rest, "syscall "); ok {
			call = word
		}
		if word, ok := strings.CutPrefix(rest, "path "); ok {
			path = word
		}
		for _, prefix := range []string{"404 ", "notarget ", "network ", "engine ", "notsup ", "enoent ", "eresolve "} {
			if code != "" {
				rest = strings.TrimPrefix(rest, prefix)
			}
		}
		rest = strings.TrimSpace(rest)
		switch {
		case npmEmpty.MatchString(rest):
		case failed == "" && strings.Contains(rest, "rror: ") || npmGist.MatchString(rest):
			failed = cmp.Or(failed, rest)
		default:
			first = cmp.Or(first, rest)
		}
	}
	text := strings.Join(append([]string{cmp.Or(failed, first)}, more...), "; ")
	if call != "" && path != "" && !strings.Contains(text, path) {
		text = call + " " + path + ": " + text
	}
	switch {
	case text == "" && code == "":
		return ""
	case text == "":
		return "npm error " + code
	case code == "" || strings.Contains(text, code):
		return "npm error " + text
	}
	return "npm error " + code + ": " + text
}

var (
	npmCodeWord = lazyregexp.New(`^E[A-Z0-9_]+$`)
	npmGist     = lazyregexp.New(`^Not compatible with your version of node`)
	// npmEmpty matches lines of npm's report that name no cause.
	npmEmpty = lazyregexp.New(`(?i)^((code|syscall|errno|enoent|signal|command|path|dest|cwd|stack|404|network|notarget|notsup|engine|eresolve)( \S+)?|(path|dest|cwd|command) .*|Unsupported engine|A complete log of this run.*)?$`)
)

// npmLine returns the message in a line of npm's report on a failure.
func npmLine(line string) (rest string, ok bool) {
	for _, prefix := range []string{"npm error", "npm ERR!"} { // npm 9 and older write the latter
		if rest, ok = strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// npmHint returns the advice for an error of npm.
func npmHint(cause string) string {
	for _, h := range []struct{ codes, hint string }{
		{"E404", "check the name of the package; a private one needs its registry and a sign-in in .npmrc"},
		{"ETARGET", "check the version: npm view PACKAGE versions lists them"},
		{"E401 E403 ENEEDAUTH", "sign in to the registry, or correct the token in .npmrc"},
		{"EACCES EPERM EROFS", "make the folder that it names writable for your user"},
		{"ENOSPC", "free some disk space"},
		{"ENOTFOUND ECONNREFUSED ECONNRESET ETIMEDOUT EAI_AGAIN ENETUNREACH ERR_SOCKET_TIMEOUT", "check the network, and npm's settings registry and proxy"},
		{"EBADENGINE", "install the required Node.js, or pin an older version of the package: broker servers pin"},
		{"EBADPLATFORM", "the package does not support this system"},
		{"EINTEGRITY", "empty npm's cache: npm cache clean --force"},
	} {
		for code := range strings.FieldsSeq(h.codes) {
			if strings.Contains(cause, code) {
				return h.hint
			}
		}
	}
	return ""
}

// boxed returns the message of a report with parts drawn as a tree, as uv and pnpm
// print it.
func boxed(lines []string) string {
	for i, line := range lines {
		head := boxHead.FindStringSubmatch(line)
		if head == nil || i+1 == len(lines) {
			continue
		}
		text, begun := head[1], false
		for _, l := range lines[i+1 : min(len(lines), i+12)] {
			if arm := boxArm.FindStringSubmatch(l); arm != nil {
				text, begun = strings.TrimSuffix(text, ":")+": "+arm[1], true
				continue
			}
			l = strings.TrimLeft(strings.TrimSpace(l), "│ ")
			if l == "" || strings.HasPrefix(l, "hint: ") || strings.HasPrefix(l, "help: ") {
				break
			}
			text = together([]string{text, l})
		}
		if begun {
			return text
		}
	}
	return oldPNPM(lines)
}

// oldPNPM matches what pnpm before version 11 reports.
var oldPNPM = firstOf(`^\s*\x{2009}?ERR_PNPM_\w+\x{2009}?\s+\S`)

var (
	boxHead = lazyregexp.New(`^\s*[×x✗] (\S.*)$`)
	boxArm  = lazyregexp.New("^\\s*(?:╰─▶|├─▶|╰─>|`->) (\\S.*)$")
)

// wantsNode returns the complaint of a program or package about the version of Node.js.
func wantsNode(lines []string) string {
	if said := joined(`(?i)^(error: ?)?.{0,60}\b(you are (running|using) node|requires? node(\.js)? ?(v|version|>|\d)|node(\.js)? (version )?v?\d[\d.]*\+? (or (later|higher|newer|above) )?is required|unsupported node(\.js)? version|unsupported engine:)`, 0, 1)(lines); said != "" {
		return said
	}
	want := badEngine(lines)
	if want == "" {
		return ""
	}
	if failed := nodeError(lines); failed != "" && versionTrouble.MatchString(failed) {
		return want + ": " + failed
	}
	return ""
}

// badEngine returns npm's warning of a package that requires another Node.js.
func badEngine(lines []string) string {
	parts := map[string]string{}
	for _, line := range lines {
		if m := engineLine.FindStringSubmatch(line); m != nil && parts[m[1]] == "" {
			parts[m[1]] = m[2]
		}
	}
	if parts["required"] == "" {
		return ""
	}
	return cmp.Or(parts["package"], "a package") + " needs Node.js " + parts["required"]
}

var engineLine = lazyregexp.New(`^npm (?:warn|WARN) EBADENGINE\s+(package|required):.*'([^']+)'`)

// versionTrouble matches errors of scripts that run in an unsupported version of
// Node.js.
var versionTrouble = lazyregexp.New(`SyntaxError|ReferenceError|ERR_REQUIRE|ERR_UNSUPPORTED|ERR_UNKNOWN|is not a function|does not provide an export|is not defined`)

// nodeError returns the last error with a stack trace at the left margin, as Node.js,
// Bun and .NET print it, with its cause.
func nodeError(lines []string) string {
	for f := len(lines) - 1; f > 0; f-- {
		if !nodeFrame.MatchString(lines[f]) || nodeFrame.MatchString(lines[f-1]) {
			continue
		}
		for i := f - 1; i >= max(0, f-8); i-- {
			if nodeFrame.MatchString(lines[i]) {
				break // another stack
			}
			if !nodeMessage.MatchString(lines[i]) {
				continue
			}
			var said []string
			for _, l := range lines[i:min(f, i+4)] {
				if len(said) > 0 && notMessage.MatchString(l) {
					break
				}
				said = append(said, l)
				if strings.HasPrefix(l, "error: ") { // Deno and Bun show the code next
					break
				}
			}
			return nodeText(together(said), lines[f:])
		}
	}
	return ""
}

// nodeText completes the text of an error by the lines after it.
func nodeText(text string, rest []string) string {
	if m := rejected.FindStringSubmatch(text); m != nil {
		text = "unhandled rejection: " + m[1]
	}
	text = strings.TrimSuffix(text, " Tried:")
	for _, l := range rest {
		if _, why, ok := strings.Cut(l, "[cause]: "); ok && !strings.Contains(text, why) {
			text += "; cause: " + strings.TrimSuffix(strings.TrimSpace(why), " {")
			break
		}
	}
	for _, l := range rest {
		if version, ok := strings.CutPrefix(l, "Node.js v"); ok && versionTrouble.MatchString(text) {
			text += ", in Node.js " + version
		}
	}
	return text
}

var (
	nodeFrame   = lazyregexp.New(`^\s+(at \S|\.\.\. \d+ lines matching)`)
	nodeMessage = lazyregexp.New(`^(\S.*?\b)?\w*(Error|error|Exception|Rejection)( \[\w+\])?(:|$)`)
	notMessage  = lazyregexp.New(`^(Require stack:|- | → )`)
	rejected    = lazyregexp.New(`The promise rejected with the reason "(.*?)"\.?$`)
)

// nodeHint returns the advice for an error of a script.
func nodeHint(cause string) string {
	if versionTrouble.MatchString(cause) {
		return "it may need another Node.js (node --version), or another version of the package"
	}
	return variableHint(cause)
}

// javaError returns the error that ended a Java program, with its deepest cause.
func javaError(lines []string) string {
	text := firstOf(`^Exception in thread "`, `^Error: (Unable to access jarfile|Could not find or load main class|A JNI error|LinkageError)`, `UnsupportedClassVersionError`)(lines)
	if text == "" {
		return ""
	}
	if cause := lastOf(`^Caused by: `)(lines); cause != "" {
		text += "; caused by: " + cause[len("Caused by: "):]
	}
	return text
}

// pythonError returns the exception that ended a Python program: the last line of its
// last traceback, with the lines that belong to it.
func pythonError(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		switch line := lines[i]; {
		case strings.Contains(line, "Exception Group Traceback (most recent call last)"):
			if leaf := firstOf(`^[ |]+\| {1,}(\w+\.)*\w*(Error|Exception|Exit)(: |$)`)(lines[i:]); leaf != "" {
				return strings.TrimLeft(leaf, "| ")
			}
		case strings.Contains(line, "Traceback (most recent call last)") && !strings.HasPrefix(strings.TrimSpace(line), "|"):
			if said := exception(lines[i], lines[i+1:]); said != "" {
				return said
			}
		}
	}
	if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, `  File "`) }) {
		if said := lastOf(`^(SyntaxError|IndentationError|TabError): `)(lines); said != "" {
			return said
		}
	}
	return firstOf(`python[\d.]*(\.exe)?: (No module named|can't open file|Error while finding module|can't find '__main__')`)(lines)
}

// exception returns the message after the frames of a traceback.
func exception(title string, lines []string) string {
	margin := len(title) - len(strings.TrimLeft(title, " "))
	if !strings.HasPrefix(strings.TrimSpace(title), "Traceback") { // in a box, or after a log's time
		margin = 0
	}
	environ := false
	for i, line := range lines {
		environ = environ || strings.Contains(line, "environ")
		if pythonFrame.MatchString(line[min(margin, len(line)):]) {
			continue
		}
		said := []string{line}
		for _, l := range lines[i+1 : min(len(lines), i+4)] {
			if pythonEnd.MatchString(l) {
				break
			}
			said = append(said, l)
		}
		text := together(said)
		if name, ok := strings.CutPrefix(text, "KeyError: "); ok && (environ || slices.ContainsFunc(lines[:i], func(l string) bool { return strings.Contains(l, "<frozen os>") })) {
			text = "KeyError: the environment variable " + name + " is not set"
		}
		return text
	}
	return ""
}

var (
	pythonFrame = lazyregexp.New(`^\s|^[│┃╭╰╮╯|+]|^$`)
	pythonEnd   = lazyregexp.New(`^\s*(For further information|Traceback|During handling|The above|\[end of output\]|note: |hint: |\[notice\]|INFO|DEBUG|WARN|\d{4}-\d\d-\d\d|npm )|^sys:1`)
)

// pipError returns the error of pip or pipx.
func pipError(lines []string) string {
	for i, line := range lines {
		if !strings.HasPrefix(line, "Some possibly relevant errors from pip install:") {
			continue
		}
		for _, l := range lines[i+1:] { // the first is the wrapper
			if l = strings.TrimSpace(l); strings.Contains(strings.ToLower(l), "error") && l != "error: subprocess-exited-with-error" {
				return l
			}
		}
	}
	return firstOf(`^ERROR: (Could not|No matching|Package .* requires|Cannot install|Failed|Invalid|Ignored|Could not install|HTTP error|THESE PACKAGES)`)(lines)
}

// programError returns the last message that begins with "error:", as uv, Bun, Deno and
// programs in Rust, Python and Go print the error that ends them, with its cause.
func programError(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if !errorLine.MatchString(lines[i]) {
			continue
		}
		text := strings.TrimSpace(lines[i])
		var more []string
		causes := []string{text}
		for _, l := range lines[i+1:] {
			if why, ok := strings.CutPrefix(strings.TrimSpace(l), "Caused by: "); ok {
				causes = append(causes, why)
			} else if strings.HasSuffix(text, ":") && strings.HasPrefix(l, "  ") && len(more) < 3 {
				more = append(more, l)
			}
		}
		return together(append([]string{strings.Join(causes, ": ")}, more...))
	}
	return ""
}

var errorLine = lazyregexp.New(`^(error|Error|ERROR|fatal|Fatal|FATAL|Fatal error|Fatal Error)(\[\w+\])?: \S`)

// missingVariable returns the last line that asks for an environment variable.
func missingVariable(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		line := lines[i]
		if variableName.MatchString(line) && demand.MatchString(line) && !harmless.MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

var (
	variableName = lazyregexp.New(`\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b`)
	demand       = lazyregexp.New(`(?i)\b(required|requires|not set|unset|missing|must|please (set|provide|specify)|not provided|undefined|not (found|defined|configured)|need|needs|no|set the|cannot be empty|is empty)\b`)
	harmless     = lazyregexp.New(`(?i)\b(warn|warning|optional|defaults?|keyless|fall(ing)? back|continuing|skipping|disabled|using|deprecated)\b`)
)

// variableHint names the variable that a cause asks for.
func variableHint(cause string) string {
	if name := variableName.FindString(cause); name != "" && demand.MatchString(cause) && npmCodeWord.FindString(name) == "" {
		return "set " + name + ` under "env" of the server`
	}
	if credential.MatchString(cause) {
		return settingsHint
	}
	return ""
}

const settingsHint = `the page of the server says what it needs in "args" and "env"`

const credentialText = `(?i)\b(api[ _-]?key|token|credentials?|password)\b.*\b(is required|are required|missing|not (set|found|provided|configured))`

var credential = lazyregexp.New(credentialText)
