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

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/skill"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
)

func (a *app) skillsCommand() *cobra.Command {
	c := cli.Group("skills", "Manage skills: folders that tell an agent how to do something",
		a.skillsListCommand(), a.skillsSearchCommand(), a.skillsShowCommand(), a.skillsReadCommand(),
		a.skillsSwitchCommand("enable", "Enable a skill", true), a.skillsSwitchCommand("disable", "Disable a skill without removing it", false), a.skillsApproveCommand(),
		a.skillsInstallCommand(), a.skillsRemoveCommand(), a.skillsValidateCommand(), a.skillsLintCommand(),
		a.skillsCallCommand())
	c.PersistentFlags().StringVar(&a.skillsPath, "skills", "", "the folder with public/ and custom/, instead of the config's")
	return c
}

// withHome is a command's RunE that does f with the home of skills.
func (a *app) withHome(f func(h *application.Home, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		h, err := a.skillHome(cmd.Name() == "install")
		if err != nil {
			return err
		}
		err = f(h, args)
		if e := h.Close(); err == nil {
			err = e
		}
		return err
	}
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

// A skillRow is a skill in the answers of the commands.
type skillRow struct {
	Name        string              `json:"name"`
	Description string              `json:"description"`
	Origin      string              `json:"origin"`
	State       skills.State        `json:"state"`
	Path        string              `json:"path,omitempty"`
	Version     string              `json:"version,omitempty"`
	Model       bool                `json:"model_invocable"`
	User        bool                `json:"user_invocable"`
	Diagnostics []skills.Diagnostic `json:"diagnostics"`

	Found *broker.SkillPassage `json:"found,omitempty"` // what a search found in its files
}

func rowOf(s *skills.Skill) skillRow {
	return skillRow{s.Ref, s.Description, s.Origin(), s.State, s.Dir(), s.Version, s.ModelInvocable, s.UserInvocable, append([]skills.Diagnostic{}, s.Diagnostics...), nil}
}

func (a *app) skillsListCommand() *cobra.Command {
	var diagnostics bool
	c := &cobra.Command{
		Use:   "list [FOLDER...]",
		Short: "List the skills, or those below the folders",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return withFolders(args, func(s *skills.Snapshot) error { return a.listSkills(s, diagnostics) })
			}
			return a.withSkills(cmd.Context(), func(_ *application.Home, s *skills.Snapshot) error { return a.listSkills(s, diagnostics) })
		},
	}
	c.Flags().BoolVar(&diagnostics, "diagnostics", false, "show the warnings of each skill")
	return c
}

func (a *app) listSkills(s *skills.Snapshot, diagnostics bool) error {
	rows := []skillRow{}
	for _, k := range s.All() {
		rows = append(rows, rowOf(k))
	}
	if a.JSON {
		return a.PrintJSON(map[string]any{"skills": rows, "problems": append([]skills.Problem{}, s.Problems...)})
	}
	if err := a.printSkills(rows); err != nil {
		return err
	}
	a.printProblems(rows, s.Problems, diagnostics)
	return nil
}

func (a *app) printSkills(rows []skillRow) error {
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
	}).Print(a.Out, rows)
}

// printProblems reports what does not load, and with all the warnings about
// the others.
func (a *app) printProblems(rows []skillRow, problems []skills.Problem, all bool) {
	warnings := 0
	for _, r := range rows {
		warnings += len(r.Diagnostics)
		for _, d := range r.Diagnostics {
			if all {
				cli.Fprintf(a.Err, "%s: %s\n", r.Path, d)
			}
		}
	}
	for _, p := range problems {
		cli.Fprintf(a.Err, "%s: %s\n", p.Path, p.Diagnostic)
	}
	if warnings > 0 && !all {
		cli.Fprintf(a.Err, "%d warnings: --diagnostics shows them\n", warnings)
	}
}

