package policy

import (
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// deletes is the part of Destructive with a name that says so, such as "delete_page".
// Tools that are destructive only because they may overwrite something or run any
// statement, or because of their server's hint, are not in it.
const deletes classSet = 1

// ClassDeletes is deletes as configurations spell it. It is no class of a tool.
const ClassDeletes = "deletes"

// Deletes reports whether the name of a tool says that it deletes or ends something.
func Deletes(t *discovery.Tool) bool {
	class, verb := strongestVerb(t.OwnName())
	return class == Destructive && !(strings.EqualFold(verb, "drop") && isGesture(t.OwnName()))
}

// isGesture reports whether a name is about what a mouse drops, such as "browser_drop".
func isGesture(name string) bool {
	gesture, last := false, ""
	for word, rest := nextWord(name); word != ""; word, rest = nextWord(rest) {
		last = strings.ToLower(word)
		gesture = gesture || last == "browser" || last == "mouse" || last == "drag"
	}
	return gesture && last == "drop"
}
