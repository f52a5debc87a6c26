package await

import (
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mcpbroker/mcpbroker/broker"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// NotListed returns the error for a server with unknown tools. again is the command
// that connects to it with --refresh; refreshed is set if it did.
func NotListed(s *application.App, server, again string, refreshed bool) error {
	hint := again + " --refresh"
	if refreshed {
		hint = "servers test " + gate.Name(server)
	}
	for _, st := range s.Broker.Status() {
		if st.Name == server {
			return cli.Exit(cli.ExitServers, cli.Errorf("the tools of %s are not known: %s\nhint: broker %s", server, cli.Standing(st, time.Now()), hint))
		}
	}
	return cli.Usagef("no server is called %q", server)
}

// PrintMissing prints the state of each server that the command is about whose tools
// are not known, and a command to try next. It returns the number of these servers.
func PrintMissing(w io.Writer, s *application.App, only, prefix string) int {
	missing := s.Missing(only)
	for _, st := range missing {
		cli.Fprintf(w, "%s%s: %s\n", prefix, st.Name, cli.Standing(st, time.Now()))
	}
	switch len(missing) {
	case 0:
	case 1:
		cli.Fprintf(w, "try it now: broker servers test %s\n", missing[0].Name)
	default:
		cli.Fprintln(w, cli.Hint("try them now, and wait for them: broker index"))
	}
	return len(missing)
}

// maxUnsearched is how many servers a search explains that its query does not name.
const maxUnsearched = 2

// PrintUnsearched says which servers a search left out. Where these are many, it explains
// those that the query names, and lists the others on one line.
func PrintUnsearched(w io.Writer, s *application.App, req broker.SearchRequest) {
	missing := s.Missing(req.Server)
	if len(missing) <= maxUnsearched {
		PrintMissing(w, s, req.Server, "not searched: ")
		return
	}
	var others []string
	for _, st := range missing {
		if mentions(req.Query, st.Name) {
			cli.Fprintf(w, "not searched: %s: %s\n", st.Name, cli.Standing(st, time.Now()))
		} else {
			others = append(others, gate.Name(st.Name)+" ("+string(st.State)+")")
		}
	}
	if len(others) > 0 {
		cli.Fprintf(w, "not searched: %s\n", strings.Join(others, ", "))
	}
	cli.Fprintln(w, cli.Hint("broker servers list shows the causes; to try them now, and wait for them: broker index"))
}

// mentions reports whether a query has a word of a server's name.
func mentions(query, name string) bool {
	words := func(text string) []string {
		return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	return slices.ContainsFunc(words(name), func(word string) bool { return len(word) > 1 && slices.Contains(words(query), word) })
}
