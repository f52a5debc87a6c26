package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/typecheck"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// A Check is one thing that doctor looked at.
type Check struct {
	Name string `json:"name"`
	// OK is set if nothing is known to be wrong.
	OK bool `json:"ok"`
	// Unchecked means that this run of doctor did not find out: Detail is what is known
	// from before.
	Unchecked bool   `json:"unchecked,omitempty"`
	Detail    string `json:"detail"`
	Hint      string `json:"hint,omitempty"`
	// Log and Output are what a server wrote to stderr and to stdout instead of an
	// answer.
	Log    []string `json:"log,omitempty"`
	Output []string `json:"stdout,omitempty"`

	recalled bool // Detail is the last listing of a server
}

// A Diagnosis is what "broker doctor --json" prints.
type Diagnosis struct {
	Checks  []Check `json:"checks"`
	Servers []Check `json:"servers"`
	OK      bool    `json:"ok"`
	// Unchecked are the names of checks and servers that were not checked.
	Unchecked []string `json:"unchecked"`
}

// Options say what is examined, and what doctor does beside reading what is known.
type Options struct {
	Servers []string // the servers to examine; all if empty
	Fix     bool     // first move aside npx packages that are only half installed
	Refresh bool     // start every server, and wait until each is listed or has failed
	Begun   time.Time

	Lookup func(name string) (value string, ok bool) // reads the environment
	Expand func(string) (string, error)              // resolves references of the config
}

// doctorTime bounds the checks of a doctor that is not told to wait. Ending what they have
// started takes up to half a second more.
const doctorTime = 2 * time.Second

// Examine checks what a broker is made of, prints each check as it is known, and returns
// the error of the command.
func Examine(ctx context.Context, t *cli.IO, s *application.App, f Options) error {
	for _, n := range f.Servers {
		if s.Config.Server(n) == nil {
			return cli.UnknownServer(s.Config, n, "doctor")
		}
	}
	e := &examination{t: t, session: s, Options: f, waits: f.Refresh || len(f.Servers) > 0}
	looking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !e.waits {
		timer := time.AfterFunc(time.Until(f.Begun.Add(doctorTime)), func() { cancel(errNotWaited) })
		defer timer.Stop()
	}
	done := e.watch(ctx, func() { cancel(errNotWaited) })
	e.look(looking, []look{
		{"config", now(checkConfig(s))},
		{"state", func(ctx context.Context) []Check { return []Check{checkState(ctx, s)} }},
		{"sandbox", func(ctx context.Context) []Check { return checkSandbox(ctx, s) }},
		{"sandbox program", now(checkProgram())},
		{"typecheck", func(ctx context.Context) []Check { return []Check{checkTypes(ctx, s)} }},
		{"project", now(some(checkProject(s))...)},
		{"sandbox layers", func(ctx context.Context) []Check { return checkLayers(ctx, s) }},
		{"scripts of skills", func(ctx context.Context) []Check { return some(checkSkillScripts(ctx, s.Home(s.Config))) }},
		{"npx", func(ctx context.Context) []Check { return checkNPX(ctx, s, f) }},
	})
	done()
	if !e.waits {
		e.recall(ctx)
	}
	e.add(some(checkNames(s))...)
	e.add(some(checkVariables(s))...)
	return e.end(ctx)
}

// now returns a check that is made already.
func now(checks ...Check) func(context.Context) []Check {
	return func(context.Context) []Check { return checks }
}

// some returns c if it says anything.
func some(c Check, on bool) []Check {
	if !on {
		return nil
	}
	return []Check{c}
}

func checkConfig(s *application.App) Check {
	off := application.Disabled(s.Config)
	c := Check{Name: "config", OK: true, Detail: fmt.Sprintf("%s: %s", s.Config.Path, cli.Count(len(s.Config.Servers), "server"))}
	if len(off) > 0 {
		c.Detail += fmt.Sprintf(", %d of them disabled: %s", len(off), gate.Line(strings.Join(off, ", ")))
	}
	if len(s.Config.Servers) == 0 {
		c.Hint = "add servers under \"mcpServers\""
	}
	return c
}

// checkNames looks for what the config says that has no effect.
func checkNames(s *application.App) (Check, bool) {
	c := Check{Name: "names", OK: true, Detail: fmt.Sprintf("%s, %s with changed tools", cli.Count(len(s.Config.Broker.Profiles), "profile"), cli.Count(len(application.ToolOverrides(s.Config)), "server"))}
	if problems := s.Problems(); len(problems) > 0 {
		c.OK, c.Detail, c.Hint = false, strings.Join(problems, "; "), "broker tools list shows what there is"
	}
	return c, !c.OK || len(s.Config.Broker.Profiles)+len(application.ToolOverrides(s.Config)) > 0
}