func (a *app) skillsSearchCommand() *cobra.Command {
	limit := 8
	c := &cobra.Command{
		Use: "search QUERY", Short: "Search skills by name, description and file contents", Args: cli.OneArg("a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return cli.Usagef("--limit is %d: use a number above 0, such as 8", limit)
			}
			return a.withSkills(cmd.Context(), func(h *application.Home, s *skills.Snapshot) error {
				rows, err := a.searchSkills(cmd.Context(), h, s, args[0], limit)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(map[string]any{"skills": rows})
				}
				return a.printSkills(rows)
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", limit, "at most this many skills, the best first")
	return c
}

// searchSkills returns the skills with words of the query in their name or description,
// then those with such words in their files.
func (a *app) searchSkills(ctx context.Context, h *application.Home, s *skills.Snapshot, query string, limit int) ([]skillRow, error) {
	rows := []skillRow{}
	for _, k := range s.Search(query, limit) {
		rows = append(rows, rowOf(k))
	}
	state, err := a.stateOf(h.Config.Path)
	if err != nil {
		return nil, err
	}
	texts := skill.NewTexts(application.IndexDir(state), a.logger())
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

func (a *app) skillsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show the metadata and files of a skill", Args: cli.OneArg("the name of a skill"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSkill(cmd.Context(), args[0], func(h *application.Home, k *skills.Skill) error {
				return a.showSkill(k, application.SkillScripts(h).ToolsOf(k))
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

func (a *app) showSkill(k *skills.Skill, list []skills.Tool) error {
	files, complete, err := k.Files()
	if err != nil {
		return err
	}
	tools := []skillTool{}
	for _, t := range list {
		tools = append(tools, skillTool{t.Name, t.Description, t.InputSchema})
	}
	if a.JSON {
		return a.PrintJSON(struct {
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
			cli.Fprintf(a.Out, "%-14s %s\n", f[0], cli.OneLine(f[1], 1024))
		}
	}
	for _, t := range tools {
		cli.Fprintf(a.Out, "%-14s %s\n", "tool", strings.TrimSuffix(t.Name+": "+cli.OneLine(t.Description, 200), ": "))
	}
	for _, f := range files {
		cli.Fprintf(a.Out, "%10d  %s\n", f.Size, f.Path)
	}
	if !complete {
		cli.Fprintln(a.Out, "            … and more")
	}
	a.printProblems([]skillRow{rowOf(k)}, nil, true)
	return nil
}

func (a *app) skillsReadCommand() *cobra.Command {
	var offset, limit int64
	c := &cobra.Command{
		Use:   "read NAME [FILE]",
		Short: "Print a file of a skill; without one, SKILL.md",
		Args:  cli.SomeArgs(1, 2, "the name of a skill, and perhaps a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSkill(cmd.Context(), args[0], func(h *application.Home, k *skills.Skill) error {
				file := append(args, k.File())[1]
				p, err := k.ReadFile(file, offset, limit)
				a.record(h.Config, application.SkillEvent(state.EventSkillFileRead, k, file, err))
				if e, ok := errors.AsType[*skills.FileError](err); ok {
					if e.Code == skills.CodeVerification || e.Code == skills.CodeServer {
						return e // the name is not mistyped
					}
					return cli.Usagef("%w", err)
				}
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(p)
				}
				if _, err := io.WriteString(cli.Exact(a.Out), p.Text); err != nil {
					return err
				}
				if p.Truncated {
					cli.Fprintf(a.Err, "%d of %d bytes; the next: --offset %d\n", p.NextOffset-p.Offset, p.TotalBytes, p.NextOffset)
				}
				return nil
			})
		},
	}
	c.Flags().Int64Var(&offset, "offset", 0, "byte to start at")
	c.Flags().Int64Var(&limit, "limit", 0, "maximum number of bytes (default 10000)")
	return c
}

func (a *app) skillsSwitchCommand(use, short string, on bool) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cli.OneArg("the name of a skill"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSkill(cmd.Context(), args[0], func(h *application.Home, k *skills.Skill) error {
				k, err := a.recorded(h).SwitchSkill(k.Ref, on)
				if err != nil {
					return a.sourceError(err)
				}
				if on {
					a.noteState(k)
				}
				return a.printChange(h.Switches.String(), use+"d", k.ID())
			})
		},
	}
}

// noteState says why a skill is not in use.
func (a *app) noteState(k *skills.Skill) {
	switch k.State {
	case skills.Excluded:
		cli.Fprintf(a.Err, "note: %s is not in use: \"include\" or \"exclude\" of \"skills\" in the config leaves it out\n", k.Ref)
	case skills.Disabled:
		cli.Fprintf(a.Err, "note: %s is switched off: broker skills enable %s\n", k.Ref, k.Ref)
	}
}

// printChange says what a command has done.
func (a *app) printChange(path, action, name string) error {
	if a.JSON {
		return a.PrintJSON(map[string]string{"path": path, "action": action, "name": name})
	}
	_, err := cli.Fprintf(a.Out, "%s: %s %s\n", path, action, name)
	return err
}
