package policy

import (
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// deletes is the subset of Destructive whose names say so, such as "delete_page". It excludes
// tools that are destructive only because they may overwrite something or run any statement, or
// because of their server's hint.
const deletes classSet = 1

// ClassDeletes is the spelling of deletes in configurations. It is not a Class.
const ClassDeletes = "deletes"

// Deletes reports whether the name of a tool says that it deletes or ends something.
func Deletes(t *discovery.Tool) bool {
	class, verb := strongestVerb(t.OwnName())
	return class == Destructive && !(strings.EqualFold(verb, "drop") && isGesture(t.OwnName()))
}

// isGesture reports whether a name describes a mouse gesture, such as "browser_drop".
func isGesture(name string) bool {
	gesture, last := false, ""
	for word, rest := nextWord(name); word != ""; word, rest = nextWord(rest) {
		last = strings.ToLower(word)
		gesture = gesture || last == "browser" || last == "mouse" || last == "drag"
	}
	return gesture && last == "drop"
}
