// Package scan looks for instructions that are hidden in the definitions of servers'
// tools: in descriptions, and in every other string and key. It does no I/O, needs no
// model, and is deterministic.
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
	Block                 // an attack, or what looks the same
)

// String returns the verdict as records spell it.
func (v Verdict) String() string { return [...]string{"pass", "review", "block"}[v] }

// MarshalText implements encoding.TextMarshaler.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler; what is not a verdict is
// Block.
func (v *Verdict) UnmarshalText(text []byte) error {
	for *v = Pass; *v < Block && v.String() != string(text); *v++ {
	}
	return nil
}

// A Finding is what is wrong with one field.
type Finding struct {
	// Where is the path of the field in the tool, such as
	// "inputSchema.properties.to.description". A list of strings, such as an
	// enum, is one field.
	Where   string  `json:"where"`
	Verdict Verdict `json:"verdict"`
	// Kinds name the patterns.
	Kinds []string `json:"kinds"`
}

// A Report is what was found in one tool.
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
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Where == where {
			f.Verdict = max(f.Verdict, v)
			for _, k := range kinds {
				if !slices.Contains(f.Kinds, k) {
					f.Kinds = append(f.Kinds, k)
				}
			}
			return
		}
	}
	r.Findings = append(r.Findings, Finding{where, v, kinds})
}

// Tool scans the definition of a tool as the server lists it, a JSON object.
// What is scanned are its name, title, description, inputSchema, outputSchema
// and annotations. Others are the tools of other servers that are connected; nil
// means that none are known.
func Tool(server string, definition json.RawMessage, others *Others) Report {
	w := newWalker(server, others)
	defer w.done()
	w.tool(definition)
	others.imitated(w)
	w.contradicts()
	return w.report
}

// Text scans a text outside of tools, such as the instructions of a server.
func Text(server, where, s string, others *Others) Report {
	w := newWalker(server, others)
	defer w.done()
	w.leaf(s, prose, func() string { return where })
	return w.report
}

// A place is the purpose of a string.
type place uint8

const (
	prose     place = iota // descriptions
	parameter              // the description of a parameter
	odd                    // enums, defaults and what else holds no sentences
	label                  // names and titles
	result                 // descriptions of results: no order is in its place there
	property               // names of properties, as written
)

// leaf scans one string.
func (w *walker) leaf(s string, at place, where func() string) {
	if len(s) < 4 {
		return
	}
	key := w.key(s, at)
	if c, ok := w.scope.others.isInert(key); ok {
		w.all |= c
		return
	}
	found, t := w.signals(s, featuresOf(s), at, 0)
	w.all |= t.all
	if found == 0 {
		// What a parameter's name means differs from tool to tool.
		if t.all&(path|creds|talk|environ) == 0 {
			w.scope.others.setInert(key, t.all)
		}
		return
	}
	if v := verdict(found, at, t); v > Pass {
		if soft := found & strong; at == parameter && soft != 0 && soft&^(harvest|asksTalk|exfil) == 0 && w.switches() {
			return
		}
		w.report.add(where(), v, kinds(found)...)
	}
}

// hard are signals that need no second one.
const (
	unseenChars signal = 1 << (iota + 30)
	shell
)

// maxLeaf is how much of one string is scanned; what is behind it is a reason
// for a review.
const maxLeaf = 64 << 10

// signals returns what is wrong with s at a place; depth is the number of times it was
// decoded.
func (w *walker) signals(s string, f features, at place, depth int) (signal, *text) {
	var found signal
	if len(s) > maxLeaf {
		s, found = s[:maxLeaf], outOfSight
	}
	t := &text{folded: fold(s), scope: &w.scope, place: at, chatty: w.chatty}
	if depth == 0 {
		t.hits = *w.hits
	}
	t.tokens()
	// What names mean counts beside these only, or in what was encoded, and costs more to find out.
	if (t.all&(path|creds|talk|environ) != 0 || depth > 0) && w.scope.schema != "" {
		t.params, t.hits, t.all = true, t.hits[:0], 0
		t.tokens()
	}
	if depth == 0 {
		*w.hits = t.hits[:0]
	}
	found |= t.judge()
	var u unseen
	if f.unseen {
		if u = look(s); u.blocks() {
			found |= unseenChars
		} else if u.any() {
			found |= aHidden
		}
		if disguised(s) {
			found |= disguise
		}
	}
	if f.blanks && pushed(s) {
		found |= outOfSight
	}
	if t.all&coded != 0 && piped(t.folded) {
		found |= shell
	} else if (f.pipe || f.unseen) && shellBehind(t.folded) && intoShell().MatchString(t.folded) {
		found |= commands
	}
	if f.bracket && t.commented() {
		found |= comment
	}
	if f.address && drains(t.folded) {
		found |= exfil | harvest
	}
	if f.singles {
		found |= w.spaced(t.folded, at) &^ found
	}
	if depth < 2 {
		found |= w.payload(s, t, u, f, depth)
	}
	return found, t
}

