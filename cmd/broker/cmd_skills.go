package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/skill"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
)

func skillsCommand(e *env) *cobra.Command {
	c := cli.Group("skills", "Manage skills: folders that tell an agent how to do something",
		skillsListCommand(e), skillsSearchCommand(e), skillsShowCommand(e), skillsReadCommand(e),
		skillsSwitchCommand(e, "enable", "Enable a skill", true), skillsSwitchCommand(e, "disable", "Disable a skill without removing it", false), skillsApproveCommand(e),
		skillsInstallCommand(e), skillsRemoveCommand(e), skillsValidateCommand(e), skillsLintCommand(e),
		skillsCallCommand(e))
	c.PersistentFlags().StringVar(&e.skillsPath, "skills", "", "the folder with public/ and custom/, instead of the config's")
	return c
}

// withFolders calls f with the skills below the folders.
func withFolders(folders []string, f func(*skills.Snapshot) error) error {
	var roots []skills.Root
	for _, f := range folders {
		if info, err := os.Stat(f); err != nil || !info.IsDir() {
			return cli.Usagef("skills list: %s is not a directory", f)
		}
		roots = append(roots, skills.Root{Path: f, Scope: skills.ScopeConfigured})
	}
	return f(skills.NewRegistry(&skills.Options{Roots: func() ([]skills.Root, []skills.Problem) { return roots, nil }}).Refresh())
}

// skillsListOptions are the options of broker skills list.
type skillsListOptions struct {
	diagnostics bool
}

func skillsListCommand(e *env) *cobra.Command {
	o := &skillsListOptions{}
	c := &cobra.Command{
		Use:   "list [FOLDER...]",
		Short: "List the skills, or those below the folders",
		RunE:  func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().BoolVar(&o.diagnostics, "diagnostics", false, "show the warnings of each skill")
	return c
}

func (o *skillsListOptions) run(ctx context.Context, e *env, args []string) error {
	if len(args) > 0 {
		return withFolders(args, func(s *skills.Snapshot) error { return listSkills(e, s, o.diagnostics) })
	}
	return withSkills(ctx, e, func(_ *application.Home, s *skills.Snapshot) error { return listSkills(e, s, o.diagnostics) })
}

func listSkills(e *env, s *skills.Snapshot, diagnostics bool) error {
	rows := []skillRow{}
	for _, k := range s.All() {
		rows = append(rows, rowOf(k))
	}
	if e.JSON {
		return e.PrintJSON(map[string]any{"skills": rows, "problems": append([]skills.Problem{}, s.Problems...)})
	}
	if err := printSkills(e, rows); err != nil {
		return err
	}
	printProblems(e, rows, s.Problems, diagnostics)
	return nil
}

func printSkills(e *env, rows []skillRow) error {
	return cli.NewTable("SKILL\tVERSION\tORIGIN\tSTATE\t", func(r skillRow) []any {
		state := r.State
		if r.State == skills.Enabled && !r.Model {
			state = "by users only"
		}
		about := cli.OneLine(r.Description, 90)
		if r.Found != nil {
			about = cli.OneLine(r.Found.File+": "+r.Found.Fragment, 200)
		}
		return []any{cli.OneLine(r.Name, 64), cli.OneLine(r.Version, 20), r.Origin, state, about}
	}).Print(e.Out, rows)
}

// skillsSearchOptions are the options of broker skills search.
type skillsSearchOptions struct {
	limit int
}

func skillsSearchCommand(e *env) *cobra.Command {
	o := &skillsSearchOptions{limit: 8}
	c := &cobra.Command{
		Use: "search QUERY", Short: "Search skills by name, description and file contents", Args: cli.OneArg("a query"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().IntVar(&o.limit, "limit", o.limit, "at most this many skills, the best first")
	return c
}

func (o *skillsSearchOptions) run(ctx context.Context, e *env, args []string) error {
	if o.limit < 1 {
		return cli.Usagef("--limit is %d: use a number above 0, such as 8", o.limit)
	}
	return withSkills(ctx, e, func(h *application.Home, s *skills.Snapshot) error {
		rows, err := searchSkills(ctx, e, h, s, args[0], o.limit)
		if err != nil {
			return err
		}
		if e.JSON {
			return e.PrintJSON(map[string]any{"skills": rows})
		}
		return printSkills(e, rows)
	})
}

// searchSkills returns the skills with words of the query in their name or description,
// then those with such words in their files.
func searchSkills(ctx context.Context, e *env, h *application.Home, s *skills.Snapshot, query string, limit int) ([]skillRow, error) {
	rows := []skillRow{}
	for _, k := range s.Search(query, limit) {
		rows = append(rows, rowOf(k))
	}
	state, err := e.stateOf(h.Config.Path)
	if err != nil {
		return nil, err
	}
	texts := skill.NewTexts(application.IndexDir(state), e.logger())
	defer texts.Close()
	if err := texts.Sync(enabled(s)); err != nil {
		return nil, err
	}
	passages, _, err := texts.Search(ctx, query, limit)
	for _, p := range passages {
		at := slices.IndexFunc(rows, func(r skillRow) bool { return r.Name == p.Skill })
		if at < 0 && len(rows) < limit {
			if k, err := s.Find(p.Skill); err == nil {
				at = len(rows)
				rows = append(rows, rowOf(k))
			}
		}
		if at >= 0 {
			rows[at].Found = &p
		}
	}
	return rows, err
}

func enabled(s *skills.Snapshot) []*skills.Skill {
	return slices.DeleteFunc(s.All(), func(k *skills.Skill) bool { return k.State != skills.Enabled })
}

func skillsShowCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show the metadata and files of a skill", Args: cli.OneArg("the name of a skill"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSkill(cmd.Context(), e, args[0], func(h *application.Home, k *skills.Skill) error {
				return showSkill(e, k, application.SkillScripts(h).ToolsOf(k))
			})
		},
	}
}

