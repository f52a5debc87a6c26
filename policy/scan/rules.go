package scan

import "strings"

// A signal is one thing that is wrong with a text, or could be.
type signal uint32

const (
	secrecy    signal = 1 << iota // the user shall not be told
	override                      // other instructions shall not count
	harvest                       // a parameter is to hold the conversation, keys or files
	exfil                         // data is to be sent to an address
	readsPath                     // a file with secrets is to be read
	crossTool                     // instructs how to use a tool of another server
	preference                    // this tool before, or in place of, all others
	consent                       // claims that the user has agreed
	toModel                       // is addressed to the model, not to a reader
	markup                        // tags, marks of chat templates
	comment                       // words in a comment of HTML or Markdown
	decoding                      // decode and do
	persists                      // is to be kept for later sessions
	redirects                     // recipient or account is to be changed
	phishes                       // ask the user for secrets
	commands                      // run a harmful command
	encoded                       // sentences in base64, hex and the like
	outOfSight                    // pushed down or to the right by blanks
	asksTalk                      // a parameter is to hold something of the conversation
	disguise                      // letters that look like others in words

	// These are pieces that honest texts have too: alone they mean nothing.
	aPath
	aSecret
	aTool
	aCommand
	aSilence
	aConsent
	aCollector
	aConversation
	aHidden
	aSink
)

const (
	weak   = aPath | aSecret | aTool | aCommand | aSilence | aConsent | aCollector | aConversation | aHidden | aSink
	strong = aPath - 1
)

var signalNames = []string{"secrecy", "override", "harvest", "exfiltration", "sensitive-path", "cross-tool", "preference", "consent", "to-the-model", "markup", "comment",
	"decode-and-do", "persistence", "redirect", "phishing", "command", "encoded", "out-of-sight", "asks-for-conversation", "lookalikes"}

// judge returns the signals of a text.
func (t *text) judge() signal {
	var s signal
	if t.all == 0 {
		return 0
	}
	for _, r := range ruleTable {
		if t.all&r.needs == r.needs && (r.any == 0 || t.all&r.any != 0) && s&r.signal == 0 && r.holds(t) {
			s |= r.signal
		}
	}
	for _, w := range []struct {
		class  class
		signal signal
	}{{path, aPath}, {creds, aSecret}, {other, aTool}, {command, aCommand}, {sinkBad, aCollector}, {sink, aSink}, {talk, aConversation}} {
		if t.all&w.class != 0 {
			s |= w.signal
		}
	}
	return s
}

// A rule finds one signal; needs are classes that must all be there, and any
// some of them, before it is asked.
type rule struct {
	signal     signal
	needs, any class
	holds      func(*text) bool
}

