// Command broker is one MCP server in front of many: it connects to the
// servers of a config file, lets a model search their tools, and runs the
// scripts that the model writes in a sandbox. Type "broker help" for the
// commands.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/broker/typecheck"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/setup"
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
		return a.end(nil, a.client().Serve(ctx, a.In, a.protocol))
	}
	a := &app{IO: cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, protocol: os.Stdout}
	return a.run(ctx, os.Args[1:])
}

// An app is one run of the command line.
type app struct {
	cli.IO
	protocol io.Writer // stdout for MCP, with texts cleaned by the gate

	configPath    string
	stateDir      string
	verbose       bool
	readOnly      bool
	mode          string // overrules the config's
	metrics       string // likewise
	profile       string // see chosenProfile
	httpAddr      string // where it serves over HTTP; empty elsewhere
	ignoreProject bool   // the working folder is not that of a client
	allProfiles   bool   // the command is about everything that is configured, whatever the profile
	skillsPath    string // overrules that of the config
	ignorePolicy  bool   // to see what the policy hides
	background    bool   // servers that it begins to start go on in a daemon

	tokens api.Tokens // describes the tokens in waiting calls; see withRuns
}

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

func (a *app) run(ctx context.Context, args []string) int {
	defer a.Filter()()
	if len(args) == 1 && (args[0] == "version" || args[0] == "--version") { // without the other commands
		return a.end(nil, a.printVersion())
	}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	cmd, err := root.ExecuteContextC(ctx)
	return a.end(cmd, err)
}

// end reports the error of a command, if there is one, and returns its exit code.
func (a *app) end(cmd *cobra.Command, err error) int {
	if err == nil {
		return cli.ExitOK
	}
	err = ownError(err)
	code := cli.ExitFailed
	coded, ok := errors.AsType[*cli.ExitError](err)
	if ok {
		code = coded.Code
	} else if _, ok := errors.AsType[*config.Report](err); ok || errors.Is(err, config.ErrNoConfig) {
		code = cli.ExitUsage
	}
	if code == cli.ExitUsage && cmd != nil && (cli.CommandName(cmd) == "exec" || cli.CommandName(cmd) == "run") && !(ok && coded.Script) {
		code = cli.ExitExecUsage
	}
	a.explain(err)
	return code
}

// explain prints an error once. The lines of a config report begin with the
// place of each mistake, where editors look for it.
func (a *app) explain(err error) {
	text := cli.ErrorLines(err)
	if report, ok := err.(*config.Report); ok {
		text = cli.Lines(report.Error())
	}
	if text == "" {
		return
	}
	if _, ok := errors.AsType[*config.Report](err); !ok {
		text = "broker: " + text
	}
	cli.Fprintln(a.Err, text)
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
			return cli.UnknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked {
				return a.printVersion()
			}
			if _, exists, err := config.Target(a.configPath); err == nil && !exists && a.Person() != nil {
				return a.initialize(cmd.Context(), setup.InitOptions{})
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
	flags.BoolVar(&a.JSON, "json", false, "print JSON")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log what happens to stderr")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Usagef("%w\nhint: %s", cli.FlagError(err), flagHint(cmd, err))
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
	cli.FitHelp(root, a.Out)
	groupCommands(root)
	a.setRootHelp(root)
	return root
}
