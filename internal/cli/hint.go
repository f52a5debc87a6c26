package cli

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Hint is text of the broker's own that names commands to type, such as "broker index
// waits for it". Where it is printed, the commands repeat the flags of RepeatFlags.
type Hint string

// A repeater adds flags to the commands that a text names.
type repeater struct {
	command func() *regexp.Regexp // compiled when flags were given
	flags   func() []string
}

// RepeatFlags makes the commands in what is printed to Out and Err repeat flags that this
// run was given, such as --config FILE, so that they work when they are copied: those in
// formats, in a Hint and in the hint of an error, and not those in the text of others.
// names are the commands of the program "broker". Call it after Filter.
func (t *IO) RepeatFlags(names []string, flags func() []string) {
	r := &repeater{flags: flags, command: sync.OnceValue(func() *regexp.Regexp {
		var quoted []string
		for _, n := range names {
			quoted = append(quoted, regexp.QuoteMeta(n))
		}
		return regexp.MustCompile(`(?:^|[^\w./-])(broker) (?:` + strings.Join(quoted, "|") + `)\b`)
	})}
	for _, w := range []io.Writer{t.Out, t.Err} {
		if s, ok := w.(*Screen); ok {
			s.repeat = r
		}
	}
}

// repeaterOf returns what repeats flags in texts for w, or nil.
func repeaterOf(w io.Writer) *repeater {
	if s, ok := w.(*Screen); ok && s.repeat != nil && len(s.repeat.flags()) > 0 {
		return s.repeat
	}
	return nil
}

// articles precede "broker" where no command to type follows, as in "the broker runs".
var articles = []string{"the ", "a ", "this ", "another ", "each ", "written by "}

// add returns a text with the flags after each "broker" that begins a command.
func (r *repeater) add(text string) string {
	if r == nil {
		return text
	}
	var words []string
	for _, f := range r.flags() {
		words = append(words, ShellWord(f))
	}
	flags := " " + strings.Join(words, " ")
	var out strings.Builder
	done := 0
	for _, at := range r.command().FindAllStringSubmatchIndex(text, -1) {
		before := strings.ToLower(text[:at[2]])
		if slices.ContainsFunc(articles, func(word string) bool { return strings.HasSuffix(before, word) }) {
			continue
		}
		out.WriteString(text[done:at[3]] + flags)
		done = at[3]
	}
	return out.String() + text[done:]
}

// format is add for the format of a Fprintf.
func (r *repeater) format(text string) string {
	if r == nil {
		return text
	}
	escaped := *r
	escaped.flags = func() (list []string) {
		for _, f := range r.flags() {
			list = append(list, strings.ReplaceAll(f, "%", "%%"))
		}
		return list
	}
	return escaped.add(text)
}

// hints replaces the hints among args.
func (r *repeater) hints(args []any) {
	for i, a := range args {
		if h, ok := a.(Hint); ok {
			args[i] = Lines(r.add(string(h)))
		}
	}
}
