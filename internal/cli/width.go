package cli

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// minWidth is the narrowest terminal that text is fitted to.
const minWidth = 40

// Width returns the number of characters in a line of the terminal w, or 0 if w is
// not a terminal, where nothing is cut or folded.
func Width(w io.Writer) int {
	f := TerminalOf(w)
	if f == nil {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < minWidth {
		return 0
	}
	return width
}

// Fold returns text with line breaks before words that would stand beyond width,
// and each line that it begins so after margin. Lines that are there stay.
func Fold(text string, width int, margin string) string {
	if width <= 0 {
		return text
	}
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		own := margin // of what continues the line
		if indent := line[:len(line)-len(strings.TrimLeft(line, " "))]; len(indent) > len(own) {
			own = indent
		}
		at := 0
		for j, word := range strings.SplitAfter(line, " ") {
			n := utf8.RuneCountInString(strings.TrimRight(word, " "))
			if j > 0 && at+n > width && at > len(own) {
				b.WriteString("\n" + own)
				at = len(own)
			}
			b.WriteString(word)
			at += utf8.RuneCountInString(word)
		}
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// filled is the smallest length of a line whose paragraph continues in the next one.
const filled = 70

// JoinParagraphs returns text with the lines of each paragraph made one. What is indented, and
// what follows a short line, stays a line.
func JoinParagraphs(text string) string {
	var b strings.Builder
	before := ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case i == 0:
		case len(before) >= filled && before[0] != ' ' && line != "" && line[0] != ' ':
			b.WriteByte(' ')
		default:
			b.WriteByte('\n')
		}
		b.WriteString(line)
		before = line
	}
	return b.String()
}

// FitHelp folds help texts at the width of the terminal that the command prints to.
func FitHelp(root *cobra.Command, out io.Writer) {
	width := Width(out)
	if width == 0 {
		return
	}
	cobra.AddTemplateFunc("folded", func(text string) string { return Fold(JoinParagraphs(text), width, "") })
	cobra.AddTemplateFunc("flagsFolded", func(f *pflag.FlagSet) string { return f.FlagUsagesWrapped(width) })
	root.SetUsageTemplate(strings.NewReplacer(
		".LocalFlags.FlagUsages", "flagsFolded .LocalFlags", ".InheritedFlags.FlagUsages", "flagsFolded .InheritedFlags").Replace(root.UsageTemplate()))
	root.SetHelpTemplate(`{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces | folded}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`)
}
