package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

func profilesCommand(e *env) *cobra.Command {
	return cli.Group("profiles", "Show and choose which servers and tools clients see",
		&cobra.Command{
			Use: "list", Short: "List the profiles of the config, and who uses them", Args: cli.NoArgs,
			RunE: func(*cobra.Command, []string) error { return listProfiles(e) },
		},
		&cobra.Command{
			Use: "show NAME", Short: "Show the servers and tools of a profile", Args: cli.OneArg("a profile"),
			RunE: func(_ *cobra.Command, args []string) error { return showProfile(e, args[0]) },
		},
		profilesUseCommand(e),
	)
}

// profilesUseOptions are the options of broker profiles use.
type profilesUseOptions struct {
	none bool
}

func profilesUseCommand(e *env) *cobra.Command {
	o := &profilesUseOptions{}
	c := &cobra.Command{
		Use: "use NAME | use --none", Short: "Set the profile of clients that name none",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.none {
				return cli.NoArgs(cmd, args)
			}
			return cli.OneArg("a profile, or --none")(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error { return useProfile(e, strings.Join(args, "")) },
	}
	c.Flags().BoolVar(&o.none, "none", false, "let these clients see all tools again")
	return c
}

// A profileRow is a profile as "profiles list" prints it.
type profileRow struct {
	Name     string   `json:"name"`
	Servers  []string `json:"servers"` // patterns
	Allow    []string `json:"allow"`
	Deny     []string `json:"deny,omitempty"`
	ReadOnly bool     `json:"read_only"`
	Default  bool     `json:"default"`
	// Tokens are the clients over HTTP that can use nothing else, with when their
	// tokens end.
	Tokens []string `json:"tokens,omitempty"`
}

func profileRows(cfg *config.Config) []profileRow {
	var rows []profileRow
	for _, name := range slices.Sorted(maps.Keys(cfg.Broker.Profiles)) {
		p := cfg.Broker.Profiles[name]
		r := profileRow{Name: name, Servers: p.Servers, Allow: p.Allow, Deny: p.Deny, ReadOnly: p.ReadOnly, Default: name == cfg.Broker.Profile}
		for _, client := range slices.Sorted(maps.Keys(cfg.Broker.HTTP.Tokens)) {
			if t := cfg.Broker.HTTP.Tokens[client]; t.Profile == name {
				r.Tokens = append(r.Tokens, client+endText(t.Expires))
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// endText says when a token ends.
func endText(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case time.Now().Before(t):
		return " (until " + t.UTC().Format(time.DateOnly) + ")"
	}
	return " (expired)"
}

func listProfiles(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	for _, problem := range cfg.Broker.UnknownProfiles() {
		cli.Fprintf(e.Err, "broker: %s\n", problem)
	}
	return cli.PrintList(&e.IO, profileRows(cfg), "there are no profiles: write some under \"profiles\" of \"broker\"", cli.NewTable("NAME\tSERVERS\tTOOLS\tUSED BY", func(r profileRow) []any {
		tools := strings.Join(r.Allow, " ")
		if len(r.Deny) > 0 {
			tools += ", not " + strings.Join(r.Deny, " ")
		}
		if r.ReadOnly {
			tools += ", read-only"
		}
		users := slices.Clone(r.Tokens)
		if r.Default {
			users = append([]string{"who names none"}, users...)
		}
		return []any{r.Name, strings.Join(r.Servers, " "), tools, strings.Join(users, ", ")}
	}))
}

// A profileView is what "profiles show" prints.
type profileView struct {
	profileRow
	Has []serverTools `json:"has"`
	// Unlisted are servers of the profile with unknown tools.
	Unlisted []string `json:"unlisted,omitempty"`
}

type serverTools struct {
	Server string   `json:"server"`
	Tools  []string `json:"tools"`
}

func showProfile(e *env, name string) error {
	s, err := e.openAs(application.OpenOptions{Profile: name})
	if err != nil {
		return err
	}
	defer s.Close()
	v := profileView{Has: []serverTools{}, Unlisted: s.Broker.Unlisted()}
	for _, r := range profileRows(s.Config) {
		if r.Name == name {
			v.profileRow = r
		}
	}
	for _, srv := range s.Broker.Catalog().Servers() {
		row := serverTools{srv.Listing.Server, []string{}}
		for _, t := range srv.Tools {
			row.Tools = append(row.Tools, t.ID)
		}
		v.Has = append(v.Has, row)
	}
	if e.JSON {
		return e.PrintJSON(v)
	}
	if len(v.Has) == 0 {
		cli.Fprintf(e.Out, "the profile %s has no server\n", name)
	}
	for _, row := range v.Has {
		note := cli.Count(len(row.Tools), "tool")
		if slices.Contains(v.Unlisted, row.Server) {
			note = "tools not known yet: broker index"
		}
		cli.Fprintf(e.Out, "%s: %s\n", row.Server, note)
		for _, id := range row.Tools {
			cli.Fprintf(e.Out, "  %s\n", id)
		}
	}
	return nil
}

// useProfile writes the default profile into the config; empty removes it.
func useProfile(e *env, name string) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	if _, ok := cfg.Broker.Profiles[name]; !ok && name != "" {
		return cli.Usagef("there is no profile %q in %s%s\nhint: broker profiles list", name, cfg.Path, cli.Lines(cfg.Broker.NearProfile(name)))
	}
	err = config.Edit(cfg.Path, func(data []byte) ([]byte, error) {
		if name == "" {
			return config.DeleteKey(data, []string{"broker", "profile"})
		}
		return config.SetKey(data, []string{"broker", "profile"}, name)
	})
	if err != nil {
		return err
	}
	if e.JSON {
		return e.PrintJSON(map[string]string{"config": cfg.Path, "profile": name})
	}
	text := "clients that name no profile see all tools"
	if name != "" {
		text = fmt.Sprintf("clients that name no profile use %s", name)
	}
	_, err = cli.Fprintf(e.Out, "%s: %s; brokers that run go on until they are started again\n", cfg.Path, text)
	return err
}
