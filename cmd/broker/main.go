// Command broker is one MCP server in front of many: it connects to the
// servers of a config file, lets a model search their tools, and runs the
// scripts that the model writes in a sandbox. Type "broker help" for the
// commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/broker/typecheck"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

func main() {
	if helped() {
		return
	}
	os.Exit(run())
}

// helped reports whether this process is one of the broker's helpers, and has
// then been that to its end. A sandbox, the guard and the launcher of a compiler
// are this same program, started again: nothing else of it may run there first.
func helped() bool {
	switch {
	case worker.IsChild():
		worker.Main()
	case launch.IsGuard():
		launch.GuardMain()
	case typecheck.IsLauncher():
		typecheck.Launch()
	default:
		return false
	}
	return true
}

// run runs the command line of this process and returns its exit code.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first signal the default is back, so that a second one kills.
	context.AfterFunc(ctx, stop)
	if a, ok := bridgeApp(os.Args[1:]); ok {
		return a.end(nil, a.serveBridge(ctx))
	}
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, protocol: os.Stdout}
	return a.run(ctx, os.Args[1:])
}

// An app is one run of the command line.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	protocol       io.Writer // stdout for MCP, with texts cleaned by the gate

	variables variables // of this process and of a daemon's clients

	configPath string
	stateDir   string
	json       bool
	verbose    bool
	readOnly   bool
	mode       string // overrules the config's
	metrics    string // likewise
	drain      time.Duration
	profile    string // see chosenProfile
	httpAddr   string // where it serves over HTTP; empty elsewhere
	nowhere    bool   // it serves many clients, so its working folder is not a project
	serving    bool   // it goes on, so it hears of other brokers on its database
	whole      bool   // the command is about all that is configured, whatever the profile
	skillsPath string // overrules that of the config
	unruled    bool   // without the policy, to see what it hides
	background bool   // servers that it begins to start go on in a daemon

	asked *terminal  // see person
	line  sync.Mutex // held while the last line of the terminal is replaced, or what comes after it is printed

	warn func(problem string) // reports what in the config has no effect; may be nil

	tokens api.Tokens // describes the tokens in waiting calls; see withRuns
}

// exit codes of the command line. exec has its own for what is wrong with the
// command itself, because a script may end with any of the others.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitServers   = 3
	exitExecUsage = 64
)

const exitCodesHelp = `Exit codes:
  0   success
  1   failed
  2   wrong usage or config
  3   some servers failed
For exec and run, the script's own:
` + execCodesHelp

const execCodesHelp = `  0   success                 13  promise never settles
  1   the script threw        64  wrong usage or config
  2   refused before it ran   124 timeout
  3   waiting for approval    137 memory
                              130 cancelled`

// A codeError ends the program with a code of its own. Its text may be empty
// when everything was said already.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

// A scriptError ends exec with the code of its script, which has said why.
type scriptError struct{ code int }

func (e *scriptError) Error() string { return "" }

// usage is hinted for wrong usage.
func usage(format string, args ...any) error {
	harmless(args)
	return &codeError{exitUsage, ownLines{fmt.Errorf(format, args...)}}
}

func (a *app) run(ctx context.Context, args []string) int {
	stdout, stderr := &screen{w: a.stdout}, &screen{w: a.stderr}
	defer stderr.flush()
	defer stdout.flush()
	a.stdout, a.stderr = stdout, stderr
	if len(args) == 1 && (args[0] == "version" || args[0] == "--version") { // without the other commands
		return a.end(nil, a.printVersion())
	}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	return a.end(cmd, err)
}

// end reports the error of a command, if there is one, and returns its exit code.
func (a *app) end(cmd *cobra.Command, err error) int {
	if err == nil {
		return exitOK
	}
	code := exitFailed
	if s, ok := errors.AsType[*scriptError](err); ok {
		code = s.code
	} else if c, ok := errors.AsType[*codeError](err); ok {
		code = c.code
	} else if _, ok := errors.AsType[*config.Report](err); ok || errors.Is(err, config.ErrNoConfig) {
		code = exitUsage
	}
	if _, ended := errors.AsType[*scriptError](err); code == exitUsage && cmd != nil && (nameOf(cmd) == "exec" || nameOf(cmd) == "run") && !ended {
		code = exitExecUsage
	}
	a.explain(err)
	return code
}

// explain prints an error once. The lines of a config report begin with the
// place of each mistake, where editors look for it.
func (a *app) explain(err error) {
	text := errorLines(err)
	if text == "" {
		return
	}
	if _, ok := errors.AsType[*config.Report](err); !ok {
		text = "broker: " + text
	}
	sayln(a.stderr, text)
}

