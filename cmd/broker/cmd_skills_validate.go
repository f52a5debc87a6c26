package main

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/skills"
)

// A verdict is what "skills validate" prints.
type verdict struct {
	Valid       bool                `json:"valid"`
	Name        string              `json:"name"`
	Description string              `json:"description"`
	Diagnostics []skills.Diagnostic `json:"diagnostics"`
}

// skillsValidateOptions are the options of broker skills validate.
type skillsValidateOptions struct {
	strict  bool
	lenient bool
}

func skillsValidateCommand(e *env) *cobra.Command {
	o := &skillsValidateOptions{}
	c := &cobra.Command{
		Use:   "validate PATH",
		Short: "Check the SKILL.md of a folder",
		Long: "Check the SKILL.md of a folder. --strict (the default) checks that it conforms to the standard, --lenient that it would load.\n" +
			"The exit code is 0 if so and 1 if not.",
		Args: cli.OneArg("the folder of a skill"),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(e, args) },
	}
	c.Flags().BoolVar(&o.strict, "strict", false, "check that it conforms to the standard (default)")
	c.Flags().BoolVar(&o.lenient, "lenient", false, "only check that it would load")
	return c
}

func (o *skillsValidateOptions) run(e *env, args []string) error {
	if o.strict && o.lenient {
		return cli.Usagef("skills validate takes --strict or --lenient, not both")
	}
	mode := skills.Strict
	if o.lenient {
		mode = skills.Lenient
	}
	doc := skills.ReadPath(args[0])
	ok, list := doc.Judge(mode)
	v := verdict{ok, doc.Name, doc.Description, append([]skills.Diagnostic{}, list...)}
	if err := printVerdict(e, args[0], v); err != nil {
		return err
	}
	if !ok {
		return cli.Exit(cli.ExitFailed, nil)
	}
	return nil
}

func printVerdict(e *env, path string, v verdict) error {
	if e.JSON {
		return e.PrintJSON(v)
	}
	dir, name := skills.Locate(path)
	file := filepath.Join(dir, name)
	for _, d := range v.Diagnostics {
		where := file
		if d.Line > 0 {
			where = fmt.Sprintf("%s:%d", file, d.Line)
		}
		cli.Fprintf(e.Out, "%s: %s: %s [%s]\n", where, d.Severity, d.Message, d.Code)
	}
	word := "is valid"
	if !v.Valid {
		word = "is not valid"
	}
	_, err := cli.Fprintf(e.Out, "%s %s\n", cmp.Or(v.Name, path), word)
	return err
}
