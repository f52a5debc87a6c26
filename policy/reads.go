package policy

import (
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/schema"
)

// onlyReads reports whether the name and the parameters of a tool, whose strongest verb
// reads, leave no doubt that it only reads. In doubt it returns false, so that a person
// is asked.
func onlyReads(t *discovery.Tool) bool {
	queries, ok := readingName(t.OwnName())
	if !ok {
		return false
	}
	if len(t.InputSchema) > maxReadSchema {
		return false
	}
	if len(t.InputSchema) == 0 {
		return true
	}
	in, err := schema.Decode(t.InputSchema)
	if err != nil {
		return false
	}
	r := reading{queries: queries}
	return r.schema(in, 0)
}

const (
	// maxReadSchema and maxReadDepth bound the schemas that are examined, in bytes and
	// levels.
	maxReadSchema, maxReadDepth = 64 << 10, 32
)

// wordSet returns the set of words of a text.
func wordSet(text string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(text) {
		set[w] = true
	}
	return set
}

var (
	// readers are the verbs that always mean reading. Others of the class Read, such as "check",
	// "query" or "convert", are also nouns or have several meanings.
	readers = wordSet("get list read search find fetch describe retrieve lookup browse inspect view show count whoami")
	// queryWords are words in the names of tools that take text in a language that can express
	// writes.
	queryWords = wordSet("query queries sql cypher graphql sparql mongo database db table tables graph")
	// doubts are words that suggest that a reader may change something.
	doubts = wordSet(`and or then pop dequeue consume ack acknowledge take claim swap swaps change changes rotate renew refresh regenerate
		drain cut once rebase squash amend undo redo autofix fix heal repair out lease unread seen`)

	// commands are parameters that contain an action or a program, so the tool may do
	// anything.
	commands = wordSet(`sql statement statements command commands cmd script code expression function program shell cypher mutation mutations
		graphql pipeline eval stdin method verb operation operations op ops action actions argv`)
	// contents are last words of parameters that are stored somewhere.
	contents = wordSet(`content contents body data payload value values patch diff updates edits document documents rows records blob bytes
		destination dest outfile`)
	// switches are words of parameters that make a tool do more than read.
	switches = wordSet(`delete remove overwrite force purge drop truncate destroy write save create insert upsert replace clear reset mark
		commit apply update consume ack pop rename move archive wipe erase cleanup fix heal`)
	// moments follow a switch in the name of a date or a person, such as "update_time".
	moments   = wordSet("date time at before after since until by")
	pathWords = wordSet("path file folder dir directory filename")
	// languages are parameters with text in the language of one of queryWords.
	languages = wordSet("query queries q statement text expression filter")
)

// readingName reports whether the first verb of a name reads, and whether the name is
// about queries in some language.
func readingName(name string) (queries, ok bool) {
	for word, rest := nextWord(name); word != ""; word, rest = nextWord(rest) {
		w := strings.ToLower(word)
		switch {
		case doubts[w]:
			return false, false
		case readers[w]:
			ok = true
		case !ok && verbs[w].class != 0 && !verbs[w].noun:
			return false, false // the first verb is another one
		}
		queries = queries || queryWords[w]
	}
	return queries, ok
}

// A reading searches a schema for parameters that may write.
type reading struct{ queries bool }

// schema reports whether no part of a JSON Schema may write.
func (r *reading) schema(v any, depth int) bool {
	if depth > maxReadDepth {
		return false
	}
	switch v := v.(type) {
	case *schema.Object:
		for i, key := range v.Keys {
			member := v.Vals[i]
			if properties, ok := member.(*schema.Object); ok && key == "properties" {
				for i, name := range properties.Keys {
					if r.writes(name) || !r.schema(properties.Vals[i], depth+1) {
						return false
					}
				}
				continue
			}
			if key == "patternProperties" || (key == "enum" || key == "const") && mayWrite(member) {
				return false
			}
			switch key {
			case "description", "title", "default", "examples", "enum", "const", "required":
				continue
			}
			if !r.schema(member, depth+1) {
				return false
			}
		}
	case []any:
		for _, member := range v {
			if !r.schema(member, depth+1) {
				return false
			}
		}
	}
	return true
}

// writes reports whether a parameter with that name may make a tool write.
func (r *reading) writes(name string) bool {
	var words []string
	for word, rest := nextWord(name); word != ""; word, rest = nextWord(rest) {
		words = append(words, strings.ToLower(word))
	}
	if len(words) == 0 {
		return true // unknown words count as writes
	}
	last := words[len(words)-1]
	for i, w := range words {
		switch {
		case commands[w] && (i == len(words)-1 || w == "sql"):
			return true
		case switches[w] && !moments[last]:
			return true
		case (w == "output" || w == "out" || w == "download" || w == "target") && pathWords[last]:
			return true
		}
	}
	return contents[last] || r.queries && languages[last]
}

// mayWrite reports whether an allowed value of a parameter, such as "delete" or "PUT",
// is a verb that writes.
func mayWrite(v any) bool {
	switch v := v.(type) {
	case string:
		if len(v) > maxEnumValue {
			return true
		}
		for word, rest := nextWord(v); word != ""; word, rest = nextWord(rest) {
			verb := verbs[strings.ToLower(word)]
			if verb.class == Destructive || verb.class == Write && !verb.noun {
				return true
			}
		}
	case []any:
		if slices.ContainsFunc(v, mayWrite) {
			return true
		}
	}
	return false
}

// maxEnumValue bounds the values that are read word by word, in bytes.
const maxEnumValue = 64