var ruleTable = []rule{
	{secrecy, hush, 0, func(*text) bool { return true }},
	{secrecy, neg | tell, user | this, (*text).untold},
	{secrecy, neg | tell | user | foreign, 0, func(t *text) bool { return t.near(9, neg|foreign, tell|foreign, user|foreign) }},
	{secrecy, keep | hidden | this, 0, func(t *text) bool { return t.seq(3, keep, this, hidden) }},
	{secrecy, neg | user | tell, 0, func(t *text) bool {
		return strings.Contains(t.folded, "without") && t.seqBut(3, says, neg, user, tell) && t.unseenBy()
	}},
	{secrecy, hide | user | from, 0, func(t *text) bool { return t.seq(5, hide, from, user) }},
	{override, do | this, 0, func(t *text) bool { return t.place == result && t.seqImperative(2, do, this) }},
	{override, mutiny, 0, func(*text) bool { return true }},
	{override, ignore | orders, 0, (*text).overrides},
	{override, ignore | orders | foreign, 0, func(t *text) bool {
		return t.near(6, ignore|foreign, orders) || t.near(6, ignore, orders|foreign)
	}},
	{override, ignore | rules | prior, 0, func(t *text) bool { return t.seqOf(priorRules) }},
	{crossTool, other, 0, (*text).steers},
	{preference, anyTool, 0, (*text).prefers},
	{preference, sole, 0, func(*text) bool { return true }},
	{consent, user | agreed, already, (*text).claimsConsent},
	{toModel, note | ai, 0, (*text).addressed},
	{markup, mark, 0, func(*text) bool { return true }},
	{decoding, decode | do, 0, func(t *text) bool { return t.seqImperative(8, decode, do) }},
	{persists, memo, put | send | change, func(t *text) bool { return t.seqImperative(9, put|send|change, memo) }},
	{persists, future, 0, func(*text) bool { return true }},
	{redirects, party | change, sink | number, (*text).redirected},
	{phishes, ask | user | creds, 0, func(t *text) bool { return t.seqImperative(6, ask, user, creds) }},
	{commands, command, 0, func(t *text) bool { return t.seqImperative(4, call|do, command) }},
	{readsPath, path | read, 0, (*text).readsPath},
	{readsPath, path | foreign, read | send, func(t *text) bool { return t.near(10, (read|send)|foreign, path) }},
	{exfil, sink, send | bcc, (*text).sends},
	{exfil, param | path, put | send | read, func(t *text) bool {
		return t.seq(10, put|send|read, path, param) || t.seq(12, path, put|send, param)
	}},
	{exfil, path | sink, 0, func(t *text) bool { return t.seq(6, path, sink) }},
	{exfil, path | param | put, 0, func(t *text) bool { return t.readsPath() && t.seqImperative(5, put, param) }},
	{exfil, bcc | sink, 0, func(t *text) bool { return t.seq(8, bcc, sink) }},
	{harvest, talk, 0, (*text).harvestsTalk},
	{harvest, content | path, 0, func(t *text) bool {
		return t.place != prose && t.seq(4, content, path) && !strings.Contains(t.folded, "path")
	}},
	{harvest, put | path, 0, func(t *text) bool {
		return t.place == parameter && t.hits[0].base && t.plain(6, put, path) && !strings.Contains(t.folded, "path")
	}},
	{harvest, creds | whole, source | purpose, func(t *text) bool { return t.place != prose && t.seq(2, whole, creds) }},
	{harvest, creds | put | param, 0, func(t *text) bool { return t.plain(8, creds, put, param) || t.plain(8, put, creds, param) }},
	{harvest, creds | seen | put, 0, func(t *text) bool { return t.place != prose && t.plain(6, put, creds, seen) }},
	{exfil, content | path | param, 0, func(t *text) bool { return t.seq(12, content, path, param) }},
	{override, voided, orders | rules, func(t *text) bool { return t.seq(3, orders|rules, voided) && t.seqOf(ignored) }},
	{override, outranks, orders | talk, func(t *text) bool { return t.seq(4, outranks, orders|talk) && t.all&prior != 0 }},
	{override, outranks | user, orders | rules, func(t *text) bool { return t.seq(5, orders|rules, outranks, user) }},
	{redirects, party | number, only | must | whole, func(t *text) bool { return t.seq(4, party, number) && t.all&(only|must|whole) != 0 && t.place == prose }},
	{readsPath, path | send, 0, func(t *text) bool { return t.seqImperative(6, path, send) }},
	{asksTalk, talk | whole, 0, func(t *text) bool {
		return t.place == parameter && !t.chatty && (t.seq(2, whole, talk) || t.seq(4, talk, whole) || t.both(talk, whole))
	}},
	{asksTalk, creds | put | where, source | seen, func(t *text) bool { return t.place == parameter && t.plain(3, put, where) }},
	{asksTalk, talk | where | tell, 0, func(t *text) bool { return t.both(talk, where) && t.plain(2, tell, talk) }},
	{asksTalk, talk | where, 0, func(t *text) bool { return t.place == parameter && !t.chatty && t.both(talk, where) }},
	{asksTalk, creds | foreign, send, func(t *text) bool {
		return t.place != prose && t.near(8, send|foreign, creds|foreign, user|foreign)
	}},
	{asksTalk, talk | purpose, 0, func(t *text) bool { return t.place == parameter && t.seq(10, talk, purpose) }},
	{asksTalk, talk, put | send, (*text).asksForTalk},
	{harvest, creds, 0, (*text).harvestsKeys},
	{harvest, environ, 0, (*text).harvestsEnviron},
	{aSilence, silent, send | put | read | call, (*text).silently},
	{aConsent, neg | confirm, 0, func(t *text) bool { return t.seqBut(2, says, neg, confirm) }},
}

// seq reports whether hits of the classes follow each other in one sentence,
// each at most n words behind the one before.
func (t *text) seq(n int, classes ...class) bool { return t.seqBut(n, 0, classes...) }

