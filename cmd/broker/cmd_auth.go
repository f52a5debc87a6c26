package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/identity"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
	"github.com/mcpbroker/mcpbroker/internal/setup"
	"github.com/mcpbroker/mcpbroker/state"
)

func authCommand(e *env) *cobra.Command {
	return cli.Group("auth", "Sign in to remote servers, and manage secrets in the keyring",
		authLoginCommand(e), authLogoutCommand(e), authStatusCommand(e), authSetCommand(e), authDeleteCommand(e))
}

// withSignIns calls f with the config and what is stored about sign-ins.
func withSignIns(ctx context.Context, e *env, f func(*config.Config, *oauth.Manager) error) error {
	return e.withState(ctx, func(cfg *config.Config, st *application.State) error { return f(cfg, st.SignIns()) })
}

// remoteServer finds the server that a sign-in command names.
func remoteServer(cfg *config.Config, name, command string) (*config.Server, error) {
	s := cfg.Server(name)
	var known []string
	for i := range cfg.Servers {
		if cfg.Servers[i].Remote() {
			known = append(known, cfg.Servers[i].Name)
		}
	}
	switch {
	case s == nil:
		hint := "broker auth status lists the servers that can be signed in to"
		if near := nearest.Names(name, known, 1); len(near) > 0 {
			hint = fmt.Sprintf("did you mean %q?", near[0])
		}
		return nil, cli.Usagef("unknown server %q in auth %s\nhint: %s", name, command, hint)
	case !s.Remote():
		return nil, cli.Usagef("%s is a program that the broker starts: there is nothing to sign in to\nhint: it gets its credentials through \"env\" in %s", name, cfg.Path)
	}
	return s, nil
}

// authLoginOptions are the options of broker auth login.
type authLoginOptions struct {
	noBrowser bool
	timeout   time.Duration
	scopes    []string
}

func authLoginCommand(e *env) *cobra.Command {
	o := &authLoginOptions{timeout: 5 * time.Minute}
	c := &cobra.Command{
		Use:   "login SERVER",
		Short: "Sign in to a remote server with your browser",
		Long: "Sign in to a remote server (OAuth 2.1). Your browser shows its sign-in page and comes back to this machine.\n" +
			"If no browser can be started, or with --no-browser, it prints the address of the page; you can paste the address\n" +
			"where your browser ends up. A running broker uses the new token with its next call.",
		Args: cli.OneArg("the name of a server"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().BoolVar(&o.noBrowser, "no-browser", false, "print the address of the sign-in page instead of opening it")
	cli.TimeVar(c.Flags(), &o.timeout, "timeout", "how long to wait")
	c.Flags().StringSliceVar(&o.scopes, "scope", nil, "ask for this scope too; may be repeated")
	return c
}

func (o *authLoginOptions) run(ctx context.Context, e *env, args []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("nobody signed in for %s", o.timeout))
	defer cancel()
	return withSignIns(ctx, e, func(cfg *config.Config, m *oauth.Manager) error {
		return signIn(ctx, e, cfg, m, args[0], o.noBrowser, o.scopes)
	})
}

func signIn(ctx context.Context, e *env, cfg *config.Config, m *oauth.Manager, name string, noBrowser bool, scopes []string) error {
	conf, err := remoteServer(cfg, name, "login")
	if err != nil {
		return err
	}
	if conf.OwnAuthorization() {
		return cli.Usagef("%s has an Authorization in its \"headers\", which is what it gets\nhint: remove it from %s to sign in", name, cfg.Path)
	}
	s, err := identity.Server(conf, expand)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	var issuer string
	o := oauth.LoginOptions{
		Issuer: func(of string) { issuer = of },
		Open:   func(page string) error { return openSignIn(e, name, issuer, page) },
		Show:   func(page string, why error) { showSignIn(e, name, issuer, page, why) }, Paste: e.In, Scopes: scopes,
		Warn: func(text string) { cli.Fprintln(e.Err, text) },
	}
	if noBrowser {
		o.Open = nil
	}
	st, err := m.Login(ctx, s, o)
	if err != nil {
		return err
	}
	e.record(cfg, state.Event{Kind: state.EventLogin, Server: name, Client: application.ClientCLI, Detail: "signed in at " + st.Issuer})
	if err := forgetFailure(e, cfg, name); err != nil {
		e.logger().Warn("cannot remove a stored failure", "err", err) // the next command that needs the server still tries it
	}
	if e.JSON {
		return e.PrintJSON(st)
	}
	cli.Fprintf(e.Out, "signed in to %s at %s%s; the token is in %s\n", name, st.Issuer, expiry(st), tokenHome(st))
	return nil
}

// openSignIn opens the sign-in page for a server, and prints the issuer.
func openSignIn(e *env, name, issuer, page string) error {
	cli.Fprintf(e.Err, "server %q asks you to sign in at %s: your browser opens a page of %s\n", name, issuer, pageHost(page))
	return cli.OpenBrowser(page)
}

// pageHost is the host of a page that Login has checked.
func pageHost(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return "an unknown host"
	}
	return u.Host
}

