package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// Few returns the first names of a list, and the number of the rest.
func Few(names []string) string {
	const most = 3
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func OrStarting(doing string) string {
	if doing == "" {
		return "starting"
	}
	return doing
}

// FailedAgo says when a server got into a state, and the error that has put it there. The
// text of the error may begin with the state, which is said once.
func FailedAgo(state, text string, at, now time.Time) string {
	if state != string(upstream.StateNeedsSignIn) {
		state = "failed"
	}
	ago := fmt.Sprintf("%s %s ago", state, Duration(now.Sub(at)))
	text = Cause(text)
	if rest, ok := strings.CutPrefix(text, state); ok && (rest == "" || strings.HasPrefix(rest, ": ")) {
		return ago + rest
	}
	return ago + ": " + text
}

// Failure returns the state of a server and the error that has put it there. The text of
// the error may begin with the state, which is said once.
func Failure(state, text string) string {
	if text = Cause(text); strings.HasPrefix(text, state) {
		return text
	}
	return state + ": " + text
}

// Cause is an error of a server for people, without what the SDK says of its own
// way to it.
func Cause(text string) string {
	for _, steps := range []string{`calling "initialize": `, `sending "initialize": `, "rejected by transport: "} {
		text = strings.Replace(text, steps, "", 1)
	}
	return text
}

// Standing describes, on one line, the state of a server with unknown tools.
func Standing(st upstream.Status, now time.Time) string {
	switch {
	case st.State == upstream.StateStarting && st.Err == nil:
		return fmt.Sprintf("still %s after %s", st.Doing, Duration(now.Sub(st.Since)))
	case st.Err != nil && !st.FailedAt.IsZero():
		return FailedAgo(string(st.State), OneLine(st.Err.Error(), 200), st.FailedAt, now)
	case st.Err != nil && st.State == upstream.StateIdle:
		return "not listed yet: " + OneLine(st.Err.Error(), 200)
	case st.Err != nil:
		return Failure(string(st.State), OneLine(st.Err.Error(), 200))
	}
	return "not listed yet"
}

// InTime returns the time until an attempt, which may be due.
func InTime(at, now time.Time) string {
	if !at.After(now) {
		return "by the next command that needs it"
	}
	return "in " + Duration(at.Sub(now))
}