// checkProject looks at the project of the working directory, if there is one.
func checkProject(s *application.App) (Check, bool) {
	dir, _ := os.Getwd()
	path := application.ProjectPath(dir)
	if path == "" {
		return Check{}, false
	}
	p, err := application.OpenProject(path, s.State.Dir)
	if err != nil {
		return Check{Name: "project", Detail: err.Error(), Hint: "correct the file"}, true
	}
	c := Check{Name: "project", OK: true, Detail: path + ": " + p.Status()}
	if notes := p.Warnings(p.Join(s.Config)); len(notes) > 0 {
		c.Detail = strings.Join(notes, "; ")
	}
	_, known := s.Config.Broker.Profiles[p.Profile]
	c.OK = p.Ignored == nil && (known || p.Profile == "")
	return c, true
}

// checkState writes a file where the broker keeps its state.
func checkState(ctx context.Context, s *application.App) Check {
	where, err := s.State.Describe(ctx)
	if err != nil {
		return Check{Name: "state", Detail: err.Error(), Hint: "\"state\" of the config names the database"}
	}
	c := Check{Name: "state", OK: true, Detail: where}
	f, err := os.CreateTemp(s.State.Dir, "doctor-*")
	if err != nil {
		return Check{Name: "state", Detail: err.Error(), Hint: "--state-dir names another directory"}
	}
	name := f.Name()
	if err := f.Close(); err != nil {
		c.OK, c.Detail = false, err.Error()
	}
	if err := os.Remove(filepath.Clean(name)); err != nil {
		c.OK, c.Detail = false, err.Error()
	}
	return c
}

// trials are small scripts, and what they return.
var trials = map[sandbox.Language]string{
	sandbox.TypeScript: "const n: number = 1; return n + 1",
	sandbox.JavaScript: "return 1 + 1",
	sandbox.Python:     "return 1 + 1",
}

// checkSandbox runs a script in the default language, and in those that run elsewhere.
// A missing Python is only an error if it is the default.
func checkSandbox(ctx context.Context, s *application.App) []Check {
	first := sandbox.Language(s.Config.Broker.WithDefaults().Language)
	checks := []Check{tryLanguage(ctx, s, "sandbox", first)}
	for _, language := range application.AllLanguages {
		if language == first || s.Places.Together(s.Places.Usual(language), s.Places.Usual(first)) {
			continue
		}
		c := tryLanguage(ctx, s, "sandbox of "+string(language), language)
		c.OK = c.OK || language == sandbox.Python && s.Placement.Unavailable(language) != nil
		checks = append(checks, c)
	}
	return checks
}

func tryLanguage(ctx context.Context, s *application.App, name string, language sandbox.Language) Check {
	if err := s.Placement.Unavailable(language); err != nil {
		return Check{Name: name, Detail: "does not run here: " + err.Error()}
	}
	start := time.Now()
	ans := s.Broker.Execute(ctx, broker.ExecuteRequest{Code: trials[language], Language: string(language), Client: "doctor"})
	took := time.Since(start).Round(100 * time.Microsecond)
	if ans.ExitCode != 0 || string(ans.Result) != "2" {
		return Check{Name: name, Detail: fmt.Sprintf("a small script ended with code %d: %s", ans.ExitCode, ans.Diagnostics),
			Hint: "run doctor with --verbose"}
	}
	return Check{Name: name, OK: true, Detail: fmt.Sprintf("%s, a small script took %s", s.Placement.Describe(language), took)}
}

// checkProgram says which program runs scripts in JavaScript and TypeScript.
func checkProgram() Check {
	path, why := worker.Program()
	c := Check{Name: "sandbox program", OK: true, Detail: path}
	if why != nil {
		c.Detail = "broker itself: " + why.Error()
		c.Hint = "for scripts that start in about half the time, build cmd/broker-worker into the broker's directory"
	}
	return c
}

// checkTypes looks for the compiler that scripts are checked with.
func checkTypes(ctx context.Context, s *application.App) Check {
	c := Check{Name: "typecheck", OK: true}
	checker := application.Typechecker(s.Config, slog.New(slog.DiscardHandler))
	if checker == nil {
		c.Detail = "off; arguments are checked all the same"
		return c
	}
	compiler, err := checker.Compiler(ctx)
	if err == nil {
		c.Detail = fmt.Sprintf("TypeScript %s, %s", compiler.Version, compiler.Path)
		return c
	}
	c.OK = !checker.Named() && s.Config.Broker.WithDefaults().Typecheck != "strict"
	c.Detail, c.Hint = err.Error()+": names and arguments are checked, types are not", typecheck.Install
	return c
}

// Unsaid are the lines that are not in text already.
func Unsaid(lines []string, text string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.Contains(text, strings.TrimSpace(line)) })
}
