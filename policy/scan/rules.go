package scan

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed rules.txt
var ruleList string

// A kind is a kind of suspicious content.
type kind uint32

const (
	secrecy    kind = 1 << iota // the user must not be told
	override                    // other instructions must not count
	harvest                     // a parameter shall contain the conversation, keys or files
	exfil                       // data shall be sent to an address
	readsPath                   // a file with secrets shall be read
	crossTool                   // instructs how to use a tool of another server
	preference                  // this tool before, or instead of, all others
	consent                     // claims that the user has agreed
	toModel                     // addresses the model instead of a reader
	markup                      // tags and markers of chat templates
	comment                     // an instruction in a comment of HTML or Markdown
	decoding                    // an order to decode and obey
	persists                    // shall be kept for later sessions
	redirects                   // the recipient or account shall be changed
	phishes                     // ask the user for secrets
	commands                    // run a harmful command
	encoded                     // sentences in base64, hex and similar codes
	outOfSight                  // pushed down or to the right by blanks, or spelt letter by letter
	asksTalk                    // a parameter shall contain part of the conversation
	disguise                    // letters that look like others in words

	// These need no second kind.
	unseenChars
	shell

	// These are hints, which honest texts contain too: alone they mean nothing.
	mentionsPath
	mentionsTool
	mentionsSilence
	mentionsConsent
	mentionsCollector
	mentionsHidden
	mentionsCommand

	hints = mentionsPath | mentionsTool | mentionsSilence | mentionsConsent | mentionsCollector | mentionsHidden | mentionsCommand
	sure  = unseenChars | shell
)

// kindNames are the names of kinds, by bit. Those that begin with "-" are not part of findings.
var kindNames = strings.Fields(`secrecy override harvest exfiltration sensitive-path cross-tool preference consent to-the-model markup comment
	decode-and-do persistence redirect phishing command encoded out-of-sight asks-for-conversation lookalikes
	invisible-characters pipe-to-shell names-sensitive-path -tool silently -consent -collector -hidden -command`)

// apart bounds the words between two words of a rule.
const apart = 8

// A rule is a parsed entry of rules.txt.
type rule struct {
	kind      kind
	needs     class // for a rule with one step, at least one of them
	steps     []step
	any       bool // for other languages, in any order
	locations string
}

type step struct {
	class                 class
	order, plain, follows bool
}

var ruleTable = sync.OnceValue(func() (list []rule) {
	for name, patterns := range entries(ruleList) {
		for pattern := range strings.SplitSeq(patterns, "; ") {
			r := rule{kind: 1 << slices.Index(kindNames, name)}
			pattern, r.locations, _ = strings.Cut(pattern, " @")
			pattern, r.any = strings.CutPrefix(pattern, "~ ")
			for field := range strings.FieldsSeq(pattern) {
				names := strings.TrimLeft(field, "!->")
				signs := field[:len(field)-len(names)]
				s := step{classes(names), strings.Contains(signs, "!"), strings.Contains(signs, "-"), strings.Contains(signs, ">")}
				if s.class&(s.class-1) == 0 {
					r.needs |= s.class
				}
				r.steps = append(r.steps, s)
			}
			if r.any {
				r.needs |= foreign
			}
			list = append(list, r)
		}
	}
	return list
})

// judge returns the kinds that the rules find in a text.
func (t *text) judge() (found kind) {
	if t.all == 0 {
		return 0
	}
	for _, r := range ruleTable() {
		if t.all&r.needs == r.needs && found&r.kind == 0 && (r.locations == "" || strings.IndexByte(r.locations, locationNames[t.location]) >= 0) && t.holds(&r) {
			found |= r.kind
		}
	}
	return found
}

func (t *text) holds(r *rule) bool {
	for i := range t.hits {
		if t.fits(r, 0, i) && (r.any && t.around(r, i) || !r.any && t.rest(r, 1, i)) {
			return true
		}
	}
	return false
}

// fits reports whether hit i is step n of a rule.
func (t *text) fits(r *rule, n, i int) bool {
	h, s := &t.hits[i], &r.steps[n]
	return h.class&s.class != 0 && (!s.order || h.order) && (!s.plain || !h.negated && !h.supposed) && (!s.order || !h.negated) && (h.class&foreign != 0) == r.any
}

// rest reports whether the steps of a rule from n on follow hit i. Words after "such as" are
// examples.
func (t *text) rest(r *rule, n, i int) bool {
	if n == len(r.steps) {
		return true
	}
	most := apart
	if r.steps[n].follows {
		most = 1
	}
	for j := i + 1; j < len(t.hits) && t.hits[j].sentence == t.hits[i].sentence && t.hits[j].word-t.hits[i].word <= most+1; j++ {
		if t.hits[j].class&eg != 0 {
			return false
		}
		if t.fits(r, n, j) && t.rest(r, n+1, j) {
			return true
		}
	}
	return false
}

// around reports whether the other steps of a rule are near hit i.
func (t *text) around(r *rule, i int) bool {
	for _, s := range r.steps[1:] {
		if !slices.ContainsFunc(t.hits, func(h hit) bool {
			away := h.word - t.hits[i].word
			return away != 0 && h.sentence == t.hits[i].sentence && max(away, -away) <= apart+2 && h.class&s.class != 0 && h.class&(foreign|path|sink|param) != 0
		}) {
			return false
		}
	}
	return true
}