// errorLines is what an error says: on one line, unless they are the broker's own.
func errorLines(err error) lines {
	switch e := err.(type) {
	case *codeError:
		if e.err == nil {
			return ""
		}
		return errorLines(e.err)
	case ownLines, *config.Report:
		return lines(err.Error())
	}
	if c, ok := errors.AsType[*codeError](err); ok && c.Error() == err.Error() { // wrapped by what passed it on
		return errorLines(c)
	}
	return lines(gate.Terminal(err.Error()))
}

func (a *app) root() *cobra.Command {
	var asked bool // for the version
	root := &cobra.Command{
		Use:           "broker",
		Short:         "One MCP server in front of many: search their tools, run code that calls them",
		Long:          "One MCP server in front of many: search their tools, run code that calls them.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked {
				return a.printVersion()
			}
			if _, exists, err := config.Target(a.configPath); err == nil && !exists && a.person() != nil {
				return a.initialize(cmd.Context(), initFlags{})
			}
			a.printStarting()
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&asked, "version", false, "print the version")
	flags := root.PersistentFlags()
	flags.StringVar(&a.configPath, "config", "", "config file (default ./servers.json, then $XDG_CONFIG_HOME/broker/servers.json)")
	flags.StringVar(&a.stateDir, "state-dir", "", "where the catalogue and the audit log are (default $XDG_STATE_HOME/broker/…)")
	flags.StringVar(&a.profile, "profile", "", "use this profile of the config (default $BROKER_PROFILE)")
	flags.BoolVar(&a.json, "json", false, "print JSON")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log what happens to stderr")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w\nhint: %s", flagError(err), flagHint(cmd, err))
	})
	root.SetHelpCommand(a.helpCommand(root))
	root.AddCommand(
		a.serveCommand(), a.indexCommand(), a.searchCommand(), a.callCommand(), a.toolsCommand(), a.evalCommand(), a.execCommand(), a.runCommand(), a.scriptsCommand(), a.serversCommand(),
		a.tailCommand(), a.topCommand(), a.auditCommand(), a.runsCommand(), a.approvalsCommand(), a.policyCommand(), a.doctorCommand(), a.waitCommand(), a.sandboxCommand(), a.authCommand(), a.initCommand(), a.importCommand(), a.installCommand(), a.uninstallCommand(),
		a.typesCommand(), a.storeCommand(), a.promptCommand(), a.versionCommand(), a.manCommand(),
		a.redactCommand(),
		a.profilesCommand(), a.tokensCommand(), a.projectsCommand(),
		a.skillsCommand(), a.pluginsCommand(), a.pinsCommand(), a.consoleCommand(), a.sandboxdCommand(), a.daemonCommand(), a.serviceCommand(),
	)
	a.addCompletions(root)
	a.fitHelp(root)
	groupCommands(root)
	a.setRootHelp(root)
	return root
}

// unknownCommand names what is nearest to a command that does not exist.
func unknownCommand(cmd *cobra.Command, name string) error {
	if line := showsKnown(cmd, name); line != "" {
		return usage("%s", lines(fmt.Sprintf("unknown command %q\nhint: %s", name, line)))
	}
	return unknownName(name, commandNames(cmd), "broker help lists the commands")
}

// commandNames are the commands below cmd that help lists.
func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

func unknownName(name string, known []string, hint string) error {
	text := fmt.Sprintf("unknown command %q", name)
	if near := nearest.Names(name, known, 2); len(near) > 0 {
		hint = "did you mean \"" + strings.Join(near, `" or "`) + "\"?"
	}
	return usage("%s", lines(text+"\nhint: "+hint))
}

// group is a command that only holds others.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(children...)
	return c
}

// nameOf is what a command is called in messages, which begin with the program's
// name.
func nameOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// noArgs checks that there are no arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no argument, got %q\nhint: %s --help", nameOf(cmd), args[0], cmd.CommandPath())
	}
	return nil
}

func oneArg(what string) cobra.PositionalArgs { return someArgs(1, 1, what) }

// someArgs checks the number of arguments, which what describes; a negative most means
// no limit.
func someArgs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage("%s needs %s\nhint: %s --help", nameOf(cmd), what, cmd.CommandPath())
		case most >= 0 && len(args) > most:
			return usage("%s takes %s, got %q too\nhint: %s --help", nameOf(cmd), what, args[most], cmd.CommandPath())
		}
		return nil
	}
}
