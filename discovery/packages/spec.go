package packages

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// ErrNotPlain means that a command runs unchanged.
var ErrNotPlain = errors.New("runs as it is written")

func notPlain(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNotPlain, fmt.Sprintf(format, args...))
}

// A Spec is a package that a command asks a package runner to run.
type Spec struct {
	Runner  string   // "npx", also for npm exec, or "uvx", also for uv tool run
	Name    string   // as the registry has it; for uvx perhaps with [extras]
	Version string   // as written: a number, a range or a tag; "" means the newest
	Program string   // which of the package's; "" means the one that it is named for
	Args    []string // of the program

	program string // the package runner
	word    int    // of the command's arguments, which names the package
}

// Exact reports whether s names one version.
func (s Spec) Exact() bool {
	if s.Runner == "npx" {
		return npmNumber.MatchString(s.Version)
	}
	return pythonNumber.MatchString(s.Version)
}

var (
	npmName      = lazyregexp.New(`^(@[A-Za-z0-9~-][\w.~-]*/)?[A-Za-z0-9~-][\w.~-]*$`)
	npmNumber    = lazyregexp.New(`^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$`)
	npmVersion   = lazyregexp.New(`^[0-9A-Za-z~^*][0-9A-Za-z.*+-]*$`) // a number, a tag, or a range in one word
	pythonName   = lazyregexp.New(`^[A-Za-z0-9][\w.-]*(\[[\w.,-]+\])?$`)
	pythonNumber = lazyregexp.New(`^\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)*$`)
)

// maxName bounds a name, which becomes the name of a folder.
const maxName = 150

// Parse parses a command. It returns ErrNotPlain, with the reason, for a command that
// is not plain.
func Parse(program string, args []string) (Spec, error) {
	name := strings.ToLower(filepath.Base(program))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".cmd"), ".exe")
	skipped := 0
	if name == "cmd" && len(args) > 1 && strings.EqualFold(args[0], "/c") { // as configurations for Windows have it
		if slices.ContainsFunc(args, func(a string) bool { return strings.ContainsAny(a, `%^&|<>"!`) }) {
			return Spec{}, notPlain("cmd reads its arguments")
		}
		program, name, skipped = args[1], strings.TrimSuffix(strings.ToLower(args[1]), ".cmd"), 2
	}
	name, verbs := asRunner(name, args[skipped:])
	skipped += verbs
	var s Spec
	var err error
	switch name {
	case "npx", npmExec:
		names := []string{"--package", "-p"}
		if name == npmExec {
			names = names[:1] // -p is another option there
		}
		s, err = readRunner(args[skipped:], []string{"-y", "--yes"}, names)
		if err == nil && name == npmExec {
			name, err = "npx", s.beforeDashes(args[skipped:])
		}
		if err == nil {
			err = s.readNPM()
		}
	case "uvx":
		s, err = readRunner(args[skipped:], nil, []string{"--from"})
		if err == nil {
			err = s.readPython()
		}
	default:
		return Spec{}, notPlain("neither npx nor uvx starts it")
	}
	if err != nil {
		return Spec{}, err
	}
	s.Runner, s.program, s.word = name, program, s.word+skipped
	return s, nil
}

// readRunner reads the arguments of a package runner. Of its options it knows
// those that change nothing, and those that name the package. Name is the whole
// word yet.
func readRunner(args, ignored, names []string) (Spec, error) {
	s := Spec{word: -1}
	for i := 0; i < len(args); i++ {
		option, value, given := strings.Cut(args[i], "=")
		switch {
		case slices.Contains(ignored, args[i]):
		case slices.Contains(names, option) && s.word >= 0:
			return s, notPlain("it names several packages")
		case slices.Contains(names, option) && given:
			s.word, s.Name = i, value
		case slices.Contains(names, option) && i+1 < len(args):
			i++
			s.word, s.Name = i, args[i]
		case args[i] == "--" && i+1 < len(args):
			i++
			s.rest(args, i)
			return s, nil
		case strings.HasPrefix(args[i], "-"):
			return s, notPlain("%s is an option that only the package runner knows", option)
		default:
			s.rest(args, i)
			return s, nil
		}
	}
	return s, notPlain("it names no package")
}

