package packages

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// A runnerKind says how a package runner learns in which folder to start its program.
type runnerKind int

const (
	ofNPM    runnerKind = iota // from its shell
	byScript                   // from a script of ours that it runs in the package's environment
	untold                     // it cannot
)

// A runnerCall is a package runner in a command that would read its working folder.
type runnerCall struct {
	name string
	kind runnerKind
	// word is the index of the runner among the arguments, or -1 for the command
	// itself.
	word int
	// at is the index of the argument that names the program, or of a shell's script.
	at int
	// pkg is the package, if only the argument at names it. program is the program to
	// run, for byScript, or "" if unknown.
	pkg, program string
	// inShell is set for a runner in the script of a shell, which is split in two.
	inShell       bool
	before, after string
}

// A runner describes a program that runs packages. Commands that run code of the
// working folder, such as "npm run", and programs that do not read it, such as uvx, are
// not listed.
type runner struct {
	// verb is the first word, if the program is a package runner only with it.
	verb []string
	kind runnerKind
	// values are options with a value in the next word; flags are options without a
	// value.
	values, flags []string
	// local are options that select code in the working folder.
	local []string
	// named are options that name the package.
	named []string
}

var (
	npmRunner = runner{
		kind: ofNPM, named: []string{"-p", "--package"},
		values: []string{"-p", "--package", "-c", "--call", "--registry", "--cache", "--userconfig", "--loglevel", "--shell", "--node-arg", "-n"},
		local:  []string{"--no-install", "--no", "-w", "--workspace", "--workspaces", "-ws"},
	}
	pnpmRunner = runner{
		kind: byScript, named: []string{"--package"},
		values: []string{"--package", "--registry", "--reporter", "--loglevel", "--allow-build"}, flags: []string{"-s", "--silent", "-y", "--yes"},
	}
	bunRunner = runner{
		kind: byScript, named: []string{"-p", "--package"}, local: []string{"--no-install"},
		values: []string{"-p", "--package"}, flags: []string{"--bun", "-b", "--silent", "--verbose", "-y", "--yes"},
	}
	uvRunner = runner{
		verb: []string{"run"}, kind: byScript, named: []string{"--with"},
		values: []string{"--with", "-w", "-p", "--python", "--index", "--default-index", "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--prerelease",
			"--resolution", "--exclude-newer", "--link-mode", "--cache-dir", "--color", "--config-file", "--index-strategy", "--keyring-provider", "--refresh-package"},
		flags: []string{"-q", "--quiet", "-v", "--verbose", "--isolated", "--no-project", "--no-cache", "-n", "--offline", "--refresh", "-U", "--upgrade", "--no-sync",
			"--frozen", "--no-config", "--managed-python", "--no-managed-python", "--no-progress", "--no-env-file", "--native-tls", "--no-dev"},
		local: []string{"--project", "--directory", "--package", "--active", "-s", "--script", "-m", "--module", "--with-editable", "--with-requirements", "--env-file",
			"--extra", "--all-extras", "--group", "--only-group", "--all-groups", "--all-packages", "--gui-script", "--locked", "--exact"},
	}
)

// runners are the package runners by name, with one entry for each verb.
var runners = map[string][]runner{
	"npx":  {npmRunner},
	"npm":  {withVerb(npmRunner, "exec", "x")},
	"pnpx": {pnpmRunner},
	"pnpm": {withVerb(pnpmRunner, "dlx")},
	"bunx": {bunRunner},
	"bun":  {withVerb(bunRunner, "x")},
	"yarn": {{verb: []string{"dlx"}, kind: untold, named: []string{"-p", "--package"}, values: []string{"-p", "--package"}}},
	"pipx": {{verb: []string{"run"}, kind: untold, named: []string{"--spec"}, values: []string{"--spec", "--python", "--index-url", "-i", "--pip-args"}}},
	"deno": {{verb: []string{"run", "x"}, kind: untold, values: []string{"--config", "-c", "--import-map", "--lock"}}},
	"uv":   {uvRunner},
}

func withVerb(r runner, verb ...string) runner {
	r.verb = verb
	return r
}

// shells run the script after -c, wrappers the command among their arguments.
var (
	shells   = []string{"sh", "bash", "zsh", "dash", "ash", "ksh"}
	wrappers = []string{"env", "nice", "nohup", "cmd", "volta", "mise", "direnv", "corepack", "dotenv", "doppler", "op", "time", "timeout"}
)

// inText matches a package runner at the beginning of a shell command.
var inText = lazyregexp.New(`(^|[;&|(\n]|\b(?:then|do|else)\s)(\s*)((?:exec\s+|command\s+|[A-Za-z_]\w*=\S*\s+)*(?:[^\s'"();&|]*/)?(npx|pnpx|bunx|npm\s+(?:exec|x)|pnpm\s+dlx|yarn\s+dlx|bun\s+x|pipx\s+run)(?:\s+(?:-\S+\s+)*(\S+)|$))`)