// seqBut is seq, where no hit of the sequence is of class but.
func (t *text) seqBut(n int, but class, classes ...class) bool {
	for i, h := range t.hits {
		if has(h.class, classes[0]) && h.class&but == 0 && t.from(i, n, but, classes[1:]) {
			return true
		}
	}
	return false
}

// has reports whether c has a class of want; foreign in want is a condition.
func has(c, want class) bool {
	if want&foreign != 0 && want != foreign {
		return c&foreign != 0 && c&(want&^foreign) != 0
	}
	return c&want != 0
}

func (t *text) from(i, n int, but class, classes []class) bool {
	if len(classes) == 0 {
		return true
	}
	h := t.hits[i]
	for j := i + 1; j < len(t.hits); j++ {
		k := t.hits[j]
		if k.sentence != h.sentence || k.word > h.word+n {
			return false
		}
		if has(k.class, classes[0]) && k.class&but == 0 && k.pos >= h.pos+1 && t.from(j, n, but, classes[1:]) {
			return true
		}
	}
	return false
}

// seqImperative is seq with an order first, not the verb at the beginning that
// describes the tool.
func (t *text) seqImperative(n int, classes ...class) bool {
	for i, h := range t.hits {
		if has(h.class, classes[0]) && t.ordered(i) && t.from(i, n, 0, classes[1:]) {
			return true
		}
	}
	return false
}

// ordered reports whether hit i reads like an order: it is not the first word of the
// text, and in the first sentence a word such as "also" precedes it.
func (t *text) ordered(i int) bool {
	h := t.hits[i]
	if h.base && (t.place == prose || t.place == parameter) {
		return false
	}
	if h.sentence > 0 || h.base {
		return true
	}
	for j := i - 1; j >= 0; j-- {
		k := t.hits[j]
		if k.class&(also|must|order) != 0 && h.word-k.word <= 5 {
			return true
		}
	}
	// "…: read it", "…, read it", "(read it)"
	before := strings.TrimRight(t.folded[:h.pos], " \n\t\"'`*_")
	return before != "" && strings.IndexByte(":,(>]-", before[len(before)-1]) >= 0
}

// imperative is ordered for ambiguous words: they must begin a sentence or a clause, or
// follow a word such as "must".
func (t *text) imperative(i int) bool {
	h := t.hits[i]
	if i > 0 && t.hits[i-1].class&(also|must) != 0 && h.word-t.hits[i-1].word <= 1 {
		return true
	}
	before := strings.TrimRight(t.folded[:h.pos], " \n\t\"'`*_")
	return before == "" || strings.IndexByte(".:,;(>]-!?", before[len(before)-1]) >= 0
}

// near reports whether hits of all classes are within n words of one sentence.
func (t *text) near(n int, classes ...class) bool {
	for i, h := range t.hits {
		if !has(h.class, classes[0]) {
			continue
		}
		found := true
		for _, c := range classes[1:] {
			ok := false
			for j, k := range t.hits {
				if j != i && k.sentence == h.sentence && abs(k.word-h.word) <= n && has(k.class, c) {
					ok = true
					break
				}
			}
			found = found && ok
		}
		if found {
			return true
		}
	}
	return false
}

func abs(n int) int { return max(n, -n) }

// untold finds "do not tell the user", "do not mention this", "the user must
// not see".
func (t *text) untold() bool {
	for i, h := range t.hits {
		if h.class&neg == 0 || h.class&(says|foreign) != 0 {
			continue
		}
		for j := i + 1; j < len(t.hits); j++ {
			k := t.hits[j]
			if k.sentence != h.sentence || k.word > h.word+4 {
				break
			}
			if k.class&tell == 0 || k.class&foreign != 0 {
				continue
			}
			if t.about(j) {
				return true
			}
			// "the user must not see"
			for b := i - 1; b >= 0; b-- {
				u := t.hits[b]
				if u.sentence != h.sentence || h.word-u.word > 4 {
					break
				}
				if u.class&user != 0 && k.word-h.word <= 3 && b+1 <= i && t.between(b, i, must) {
					return true
				}
			}
		}
	}
	return false
}

