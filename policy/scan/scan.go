// Package scan looks for instructions that are hidden in the definitions of servers' tools: in
// descriptions, and in every other string and key. It does no I/O, needs no model, and is
// deterministic.
//
// It knows words and phrases (words.txt), the kinds of instructions that they form in a sentence
// (rules.txt), other suspicious texts (lists.txt), invisible and disguised characters (hidden.go,
// fold.go), encodings and commands (encoded.go), and the tools of other servers (others.go). A
// text with one kind needs a review; two kinds are an attack, and so is anything that only attacks
// contain.
//
// Words can always be changed, so Pass means that no known pattern was found, never
// that a tool is harmless.
package scan

import (
	"encoding/json"
	"slices"
	"strings"
)

// A Verdict is the recommendation for a tool. A worse one is larger.
type Verdict uint8

// The verdicts.
const (
	Pass   Verdict = iota // no known pattern
	Review                // a person should read it
	Block                 // an attack, or indistinguishable from one
)

// String returns the verdict as records spell it.
func (v Verdict) String() string { return [...]string{"pass", "review", "block"}[v] }

// MarshalText implements encoding.TextMarshaler.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler; any other text is Block.
func (v *Verdict) UnmarshalText(text []byte) error {
	for *v = Pass; *v < Block && v.String() != string(text); *v++ {
	}
	return nil
}

// A Finding is a suspicious field.
type Finding struct {
	// Where is the path of the field in the tool, such as
	// "inputSchema.properties.to.description". A list of strings, such as an
	// enum, is one field.
	Where   string  `json:"where"`
	Verdict Verdict `json:"verdict"`
	// Kinds are the names of the found kinds.
	Kinds []string `json:"kinds"`
}

// A Report contains the findings about one tool.
type Report struct {
	Verdict  Verdict   `json:"verdict"`
	Findings []Finding `json:"findings,omitempty"`
}

// Where returns the paths of all findings.
func (r Report) Where() []string {
	list := make([]string, len(r.Findings))
	for i, f := range r.Findings {
		list[i] = f.Where
	}
	return list
}

// add records a finding; a second one about the same field joins the first.
func (r *Report) add(where string, v Verdict, kinds ...string) {
	if v == Pass {
		return
	}
	r.Verdict = max(r.Verdict, v)
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Where == where })
	if i < 0 {
		i = len(r.Findings)
		r.Findings = append(r.Findings, Finding{Where: where})
	}
	f := &r.Findings[i]
	f.Verdict = max(f.Verdict, v)
	for _, k := range kinds {
		if !slices.Contains(f.Kinds, k) {
			f.Kinds = append(f.Kinds, k)
		}
	}
}

// Tool scans the definition of a tool as the server lists it, a JSON object: its name, title,
// description, inputSchema, outputSchema and annotations. others are the tools of the other
// connected servers; nil means that none are known.
func Tool(server string, definition json.RawMessage, others *Others) Report {
	w := walker{server: fold(server), others: others}
	w.chatty = w.read(w.server, label).all&chat != 0
	w.tool(string(definition))
	others.imitated(&w)
	w.contradicts()
	return w.report
}

// Text scans a text outside tools, such as the instructions of a server.
func Text(server, where, s string, others *Others) Report {
	w := walker{server: fold(server), others: others, path: []string{where}}
	w.leaf(s, prose)
	return w.report
}

// A location is the purpose of a string.
type location uint8

const (
	prose     location = iota // descriptions
	parameter                 // the description of a parameter
	odd                       // enums, defaults and other strings without sentences
	label                     // names and titles
	result                    // descriptions of results, which should contain no orders
	setting                   // the description of a boolean or a number, which cannot hold text
)

// locationNames are the letters of locations in rules.
const locationNames = "dpolrs"

// maxLeaf bounds the scanned part of one string, in bytes; a longer string needs a review.
const maxLeaf = 64 << 10