func showSignIn(e *env, name, issuer, page string, why error) {
	if why != nil {
		cli.Fprintf(e.Err, "no browser was started: %v\n", why)
	}
	cli.Fprintf(e.Err, "server %q asks you to sign in at %s: open this page of %s in a browser:\n\n%s\n\n"+
		"if that browser is on another machine, paste the address of its last page (http://127.0.0.1…):\n", name, issuer, pageHost(page), page)
}

// expiry says how long a sign-in lasts.
func expiry(st oauth.Status) string {
	switch {
	case st.Refreshable:
		return ", renewed by itself"
	case !st.Expires.IsZero():
		return ", until " + st.Expires.Local().Format(time.DateTime)
	}
	return ""
}

// tokenHome says where a token is kept.
func tokenHome(st oauth.Status) string {
	if st.Stored == "keyring" {
		return "the keyring"
	}
	if st.Stored == "database" {
		return "the database, sealed"
	}
	return st.Stored + ", which only you can read"
}

func authLogoutCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "logout SERVER",
		Short: "Revoke and forget the token for a server",
		Args:  cli.OneArg("the name of a server"),
		RunE:  func(cmd *cobra.Command, args []string) error { return runAuthLogout(cmd.Context(), e, args) },
	}
}

func runAuthLogout(ctx context.Context, e *env, args []string) error {
	return withSignIns(ctx, e, func(cfg *config.Config, m *oauth.Manager) error {
		conf, err := remoteServer(cfg, args[0], "logout")
		if err != nil {
			return err
		}
		s, err := identity.Server(conf, expand)
		if err != nil {
			return cli.Usagef("%w", err)
		}
		revoked, err := m.Logout(ctx, s)
		signedIn := !errors.Is(err, oauth.ErrNotSignedIn)
		if err != nil && signedIn {
			return err
		}
		if signedIn {
			e.record(cfg, state.Event{Kind: state.EventLogout, Server: s.Name, Client: application.ClientCLI, Detail: map[bool]string{true: "the token is revoked", false: "the token is forgotten, not revoked"}[revoked]})
		}
		if e.JSON {
			return e.PrintJSON(map[string]any{"server": s.Name, "was_signed_in": signedIn, "revoked": revoked})
		}
		switch {
		case !signedIn:
			cli.Fprintf(e.Out, "not signed in to %s\n", s.Name)
		case revoked:
			cli.Fprintf(e.Out, "signed out of %s; the token is revoked\n", s.Name)
		default:
			cli.Fprintf(e.Out, "signed out of %s; the token is forgotten here, but could not be revoked\n", s.Name)
		}
		return nil
	})
}

func authStatusCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "List the remote servers and whether you are signed in",
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runAuthStatus(cmd.Context(), e) },
	}
}

func runAuthStatus(ctx context.Context, e *env) error {
	return withSignIns(ctx, e, func(cfg *config.Config, m *oauth.Manager) error {
		rows := []oauth.Status{}
		for i := range cfg.Servers {
			if conf := &cfg.Servers[i]; conf.Remote() {
				rows = append(rows, signInStatus(m, conf))
			}
		}
		if e.JSON {
			return e.PrintJSON(map[string]any{"servers": rows})
		}
		return printSignIns(e.Out, rows)
	})
}