// A skillTool is a tool of a skill in the answers of the commands.
type skillTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input_schema,omitempty"`
}

func showSkill(e *env, k *skills.Skill, list []skills.Tool) error {
	files, complete, err := k.Files()
	if err != nil {
		return err
	}
	tools := []skillTool{}
	for _, t := range list {
		tools = append(tools, skillTool{t.Name, t.Description, t.InputSchema})
	}
	if e.JSON {
		return e.PrintJSON(struct {
			skillRow
			License       string        `json:"license,omitempty"`
			Compatibility string        `json:"compatibility,omitempty"`
			AllowedTools  []string      `json:"allowed_tools,omitempty"`
			Address       string        `json:"address,omitempty"`
			Tools         []skillTool   `json:"tools"`
			Files         []skills.File `json:"files"`
			Complete      bool          `json:"complete"`
		}{rowOf(k), k.License, k.Compatibility, k.AllowedTools, k.Address(), tools, append([]skills.File{}, files...), complete})
	}
	for _, f := range [][2]string{{"name", k.Ref}, {"description", k.Description}, {"origin", k.Origin()}, {"address", k.Address()}, {"state", string(k.State)}, {"path", k.Dir()},
		{"version", k.Version}, {"license", k.License}, {"compatibility", k.Compatibility}, {"allowed tools", strings.Join(k.AllowedTools, ", ")}} {
		if f[1] != "" {
			cli.Fprintf(e.Out, "%-14s %s\n", f[0], cli.OneLine(f[1], 1024))
		}
	}
	for _, t := range tools {
		cli.Fprintf(e.Out, "%-14s %s\n", "tool", strings.TrimSuffix(t.Name+": "+cli.OneLine(t.Description, 200), ": "))
	}
	for _, f := range files {
		cli.Fprintf(e.Out, "%10d  %s\n", f.Size, f.Path)
	}
	if !complete {
		cli.Fprintln(e.Out, "            … and more")
	}
	printProblems(e, []skillRow{rowOf(k)}, nil, true)
	return nil
}

// skillsReadOptions are the options of broker skills read.
type skillsReadOptions struct {
	offset int64
	limit  int64
}

func skillsReadCommand(e *env) *cobra.Command {
	o := &skillsReadOptions{}
	c := &cobra.Command{
		Use:   "read NAME [FILE]",
		Short: "Print a file of a skill; without one, SKILL.md",
		Args:  cli.SomeArgs(1, 2, "the name of a skill, and perhaps a file"),
		RunE:  func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().Int64Var(&o.offset, "offset", 0, "byte to start at")
	c.Flags().Int64Var(&o.limit, "limit", 0, "maximum number of bytes (default 10000)")
	return c
}

func (o *skillsReadOptions) run(ctx context.Context, e *env, args []string) error {
	return withSkill(ctx, e, args[0], func(h *application.Home, k *skills.Skill) error {
		file := append(args, k.File())[1]
		p, err := k.ReadFile(file, o.offset, o.limit)
		e.record(h.Config, application.SkillEvent(state.EventSkillFileRead, k, file, err))
		if wrong, ok := errors.AsType[*skills.FileError](err); ok {
			if wrong.Code == skills.CodeVerification || wrong.Code == skills.CodeServer {
				return wrong // the name is not mistyped
			}
			return cli.Usagef("%w", err)
		}
		if err != nil {
			return err
		}
		if e.JSON {
			return e.PrintJSON(p)
		}
		if _, err := io.WriteString(cli.Exact(e.Out), p.Text); err != nil {
			return err
		}
		if p.Truncated {
			cli.Fprintf(e.Err, "%d of %d bytes; the next: --offset %d\n", p.NextOffset-p.Offset, p.TotalBytes, p.NextOffset)
		}
		return nil
	})
}

// skillsSwitchOptions are the options of broker skills enable and disable.
type skillsSwitchOptions struct {
	use string
	on  bool
}

func skillsSwitchCommand(e *env, use, short string, on bool) *cobra.Command {
	o := &skillsSwitchOptions{use: use, on: on}
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cli.OneArg("the name of a skill"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
}

func (o *skillsSwitchOptions) run(ctx context.Context, e *env, args []string) error {
	return withSkill(ctx, e, args[0], func(h *application.Home, k *skills.Skill) error {
		k, err := libraryOf(e, h).SwitchSkill(k.Ref, o.on)
		if err != nil {
			return sourceError(e, err)
		}
		if o.on {
			noteState(e, k)
		}
		return printChange(e, h.Switches.String(), o.use+"d", k.ID())
	})
}
