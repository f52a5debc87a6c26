package scan

import (
	"strings"
	"sync"
)

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

var kindNames = []string{"secrecy", "override", "harvest", "exfiltration", "sensitive-path", "cross-tool", "preference", "consent", "to-the-model", "markup", "comment",
	"decode-and-do", "persistence", "redirect", "phishing", "command", "encoded", "out-of-sight", "asks-for-conversation", "lookalikes",
	"invisible-characters", "pipe-to-shell", "names-sensitive-path", "", "silently"}

// apart bounds the words between two words of a rule.
const apart = 8

// rules find a kind by words in this order in one sentence, each at most apart words behind
// the one before. "a|b" is either, "!a" one that reads like an order, "-a" one that is not
// negated, ">a" one that follows within two words. In a rule that begins with "~", the
// words are of other languages than English, in any order. Behind "@" are the places that
// the rule is for, else it is for all: d(escriptions), p(arameters), r(esults), o(thers).
var rules = []struct {
	kind kind
	list []string
}{
	{secrecy, []string{"hush", "neg tell user", "neg tell >this", "neg >user >tell", "user must neg >tell", "keep this >hidden", "hide user", "~ neg tell user", "~ neg >tell this"}},
	{override, []string{"mutiny", "ignore prior|every orders", "ignore orders prior", "!ignore prior policies", "prior >orders|policies >voided", "outranks prior orders|talk", "orders|policies outranks user", "~ ignore orders", "!do this @r"}},
	{harvest, []string{
		"!put|send talk where|param|sink", "put|send talk param", "!put|send whole >talk", "-put|send whole >talk @pro", "-put|send talk where|param @pro", "whole talk where|param @pro",
		"!put|send|read creds source|param|sink|seen", "-put|send creds seen|source|param|where @pro", "creds put|send param", "creds source|seen put|send where|param @pro", "creds source neg confirm @pro", "!tell talk @po", "whole creds source|purpose|seen @pro", "-put|send|read whole creds",
		"put|send|read environ where|param", "!put|send|read environ", "put|send|read whole environ @pro", "content path @pro", "-put|send path @pro", "~ send talk", "~ send creds",
	}},
	{exfil, []string{"!send|bcc sink", "bcc sink", "path sink", "neg tell sink", "put|send|read path param", "content path param", "~ send sink", "~ read|send path param"}},
	{readsPath, []string{"!read|put|send path @dpors", "read path order @l", "path >send @dpors", "~ read|send path @dpors"}},
	{crossTool, []string{"call|order|only|bad|must|send|also|change|neg other", "other call|order|only|bad|must|send|also|change"}},
	{preference, []string{"sole", "must|only|also order anyTool", "order anyTool must|only|also", "neg call anyTool", "anyTool bad", "only call anyTool", "must call order anyTool"}},
	{consent, []string{"-user already agreed", "-user agreed already", "-already agreed user", "-agreed already", "-already agreed"}},
	{toModel, []string{"note >ai"}},
	{decoding, []string{"!decode do", "decode >do"}},
	{persists, []string{"!put|send|change memo", "future"}},
	{redirects, []string{"!change party sink", "party sink only|must|whole", "party must sink", "only|must|whole party sink"}},
	{phishes, []string{"!ask user creds"}},
	{commands, []string{"!call|do command"}},
	{asksTalk, []string{"whole >talk @p", "talk whole @p", "talk where @p", "talk purpose @p", "!put|send talk @p"}},
	{mentionsPath, []string{"path"}},
	{mentionsTool, []string{"other"}},
	{mentionsCommand, []string{"command"}},
	{mentionsCollector, []string{"sinkBad"}},
	{mentionsSilence, []string{"silent send|put|read|call", "send|put|read|call silent"}},
	{mentionsConsent, []string{"neg confirm"}},
}

// A rule is a parsed entry of rules.
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
	for _, row := range rules {
		for _, pattern := range row.list {
			r := rule{kind: row.kind}
			pattern, r.locations, _ = strings.Cut(pattern, " @")
			pattern, r.any = strings.CutPrefix(pattern, "~ ")
			for field := range strings.FieldsSeq(pattern) {
				var s step
				names := strings.TrimLeft(field, "!->")
				for _, sign := range field[:len(field)-len(names)] {
					s.order, s.plain, s.follows = s.order || sign == '!', s.plain || sign == '-', s.follows || sign == '>'
				}
				s.class = classes(names)
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
	for n := 1; n < len(r.steps); n++ {
		found := false
		for j := range t.hits {
			h := &t.hits[j]
			found = found || j != i && h.sentence == t.hits[i].sentence && max(h.word-t.hits[i].word, t.hits[i].word-h.word) <= apart+2 && h.class&r.steps[n].class != 0 && h.class&(foreign|path|sink|param) != 0
		}
		if !found {
			return false
		}
	}
	return true
}