// leaf scans one string.
func (w *walker) leaf(s string, at location) *text {
	if len(s) < 4 || at == odd && short(s) {
		return &text{}
	}
	key, ok := w.key(s, at)
	if ok {
		if all, known := w.others.harmless.Load(key); known {
			w.all |= all.(class)
			return &text{all: all.(class)}
		}
	}
	found, t := w.kinds(s, at, 0)
	w.all |= t.all
	// A text with one of these classes depends on names of parameters.
	if ok && found == 0 && t.all&(path|creds|talk|environ) == 0 && w.others.harmlessCount.Add(1) <= maxQuiet {
		w.others.harmless.Store(key, t.all)
	}
	if v := verdict(found, at, t); v > Pass {
		w.report.add(strings.Join(w.path, "."), v, namesOf(found)...)
	}
	return t
}

// short reports whether s has one or two words, like most values of an enum.
func short(s string) bool {
	return len(s) < 16 && strings.Trim(s, "_-./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// kinds returns the kinds in s at a location; depth is the number of times it was decoded.
func (w *walker) kinds(s string, at location, depth int) (kind, *text) {
	var found kind
	if len(s) > maxLeaf {
		s, found = s[:maxLeaf], outOfSight
	}
	t := w.read(s, at)
	found |= t.judge()
	if w.chatty {
		found &^= asksTalk
	}
	if at == setting {
		found &^= asksTalk | harvest
	}
	some, blocks, tags := look(s)
	sure, any := shells(t.folded)
	for k, is := range map[kind]bool{
		unseenChars: blocks, mentionsHidden: some && !blocks, disguise: disguised(s), markup: marked(t.folded), outOfSight: pushed(s),
		override | outOfSight: spelt(t.folded), shell: sure, commands: any, exfil | harvest: w.drains(t.folded), comment: w.commented(t.folded),
	} {
		if is {
			found |= k
		}
	}
	if depth < 2 {
		found |= w.encoded(s, t.folded, tags, depth)
	}
	return found, t
}

// verdict weighs the kinds found in one text.
func verdict(found kind, at location, t *text) Verdict {
	v := weigh(found, at)
	// A tool about attacks may quote them.
	if v == Block && found&unseenChars == 0 && t.all&detect != 0 && (at == prose || at == parameter) && t.quotes() {
		v = Review
	}
	return v
}

func weigh(found kind, at location) Verdict {
	if at == label { // a few words that say what the tool does
		found &= secrecy | override | readsPath | markup | encoded | outOfSight | disguise | sure | mentionsHidden
	}
	more := found &^ (hints | sure)
	switch hint := found & hints; {
	case found&sure != 0:
		return Block
	case more == 0:
		switch {
		case hint&mentionsSilence != 0 && hint&(mentionsPath|mentionsTool) != 0:
			return Block
		case hint&mentionsTool != 0 && hint&mentionsConsent != 0, hint&mentionsCommand != 0 && hint&mentionsSilence != 0, hint&mentionsHidden != 0 && hint != mentionsHidden, at == odd && hint&mentionsCollector != 0:
			return Review
		}
		return Pass
	case more&(more-1) != 0, // two kinds
		(at == odd || at == label) && more&^(disguise|outOfSight|markup|encoded) != 0, // where no sentence belongs
		at == parameter && more == harvest,
		hint&^implied[more] != 0:
		return Block
	}
	return Review
}

// implied are the hints that a kind implies.
var implied = map[kind]kind{readsPath: mentionsPath, crossTool: mentionsTool | mentionsCommand, preference: mentionsTool, commands: mentionsCommand, override: mentionsTool | mentionsPath, persists: mentionsPath | mentionsConsent, consent: mentionsTool | mentionsConsent}

func namesOf(found kind) []string {
	var list []string
	for i, name := range kindNames {
		if k := kind(1 << i); found&k != 0 && name[0] != '-' && (k != mentionsPath || found&readsPath == 0) {
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		list = []string{"suspicious-words"}
	}
	return list
}

// quotes reports whether the suspicious words of the text are quoted.
func (t *text) quotes() bool {
	for _, h := range t.hits {
		if h.class&suspect != 0 && h.class&detect == 0 && !h.quoted {
			return false
		}
	}
	return strings.ContainsAny(t.folded, "\"'`(")
}