// about reports whether the secret at hit j is "this", or is to be kept from the user.
// To keep a secret from being shown does not count.
func (t *text) about(j int) bool {
	k := t.hits[j]
	for m := j + 1; m < len(t.hits); m++ {
		u := t.hits[m]
		if u.sentence != k.sentence || u.word > k.word+6 {
			return false
		}
		if u.class&(creds|environ) != 0 {
			return false
		}
		if u.class&this != 0 && u.word-k.word <= 2 && u.class&(order) == 0 && t.ordered(j) {
			return t.alone(m)
		}
		if u.class&user != 0 && !t.protects(m) {
			return true
		}
	}
	return false
}

// alone reports whether hit m is an object by itself, as in "mention this.", not
// in "mention this name".
func (t *text) alone(m int) bool {
	rest := strings.TrimLeft(t.folded[t.hits[m].end:], " ")
	if t.folded[t.hits[m].pos:t.hits[m].end] == "that" && precedes(rest, "it ", "you ", "this ", "the tool", "the file", "a copy") && rest != "" {
		return true
	}
	if rest == "" || strings.IndexByte(".,;:!)\"'`<\n", rest[0]) >= 0 {
		return true
	}
	return precedes(rest, "to ", "and ", "or ", "in your", "in the answer", "in the reply", "in the response", "at all", "ever", "anywhere", "step", "call", "action", "instruction", "because")
}

// protects reports whether the user at hit m owns what is not to be shown, as in
// "the user's password".
func (t *text) protects(m int) bool {
	rest := t.folded[t.hits[m].end:]
	return strings.HasPrefix(rest, "'s") || precedes(rest[:min(len(rest), 12)], " password", " data", " id", " token", " name") && rest != ""
}

// between reports whether a hit of class c is from hit a to hit b.
func (t *text) between(a, b int, c class) bool {
	for i := a; i <= b; i++ {
		if t.hits[i].class&c != 0 {
			return true
		}
	}
	return false
}

// overrides finds "ignore all previous instructions".
func (t *text) overrides() bool {
	for i, h := range t.hits {
		if h.class&ignore == 0 || h.class&foreign != 0 {
			continue
		}
		for j := i + 1; j < len(t.hits); j++ {
			k := t.hits[j]
			if k.sentence != h.sentence || k.word > h.word+6 {
				break
			}
			if k.class&orders == 0 || k.class&foreign != 0 && k.class&^foreign == orders {
				continue
			}
			for m := i + 1; m < len(t.hits); m++ { // "ignore the instructions above" too
				p := t.hits[m]
				if p.sentence != h.sentence || p.word > k.word+3 {
					break
				}
				if p.class&prior != 0 && m != j {
					return true
				}
			}
		}
	}
	return false
}

// priorRules finds "ignore your previous rules" with the verb at hit i.
func priorRules(t *text, i int) bool {
	return t.hits[i].class&ignore != 0 && t.imperative(i) && earlier(t, i+1, t.hits[i].word+5)
}

// ignored finds "your earlier rules" at hit i.
func ignored(t *text, i int) bool { return earlier(t, i, t.hits[i].word+2) }

// earlier reports whether "previous rules", "your policies" or the like begin
// at hit i and end before a word: rules that a tool has too count only if they
// are somebody else's.
func earlier(t *text, i, word int) bool {
	for j := i; j < len(t.hits) && t.hits[j].word <= word && t.hits[j].sentence == t.hits[i].sentence; j++ {
		p := t.hits[j]
		if p.class&prior == 0 {
			continue
		}
		switch t.folded[p.pos:p.end] {
		case "all", "any", "existing", "default", "other", "every", "everything", "original", "initial":
			continue
		}
		for k := j + 1; k < len(t.hits) && t.hits[k].word <= p.word+2; k++ {
			if t.hits[k].class&(rules|orders) != 0 && t.hits[k].sentence == p.sentence {
				return true
			}
		}
	}
	return false
}

// seqOf reports whether f holds at a hit.
func (t *text) seqOf(f func(*text, int) bool) bool {
	for i := range t.hits {
		if f(t, i) {
			return true
		}
	}
	return false
}

// plain is seq where the first is not negated.
func (t *text) plain(n int, classes ...class) bool {
	for i, h := range t.hits {
		if has(h.class, classes[0]) && !t.negated(i) && t.from(i, n, 0, classes[1:]) {
			return true
		}
	}
	return false
}

// both reports whether one phrase is of both classes.
func (t *text) both(a, b class) bool {
	for _, h := range t.hits {
		if h.class&a != 0 && h.class&b != 0 {
			return true
		}
	}
	return false
}
