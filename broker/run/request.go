package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/words"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// A Request is one script to run.
type Request struct {
	// ID is the id of the execution, or empty for a new one.
	ID   string
	Code string
	// Resume is the id of a run to resume: with its own code if Code is empty or the
	// same, and otherwise with Code, which reuses the writes of the run.
	Resume string
	// Plan lists what the script would write, instead of writing it; a person approves
	// the list.
	Plan bool
	// Language is "typescript" (also "ts"), "javascript" ("js") or "python"
	// ("py"); empty means the broker's default.
	Language string
	// Isolation is "worker" or "container"; empty means the default of the language.
	// AnyIsolation allows values outside Options.Isolations, for the user.
	Isolation    string
	AnyIsolation bool
	// Timeout is the requested time limit; zero means the default. It is clamped to the maximum.
	Timeout time.Duration
	// Client is the client's name, and ClientInfo its description of itself, for the
	// record.
	Client, ClientInfo string
	// Owner owns the values and results that the script reads and writes: the name of
	// the client's token, or state.Local.
	Owner string
	// Profile replaces the user's profile when the user resumes a run: it is the
	// profile of that run.
	Profile string
	// Narrowed are the further profiles of that run, as in state.Run.
	Narrowed json.RawMessage
	// Team is the team whose quota counts, or empty.
	Team string
	// Session is the client's conversation, where the protocol tells them apart; skills that a
	// user has picked belong to one.
	Session string
	// Progress is called for each call that is sent, with the number of calls so far and the tool.
	// It is also called, with 0, for the progress and log messages of servers. It must not block.
	// It may be nil.
	Progress func(calls int, message string)
	// Talker answers questions of servers while the script waits for them. Equal talkers are one
	// client. Nil refuses all questions.
	Talker upstream.Talker
	// Stdout and Stderr receive the output of the script, uncut, while it runs. They may be nil.
	Stdout, Stderr io.Writer
	// Uncut leaves the answer's result uncut.
	Uncut bool
	// Shell reports that the answer is for a user at a terminal.
	Shell bool
	// File is the name of the script in messages; empty means agent.ts.
	File string
}

// Sharer returns the name that gets a fair share of common resources: the token's
// owner, or the session if there is no token.
func (r *Request) Sharer() string {
	if r.Owner != "" && r.Owner != state.Local {
		return r.Owner
	}
	return r.Client + "\x00" + r.Session
}

// languages maps the accepted names of languages to languages.
var languages = map[string]sandbox.Language{
	"typescript": sandbox.TypeScript, "ts": sandbox.TypeScript,
	"javascript": sandbox.JavaScript, "js": sandbox.JavaScript,
	"python": sandbox.Python, "py": sandbox.Python,
}

// location returns the language of a script and its isolation.
func (o *Options) location(req *Request) (sandbox.Language, sandbox.Isolation, error) {
	lang, ok := languages[strings.ToLower(req.Language)]
	if req.Language == "" {
		lang, ok = o.Language, true
	}
	if !ok {
		return "", "", fmt.Errorf("unknown language %q: use %s", gate.Cut(req.Language, 40), words.Or(o.Languages))
	}
	isolation, err := o.isolation(req)
	if err != nil {
		return "", "", err
	}
	// With a chosen isolation, the default of the language does not matter.
	if why := o.refusal(lang); why != "" && (isolation == "" || lang == sandbox.Python) {
		return "", "", fmt.Errorf("%s does not run here: %s", lang, why)
	}
	if req.Plan && (lang == sandbox.Python || isolation == sandbox.InContainer) {
		return "", "", errors.New(noPlan)
	}
	if req.Plan && o.Runs == nil {
		return "", "", errors.New("this broker keeps no journals, which a plan needs: run it without plan")
	}
	if strings.TrimSpace(req.Code) == "" {
		return "", "", errors.New("there is no code to run: put the script into \"code\"")
	}
	return lang, isolation, nil
}

// refusal returns the reason a language does not run, and what to do, or "".
func (o *Options) refusal(lang sandbox.Language) string {
	others := slices.DeleteFunc(slices.Clone(o.Languages), func(l sandbox.Language) bool { return o.UnavailableLanguages[l] != "" })
	switch why := o.UnavailableLanguages[lang]; {
	case slices.Contains(others, lang):
		return ""
	case why == "":
		return "use " + words.Or(others)
	case len(others) > 0:
		return why + "; or use " + words.Or(others)
	default:
		return why
	}
}

// isolation returns the isolation that a script asks for, if it is free to choose.
func (o *Options) isolation(req *Request) (sandbox.Isolation, error) {
	isolation := sandbox.Isolation(strings.ToLower(strings.TrimSpace(req.Isolation)))
	choice := o.Isolations
	if req.AnyIsolation {
		choice = []sandbox.Isolation{sandbox.InWorker, sandbox.InContainer}
	}
	switch {
	case isolation == "" || slices.Contains(choice, isolation):
		return isolation, nil
	case len(choice) < 2:
		return "", errors.New("a script cannot choose its isolation here (config: sandbox.perCall): leave it out")
	}
	return "", fmt.Errorf("unknown isolation %q: use %s", gate.Cut(req.Isolation, 40), words.Or(choice))
}

// timeout returns the time limit of a script: the requested time, or the maximum and a note if
// that is less.
func (o *Options) timeout(t time.Duration) (limit time.Duration, note string) {
	switch {
	case t <= 0:
		return min(o.Timeout, o.MaxTimeout), ""
	case t > o.MaxTimeout:
		return o.MaxTimeout, fmt.Sprintf("timeout is at most %g s here (config: maxTimeout); %g s were asked for", o.MaxTimeout.Seconds(), t.Seconds())
	}
	return t, ""
}
