package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// searchOptions are the options of broker search.
type searchOptions struct {
	readOnly bool
	request  broker.SearchRequest
	limited  bool // --limit was given
	detail   string
	explain  bool
}

func searchCommand(e *env) *cobra.Command {
	o := &searchOptions{}
	c := &cobra.Command{
		Use:   "search QUERY",
		Short: "Find tools by what they do",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("search needs words to search for\nhint: broker search list open issues; broker search \"\" lists what there is")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.limited = cmd.Flags().Changed("limit")
			return o.run(cmd.Context(), e, args)
		},
	}
	c.Flags().StringVar(&o.request.Server, "server", "", "only this server")
	c.Flags().StringVar(&o.detail, "detail", "", "name, desc (default) or full")
	c.Flags().BoolVar(&o.explain, "explain", false, "show the score of each hit, word by word")
	c.Flags().IntVar(&o.request.Limit, "limit", 0, "number of hits, at most 50 (default 8)")
	c.Flags().IntVar(&o.request.Offset, "offset", 0, "number of best hits to skip")
	c.Flags().BoolVar(&o.request.Expand, "expand", false, "give each of several equal tools of different servers a place of its own")
	c.Flags().BoolVar(&o.readOnly, "read-only", false, "leave out every tool that is not marked read-only")
	return c
}

func (o *searchOptions) run(ctx context.Context, e *env, args []string) error {
	o.request.Query, o.request.Detail = strings.Join(args, " "), broker.Detail(o.detail)
	if o.limited && o.request.Limit < 1 {
		return cli.Usagef("limit is %d: use 1 to 50", o.request.Limit)
	}
	s, err := e.open(application.Overrides{ReadOnly: o.readOnly})
	if err != nil {
		return err
	}
	defer s.Close()
	found, err := await.Search(ctx, &e.IO, s, o.request)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	if o.explain {
		return explainSearch(ctx, e, s, o.request)
	}
	if e.JSON {
		return e.PrintJSON(found)
	}
	printHits(e.Out, found)
	printCall(ctx, e, s, found)
	await.PrintUnsearched(e.Out, s, o.request)
	if len(found.Tools) == 0 {
		return cli.Exit(cli.ExitFailed, nil)
	}
	return nil
}

// explainSearch prints why hits are where they are.
func explainSearch(ctx context.Context, e *env, s *application.App, req broker.SearchRequest) error {
	x, err := (&api.Reader{Broker: s.Broker}).Explain(ctx, req)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	if e.JSON {
		return e.PrintJSON(x)
	}
	cli.Fprintf(e.Out, "the answer has %s in %s\n", cli.Count(x.Tokens, "token"), cli.Size(int64(x.Bytes)))
	return cli.NewTable("SCORE\tHIT\tWORDS", func(h broker.Explained) []any {
		var words []string
		for _, w := range h.Words {
			mark := ""
			if w.Related {
				mark = "~"
			}
			words = append(words, fmt.Sprintf("%s%s %.2f", mark, w.As, w.Score))
		}
		if h.General {
			words = append(words, "(general tool)")
		}
		if h.Favored > 0 {
			words = append(words, fmt.Sprintf("(called after similar searches: %+.0f %%)", 100*h.Favored))
		}
		return []any{fmt.Sprintf("%.2f", h.Score), h.Name, strings.Join(words, ", ")}
	}).Print(e.Out, x.Hits)
}

func printHits(w io.Writer, found broker.SearchAnswer) {
	for _, s := range found.Servers {
		cli.Fprintf(w, "%s: %s\n", s.Name, cli.Count(s.ToolCount, "tool"))
	}
	for _, h := range found.Tools {
		name := h.Name
		if h.Kind != "" {
			name += " (" + h.Kind + ")"
		}
		cli.Fprintln(w, name)
		if len(h.Also) > 0 {
			more := ""
			if h.AlsoMore > 0 {
				more = fmt.Sprintf(", and %d more", h.AlsoMore)
			}
			cli.Fprintf(w, "    also: %s%s\n", strings.Join(h.Also, ", "), more)
		}
		said := ""
		if h.Passage != nil {
			said = h.File + ": " + h.Fragment
		}
		for _, line := range []string{inShell(h.Declaration), h.Description, said, string(h.Parameters)} {
			if line != "" {
				cli.Fprintln(w, cli.Indent("    ", line))
			}
		}
		if use := useInShell(h); use != "" {
			cli.Fprintln(w, "   ", cli.Hint(use))
		} else if h.Use != "" {
			cli.Fprintln(w, cli.Indent("    ", h.Use))
		}
		if h.Declaration == "" && h.Signature != "" {
			cli.Fprintln(w, "   ", inShell(h.Signature))
		}
	}
	if found.MatchCount > found.Showing {
		cli.Fprintf(w, "%d of %d shown\n", found.Showing, found.MatchCount)
	}
	if found.Note != "" {
		cli.Fprintln(w, inShell(found.Note))
	}
	if len(found.Suggestions) > 0 {
		cli.Fprintln(w, "near:", strings.Join(found.Suggestions, ", "))
	}
}

// printCall prints how a script calls the first hit of an answer, if it is a tool and
// its declaration does not show it.
func printCall(ctx context.Context, e *env, s *application.App, found broker.SearchAnswer) {
	if len(found.Tools) == 0 {
		return
	}
	h := found.Tools[0]
	if h.Kind != "" || h.Declaration != "" || h.Signature == "" {
		return // it says itself how it is used
	}
	if d, err := s.Broker.Describe(ctx, h.Name); err == nil {
		if call := callOf(d.Declaration); call != "" {
			cli.Fprintln(e.Out, "call as "+call)
		}
	}
}

// callOf returns the call in a declaration of a tool, such as files.readFile({…}).
func callOf(declaration string) string {
	lines := strings.Split(declaration, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		function, parameters, found := strings.Cut(lines[i], "(")
		if !found || !strings.Contains(function, ".") || strings.ContainsAny(function, " \t*/") {
			continue
		}
		switch {
		case strings.HasPrefix(parameters, ")"):
			return function + "()"
		case strings.HasPrefix(parameters, "input"):
			return function + "({…})"
		}
	}
	return ""
}

// inShell returns a text of an answer to a model with the commands in place of the tools
// and options that it names.
func inShell(text string) string {
	return strings.NewReplacer("list_servers", "broker servers list", `"expand": true lists each`, "--expand lists each", ": detail full*/", ": --detail full*/", "// detail full ", "// --detail full ").Replace(text)
}

// useInShell returns the command that uses a hit which is not a tool, or "".
func useInShell(h broker.SearchHit) string {
	skill, tool, _ := strings.Cut(h.Name, "/")
	switch h.Kind {
	case broker.KindSkill:
		return "broker skills show " + gate.Terminal(h.Name)
	case broker.KindSkillTool:
		return "broker skills call " + gate.Terminal(skill+" "+tool)
	case broker.KindScript:
		return "broker run " + gate.Terminal(h.Name)
	}
	return ""
}
