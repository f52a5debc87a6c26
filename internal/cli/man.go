package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// WriteManPages writes the man page of c and those of its commands, hidden ones too, into a
// directory, which is created if missing.
func WriteManPages(c *cobra.Command, dir, date, version string) error {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = writePage(c, dir, date, version)
	}
	return err
}

func writePage(c *cobra.Command, dir, date, version string) error {
	err := os.WriteFile(filepath.Join(dir, ManName(c)+".1"), manPage(c, date, version), 0o644)
	for _, child := range c.Commands() {
		if err == nil && HasPage(child) {
			err = writePage(child, dir, date, version)
		}
	}
	return err
}

// HasPage reports whether a command has a man page: also one that no list of commands
// shows, but for those that only shells call.
func HasPage(c *cobra.Command) bool {
	return c.IsAvailableCommand() || c.Hidden && c.Runnable() && !strings.HasPrefix(c.Name(), "__")
}

// ManName returns the name of a command's man page.
func ManName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// A roff is a man page that is being written.
type roff struct{ bytes.Buffer }

var roffText = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...", "’", "'", "\t", "    ")

// line writes text of which nothing is a request or an escape.
func (r *roff) line(text string) {
	text = roffText.Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	r.WriteString(text + "\n")
}

// paragraphs writes text as help has it: what is indented stays as it is.
func (r *roff) paragraphs(text string) {
	asIs := false
	for i, one := range strings.Split(JoinParagraphs(strings.TrimSpace(text)), "\n") {
		indented := strings.HasPrefix(one, " ") || strings.HasPrefix(one, "\t")
		switch {
		case one == "":
			continue
		case indented && !asIs:
			r.WriteString(".PP\n.nf\n")
		case !indented && asIs:
			r.WriteString(".fi\n.PP\n")
		case !indented && i > 0:
			r.WriteString(".PP\n")
		}
		asIs = indented
		r.line(one)
	}
	if asIs {
		r.WriteString(".fi\n")
	}
}

func (r *roff) flags(title string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	r.WriteString(".SH " + title + "\n")
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, use := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		r.WriteString(".TP\n.B " + roffText.Replace(strings.TrimSpace(name+" "+value)) + "\n")
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && !strings.Contains(use, "default") {
			use += " (default " + f.DefValue + ")"
		}
		r.line(use)
	})
}

// manPage is the page of a command.
func manPage(c *cobra.Command, date, version string) []byte {
	var r roff
	fmt.Fprintf(&r, ".TH %s 1 %q %q %q\n.SH NAME\n", strings.ToUpper(roffText.Replace(ManName(c))), date, "broker "+version, "The broker")
	r.line(ManName(c))
	r.Truncate(r.Len() - 1)
	r.WriteString(` \- ` + roffText.Replace(c.Short) + "\n.SH SYNOPSIS\n")
	r.WriteString(".B " + roffText.Replace(c.UseLine()) + "\n.SH DESCRIPTION\n")
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	r.paragraphs(long)
	if c.Example != "" {
		r.WriteString(".SH EXAMPLES\n.nf\n")
		for one := range strings.SplitSeq(c.Example, "\n") {
			r.line(strings.TrimPrefix(one, "  "))
		}
		r.WriteString(".fi\n")
	}
	if c.HasAvailableSubCommands() {
		r.WriteString(".SH COMMANDS\n")
		for _, child := range c.Commands() {
			if child.IsAvailableCommand() {
				r.WriteString(".TP\n.BR " + roffText.Replace(ManName(child)) + " (1)\n")
				r.line(child.Short)
			}
		}
	}
	c.InitDefaultHelpFlag()
	r.flags("OPTIONS", c.NonInheritedFlags())
	r.flags("GLOBAL OPTIONS", c.InheritedFlags())
	if c.HasParent() {
		r.WriteString(".SH SEE ALSO\n.BR " + roffText.Replace(ManName(c.Parent())) + " (1)\n")
	}
	return r.Bytes()
}