// spaced returns what letters that stand alone spell.
func (w *walker) spaced(folded string, at place) signal {
	var found signal
	if squeezed(folded) {
		found = override | outOfSight
	}
	if plain, ok := joined(folded); ok {
		t := &text{folded: plain, scope: &w.scope, place: at, chatty: w.chatty, params: true}
		t.tokens()
		if more := t.judge() & strong; more != 0 {
			found |= more | outOfSight
		}
	}
	return found
}

// verdict weighs the signals of one text.
func verdict(found signal, at place, t *text) Verdict {
	v := weigh(found, at)
	if at == label && found&aPath != 0 && t.seq(5, read, path) && t.all&order != 0 {
		v = max(v, Review) // a title that orders something
	}
	// A tool that is about attacks may quote them.
	if v == Block && found&unseenChars == 0 && t.all&detect != 0 && (at == prose || at == parameter) && t.quotes() {
		v = Review
	}
	return v
}

func weigh(found signal, at place) Verdict {
	if at == label { // a few words, of what the tool does
		found &^= crossTool | preference | harvest | asksTalk | exfil | readsPath | commands | weak&^aHidden
		at = odd
	}
	hard := found & (unseenChars | shell)
	soft := found & strong &^ hard
	weak := found & weak
	switch {
	case hard != 0:
		return Block
	case soft == 0:
		switch {
		case weak&aSilence != 0 && weak&(aPath|aSecret|aTool|aConversation) != 0:
			return Block
		case weak&aTool != 0 && weak&aConsent != 0, weak&aCommand != 0 && weak&aSilence != 0:
			return Review
		case weak&aConsent != 0 && weak&aSecret != 0 && at == parameter:
			return Review
		case at == odd && weak&aCollector != 0, weak&aHidden != 0 && weak&^aHidden != 0:
			return Review
		}
		return Pass
	case at == odd && soft&^(disguise|outOfSight|markup|encoded) != 0:
		return Block
	case at == parameter && soft&harvest != 0:
		return Block
	case soft&(soft-1) != 0:
		return Block
	}
	// One soft signal, and a piece of another.
	switch soft {
	case secrecy:
		weak &= aPath | aTool | aSilence | aCommand | aCollector | aHidden | aConversation | aSink | aSecret
	case readsPath:
		weak &= aSilence | aCollector | aHidden | aConsent | aTool
	case exfil:
		weak &= aPath | aSilence | aTool | aCollector | aConversation | aHidden
	case harvest:
		weak &= aPath | aSilence | aCollector | aHidden | aTool
	case crossTool:
		weak &= aSilence | aConsent | aPath | aHidden | aCollector
	case comment:
		weak &= aPath | aSilence | aCommand | aCollector | aHidden | aTool | aSink
	case toModel, markup:
		weak &= aPath | aSilence | aCommand | aCollector | aHidden | aTool
	case commands:
		weak &= aPath | aSilence | aCollector | aHidden | aTool | aConsent
	default:
		weak &= aPath | aSilence | aCollector | aHidden | aCommand | aTool
	}
	if weak != 0 {
		return Block
	}
	return Review
}

func kinds(found signal) []string {
	var list []string
	for i, name := range signalNames {
		if found&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	for _, k := range []struct {
		signal signal
		name   string
	}{{unseenChars, "invisible-characters"}, {shell, "pipe-to-shell"}, {aPath, "names-sensitive-path"}, {aSilence, "silently"}} {
		if found&k.signal != 0 && (k.signal != aPath || found&readsPath == 0) {
			list = append(list, k.name)
		}
	}
	if len(list) == 0 {
		list = []string{"suspicious-words"}
	}
	return list
}

// quotes reports whether the suspicious part of the text is quoted.
func (t *text) quotes() bool {
	for _, h := range t.hits {
		if h.class&(hush|ignore|mutiny|mark|path|command|tell|anyTool) != 0 && h.class&detect == 0 && !h.quoted {
			return false
		}
	}
	return strings.ContainsAny(t.folded, "\"'`(")
}