const npmExec = "npm exec"

// asRunner returns the runner to which a command is equivalent, and the number of
// arguments of its verb.
func asRunner(name string, args []string) (runner string, verbs int) {
	switch {
	case name == "npm" && len(args) > 0 && (args[0] == "exec" || args[0] == "x"):
		return npmExec, 1
	case name == "uv" && len(args) > 1 && args[0] == "tool" && args[1] == "run":
		return "uvx", 2
	}
	return name, 0
}

// beforeDashes removes the "--" from the arguments of the program. Unlike npx, npm
// parses its options up to it.
func (s *Spec) beforeDashes(args []string) error {
	if slices.Contains(args[:len(args)-len(s.Args)], "--") {
		return nil
	}
	end := slices.Index(s.Args, "--")
	if end < 0 {
		end = len(s.Args)
	}
	if i := slices.IndexFunc(s.Args[:end], func(a string) bool { return strings.HasPrefix(a, "-") }); i >= 0 {
		return notPlain("%s is an option of npm", s.Args[i])
	}
	s.Args = slices.Concat(s.Args[:end], s.Args[min(end+1, len(s.Args)):])
	return nil
}

// rest is what follows the options.
func (s *Spec) rest(args []string, i int) {
	if s.word >= 0 {
		s.Program = args[i]
	} else {
		s.word, s.Name = i, args[i]
	}
	s.Args = args[i+1:]
}

// readNPM parts name and version.
func (s *Spec) readNPM() error {
	if i := strings.LastIndexByte(s.Name, '@'); i > 0 {
		s.Name, s.Version = s.Name[:i], s.Name[i+1:]
		if !npmVersion.MatchString(s.Version) {
			return notPlain("%q is no version or tag in one word", s.Version)
		}
	}
	switch {
	case !npmName.MatchString(s.Name), strings.HasSuffix(s.Name, ".tgz"), strings.HasSuffix(s.Name, ".gz"), len(s.Name)+len(s.Version) > maxName:
		return notPlain("%q is not the name of a package", s.Name)
	case strings.ContainsAny(s.Program, `/\`):
		return notPlain("%q is not the name of a program", s.Program)
	}
	return nil
}

func (s *Spec) readPython() error {
	for _, sep := range []string{"@", "=="} {
		if name, version, ok := strings.Cut(s.Name, sep); ok {
			s.Name, s.Version = name, version
			break
		}
	}
	switch {
	case s.Version == "latest":
		s.Version = ""
	case s.Version != "" && !pythonNumber.MatchString(s.Version):
		return notPlain("%q is no version", s.Version)
	}
	if !pythonName.MatchString(s.Name) || strings.ContainsAny(s.Program, `/\`) || len(s.Name)+len(s.Version) > maxName {
		return notPlain("%q is not the name of a package", s.Name)
	}
	return nil
}

// asked is the package as a package manager is asked for it.
func (s Spec) asked(version string) string {
	switch {
	case version == "":
		return s.Name
	case s.Runner == "npx":
		return s.Name + "@" + version
	}
	return s.Name + "==" + version
}

// Pin returns the arguments of a command that s was read from, asking for this
// version.
func (s Spec) Pin(args []string, version string) []string {
	pinned := slices.Clone(args)
	option, _, given := strings.Cut(pinned[s.word], "=")
	pinned[s.word] = s.asked(version)
	if given && strings.HasPrefix(option, "-") {
		pinned[s.word] = option + "=" + s.asked(version)
	}
	if s.Runner == "uvx" && s.Program == "" {
		pinned[s.word] = s.Name + "@" + version // == needs --from
	}
	return pinned
}

// folder is the name of a package as that of a folder.
func (s Spec) folder() string {
	return strings.NewReplacer("/", "+", "[", "+", "]", "", ",", "+").Replace(s.Name)
}
