package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/apitoken"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/state"
)

func tokensCommand(e *env) *cobra.Command {
	return cli.Group("tokens", "Make, list and revoke tokens for the HTTP endpoint",
		tokensCreateCommand(e),
		&cobra.Command{
			Use: "list", Short: "List the tokens: their clients, what they may use, and when they were last used", Args: cli.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return listTokens(cmd.Context(), e) },
		},
		&cobra.Command{
			Use: "revoke NAME", Short: "Revoke a token; this takes effect within a second", Args: cli.OneArg("the name of a client"),
			RunE: func(cmd *cobra.Command, args []string) error { return revokeToken(cmd.Context(), e, args[0]) },
		},
	)
}

// tokensCreateOptions are the options of broker tokens create.
type tokensCreateOptions struct {
	team    string
	expires time.Duration
	inherit bool
}

func tokensCreateCommand(e *env) *cobra.Command {
	o := &tokensCreateOptions{}
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a token for a program and print it once",
		Long: `Create a token with which a program uses the HTTP endpoint as the client NAME, and print it.

It is shown only once: the broker keeps its SHA-256. A running broker accepts it within a second. With --profile it gives access to that profile of the config and nothing else.`,
		Args: cli.OneArg("the name of a client"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args[0]) },
	}
	c.Flags().StringVar(&o.team, "team", "", "the team whose quotas its calls count for")
	c.Flags().BoolVar(&o.inherit, "inherit", false, "give it the stored data of the client whose revoked token had this name")
	cli.TimeVar(c.Flags(), &o.expires, "expires", "when it ends, such as 90d (default never)")
	return c
}

func (o *tokensCreateOptions) run(ctx context.Context, e *env, name string) error {
	t := apitoken.Token{Name: name, Profile: e.profile, Team: o.team}
	if o.expires > 0 {
		t.Expires = time.Now().Add(o.expires).UTC().Truncate(time.Second)
	}
	return createToken(ctx, e, t, o.inherit)
}

// withTokens opens the tokens of the config for do.
func withTokens(ctx context.Context, e *env, do func(cfg *config.Config, tokens apitoken.Store) error) error {
	return e.withState(ctx, func(cfg *config.Config, st *application.State) error {
		return do(cfg, apitoken.NewStore(st.APITokens()))
	})
}

// A createdToken is what "tokens create" prints.
type createdToken struct {
	Name    string    `json:"name"`
	Token   string    `json:"token"`
	Profile string    `json:"profile,omitempty"`
	Team    string    `json:"team,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
}

func createToken(ctx context.Context, e *env, t apitoken.Token, inherit bool) error {
	return withTokens(ctx, e, func(cfg *config.Config, tokens apitoken.Store) error {
		if err := e.checkProfile(cfg); err != nil {
			return err
		}
		if _, ok := cfg.Broker.HTTP.Tokens[t.Name]; ok {
			return cli.Usagef("%q has a token in the config already", t.Name)
		}
		if !surface.MayBeNamed(t.Name) {
			return cli.Usagef("%q cannot be the name of a client", cli.OneLine(t.Name, 60))
		}
		secret, err := tokens.Create(ctx, t, inherit)
		if errors.Is(err, apitoken.ErrTaken) {
			return cli.Usagef("%q has a token already\nhint: broker tokens revoke %s", t.Name, cli.ShellWord(t.Name))
		}
		if errors.Is(err, apitoken.ErrRevoked) {
			return cli.Usagef("the token %q was revoked, and the data of its client still exists\nhint: choose another name, or add --inherit if it is the same client", t.Name)
		}
		if err != nil {
			return err
		}
		detail := "a token was made"
		if t.Profile != "" {
			detail += " for the profile " + t.Profile
		}
		e.record(cfg, state.Event{Kind: state.EventToken, Name: t.Name, Client: application.ClientCLI, Detail: detail + endText(t.Expires)})
		if e.JSON {
			return e.PrintJSON(createdToken{t.Name, secret, t.Profile, t.Team, t.Expires})
		}
		cli.Fprintf(e.Err, "the token of %s, shown only now%s:\n", cli.OneLine(t.Name, 200), endText(t.Expires))
		cli.Fprintln(e.Out, secret)
		return nil
	})
}

// A tokenRow is a token as "tokens list" prints it.
type tokenRow struct {
	Name    string    `json:"name"`
	Profile string    `json:"profile,omitempty"`
	Team    string    `json:"team,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	Used    string    `json:"used,omitempty"` // the day of its last use
}

func listTokens(ctx context.Context, e *env) error {
	return withTokens(ctx, e, func(_ *config.Config, tokens apitoken.Store) error {
		list, used, err := tokens.List(ctx)
		if err != nil {
			return err
		}
		rows := []tokenRow{}
		for _, t := range list {
			rows = append(rows, tokenRow{t.Name, t.Profile, t.Team, t.Created, t.Expires, used[t.Name]})
		}
		return cli.PrintList(&e.IO, rows, "there are no tokens: broker tokens create NAME makes one", cli.NewTable("NAME\tPROFILE\tTEAM\tCREATED\tEXPIRES\tUSED", func(r tokenRow) []any {
			expires := "never"
			switch {
			case r.Expires.IsZero():
			case time.Now().Before(r.Expires):
				expires = r.Expires.Format(time.DateOnly)
			default:
				expires = "expired"
			}
			return []any{r.Name, cli.OrDash(r.Profile), cli.OrDash(r.Team), r.Created.Format(time.DateOnly), expires, cli.OrDash(r.Used)}
		}))
	})
}

func revokeToken(ctx context.Context, e *env, name string) error {
	return withTokens(ctx, e, func(cfg *config.Config, tokens apitoken.Store) error {
		err := tokens.Revoke(ctx, name)
		if errors.Is(err, state.ErrNotFound) {
			list, _, _ := tokens.List(ctx) // its error would be this one
			var names []string
			for _, t := range list {
				names = append(names, t.Name)
			}
			hint := ""
			if _, ok := cfg.Broker.HTTP.Tokens[name]; ok {
				hint = ": it is in the config"
			} else if near := nearest.Names(name, names, 1); len(near) > 0 {
				hint = fmt.Sprintf("; did you mean %q?", near[0])
			}
			return cli.Usagef("no token of %q was made by broker tokens%s", cli.OneLine(name, 60), hint)
		}
		if err != nil {
			return err
		}
		e.record(cfg, state.Event{Kind: state.EventToken, Name: name, Client: application.ClientCLI, Detail: "its token was revoked"})
		cli.Fprintf(e.Out, "revoked the token of %s\n", cli.OneLine(name, 200))
		return nil
	})
}