// signInStatus says how the sign-in to one server stands; what cannot be found
// out is a reason too.
func signInStatus(m *oauth.Manager, conf *config.Server) oauth.Status {
	if conf.OwnAuthorization() {
		return oauth.Status{Server: conf.Name, Reason: `its "headers" have an Authorization`}
	}
	url, err := expand(conf.URL)
	if err != nil {
		return oauth.Status{Server: conf.Name, Reason: "url: " + err.Error()}
	}
	st, err := m.Status(oauth.Server{Name: conf.Name, URL: url})
	if err != nil {
		st.Reason = err.Error()
	}
	return st
}

func printSignIns(w io.Writer, rows []oauth.Status) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	cli.Fprintf(tw, "SERVER\tSIGNED IN\tISSUER\tEXPIRES\tSCOPES\t\n")
	for _, st := range rows {
		in, expires, last := "no", "-", strings.Join(st.Scopes, " ")
		if st.SignedIn {
			in = "yes"
		}
		switch {
		case st.SignedIn && st.Refreshable:
			expires = "renewed by itself"
		case !st.Expires.IsZero():
			expires = st.Expires.Local().Format(time.DateTime)
		}
		if len(st.Wanted) > 0 {
			last += fmt.Sprintf(" (asked for: %s; broker auth login %s)", strings.Join(st.Wanted, " "), oauth.Quote(st.Server))
		}
		if st.Reason != "" {
			last = st.Reason
		}
		cli.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", st.Server, in, cli.OrDash(st.Issuer), expires, cli.OrDash(last))
	}
	return tw.Flush()
}

func authSetCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "set-secret NAME",
		Short: "Put a secret into the keyring, for ${keyring:NAME} in the config",
		Long:  "Put a secret into the system's keyring, for ${keyring:NAME} in the config. It is asked for, or read from stdin.",
		Args:  cli.OneArg("the name of the secret"),
		RunE:  func(_ *cobra.Command, args []string) error { return runAuthSet(e, args) },
	}
}

func runAuthSet(e *env, args []string) error {
	if err := oauth.CheckSecretName(args[0]); err != nil {
		return cli.Usagef("%w", err)
	}
	value, err := readSecret(e, args[0])
	if err != nil {
		return err
	}
	if err := keyring().Set(args[0], value); err != nil {
		return setup.KeyringFailure("store", err)
	}
	if e.JSON {
		return e.PrintJSON(map[string]any{"stored": args[0]})
	}
	cli.Fprintf(e.Err, "stored; write ${keyring:%s} in the config\n", args[0])
	return nil
}

func authDeleteCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "delete-secret NAME",
		Short: "Remove a secret from the keyring",
		Args:  cli.OneArg("the name of the secret"),
		RunE:  func(_ *cobra.Command, args []string) error { return runAuthDelete(e, args) },
	}
}

func runAuthDelete(e *env, args []string) error {
	if err := oauth.CheckSecretName(args[0]); err != nil {
		return cli.Usagef("%w", err)
	}
	if err := keyring().Delete(args[0]); err != nil {
		return setup.KeyringFailure("delete", err)
	}
	if e.JSON {
		return e.PrintJSON(map[string]any{"deleted": args[0]})
	}
	return nil
}

// maxSecret is more than any keyring takes.
const maxSecret = 64 << 10

// readSecret reads a secret without showing it, or the first line of stdin.
func readSecret(e *env, name string) (string, error) {
	var secret string
	if f, ok := e.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		cli.Fprintf(e.Err, "secret for %s (not shown): ", name)
		line, err := term.ReadPassword(int(f.Fd()))
		cli.Fprintln(e.Err)
		if err != nil {
			return "", fmt.Errorf("read the secret: %w", err)
		}
		secret = string(line)
	} else {
		line, err := bufio.NewReader(io.LimitReader(e.In, maxSecret)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the secret: %w", err)
		}
		secret = line
	}
	secret = strings.TrimRight(secret, "\r\n")
	if secret == "" {
		return "", cli.Usagef("the secret is empty\nhint: printf %%s \"$TOKEN\" | broker auth set-secret %s", oauth.Quote(name))
	}
	return secret, nil
}