// findRunner finds the package runner of a command.
func findRunner(c launch.Command) (runnerCall, bool) {
	name := programName(c.Program)
	if slices.Contains(shells, name) {
		return inShellText(c.Args)
	}
	from := 0
	if slices.Contains(wrappers, name) {
		from = 1 + slices.IndexFunc(c.Args, func(a string) bool { return runners[programName(a)] != nil })
		if from == 0 {
			i := slices.IndexFunc(c.Args, func(a string) bool { return slices.Contains(shells, programName(a)) })
			if i < 0 {
				return runnerCall{}, false
			}
			r, ok := inShellText(c.Args[i+1:])
			r.at += i + 1
			return r, ok
		}
		name = programName(c.Args[from-1])
	}
	for _, r := range runners[name] {
		if call, ok := r.read(c.Args[from:], c.Dir != "", name); ok {
			call.name, call.word = name, from-1
			call.at += from
			return call, true
		}
	}
	return runnerCall{}, false
}

// inShellText finds a package runner in the script of a shell.
func inShellText(args []string) (runnerCall, bool) {
	i := slices.IndexFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.HasSuffix(a, "c")
	})
	if i < 0 || i+1 == len(args) {
		return runnerCall{}, false
	}
	text := args[i+1]
	m := inText.FindStringSubmatchIndex(text)
	if m == nil || m[10] >= 0 && isLocal(text[m[10]:m[11]]) {
		return runnerCall{}, false
	}
	call := runnerCall{name: strings.Fields(text[m[8]:m[9]])[0], at: i + 1, inShell: true, before: text[:m[6]], after: text[m[6]:], kind: untold}
	if call.name == "npx" || call.name == "npm" {
		call.kind = ofNPM
	}
	return call, true
}

// read parses the arguments of a runner. It returns false if they do not name a
// package, or name one in the working folder. inFolder is set if the working folder is
// configured.
func (r runner) read(args []string, inFolder bool, name string) (runnerCall, bool) {
	call := runnerCall{kind: r.kind, at: -1}
	verb, known, named := len(r.verb) == 0, true, ""
	i := 0
	for ; i < len(args) && (!verb || strings.HasPrefix(args[i], "-")); i++ {
		option, value, given := strings.Cut(args[i], "=")
		if args[i] == "--" {
			i++
			break
		}
		if !strings.HasPrefix(option, "-") {
			if verb = slices.Contains(r.verb, args[i]); !verb {
				return call, false
			}
			continue
		}
		if slices.Contains(r.local, option) && (inFolder || name == "uv") {
			return call, false
		}
		takes := !given && slices.Contains(r.values, option)
		known = known && (given || takes || slices.Contains(r.flags, option))
		if takes && i+1 < len(args) {
			i++
			value = args[i]
		}
		if slices.Contains(r.named, option) {
			if isLocal(value) {
				return call, false
			}
			named = value
		}
	}
	if !verb || i < len(args) && isLocal(args[i]) {
		return call, false
	}
	if i == len(args) {
		return call, r.kind == ofNPM // such as npx -c
	}
	call.at = i
	return r.target(call, args[i], named, known, inFolder, name)
}

// target adds the program that the runner runs to call. word is the first word of the
// program.
func (r runner) target(call runnerCall, word, named string, known, inFolder bool, name string) (runnerCall, bool) {
	switch {
	case name == "deno" && !strings.HasPrefix(word, "npm:") && !strings.HasPrefix(word, "jsr:"):
		return call, false
	case name == "uv" && (named == "" || inFolder || strings.HasSuffix(word, ".py") || strings.ContainsAny(word, `/\`) || word == "-"):
		return call, false // it is for a project, or a script
	case !known || r.kind != byScript:
	case strings.HasPrefix(name, "bun") && !inFolder: // older versions have no --package
	case named != "":
		call.program = word
	default:
		spec := Spec{Name: word}
		if spec.readNPM() == nil {
			call.pkg, call.program = word, path.Base(spec.Name)
		}
	}
	return call, true
}

// isLocal reports whether a word names a package in the working folder.
func isLocal(word string) bool {
	word = strings.Trim(word, `'"`)
	for _, prefix := range []string{"./", "../", `.\`, `..\`, "file:.", "link:.", "workspace:"} {
		if strings.HasPrefix(word, prefix) {
			return true
		}
	}
	return word == "." || word == ".."
}

// programName returns the name of a command without folder and extension.
func programName(command string) string {
	base := strings.ToLower(filepath.Base(command))
	for _, ending := range []string{".cmd", ".exe", ".ps1"} {
		base = strings.TrimSuffix(base, ending)
	}
	return base
}
