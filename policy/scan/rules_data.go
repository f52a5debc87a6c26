package scan

import "strings"

// sends finds an order to send something to an address.
func (t *text) sends() bool {
	for i, h := range t.hits {
		if h.class&(send|bcc) == 0 || !t.ordered(i) && h.class&foreign == 0 {
			continue
		}
		for j := i + 1; j < len(t.hits); j++ {
			k := t.hits[j]
			if k.sentence != h.sentence || k.word > h.word+16 {
				break
			}
			if k.class&sink != 0 && !example(t.folded[h.pos:k.pos]) {
				return true
			}
		}
	}
	return false
}

// example reports whether a text announces an example.
func example(s string) bool {
	for _, e := range []string{"e.g.", "example:", "for example", "such as", "like this", "eg.", "for instance", "format"} {
		if strings.Contains(s, e) {
			return true
		}
	}
	return false
}

// readsPath finds an order to read a file with secrets.
func (t *text) readsPath() bool { return t.seqImperative(7, read, path) }

// harvestsTalk finds an order to put all of the conversation somewhere.
func (t *text) harvestsTalk() bool {
	for i, h := range t.hits {
		if h.class&(put|send) == 0 || t.negated(i) || !t.orderedHere(i) {
			continue
		}
		if t.from(i, 9, 0, []class{talk}) && t.behind(i, whole|where|param|sink) {
			return true
		}
	}
	// Word order of other languages.
	return t.all&foreign != 0 && (t.near(8, send|foreign, talk) || t.near(8, send, talk|foreign))
}

// asksForTalk finds an order to put some of the conversation into a parameter.
func (t *text) asksForTalk() bool {
	if t.place == prose {
		return false
	}
	for i, h := range t.hits {
		if h.class&(put|send) != 0 && (h.base || t.ordered(i)) && !t.negated(i) && t.from(i, 5, 0, []class{talk}) {
			return true
		}
	}
	return false
}

// orderedHere is ordered; what begins the description of a parameter is an order
// as well.
func (t *text) orderedHere(i int) bool {
	return t.ordered(i) || t.place != prose && t.hits[i].base
}

// claimsConsent finds "the user has agreed already", but not "once the user has
// agreed".
func (t *text) claimsConsent() bool {
	for i, h := range t.hits {
		if h.class&user == 0 || !t.from(i, 4, says|neg, []class{already, agreed}) && !t.from(i, 3, says|neg, []class{agreed, already}) {
			continue
		}
		before := " " + t.folded[max(0, h.pos-48):h.pos]
		if k := strings.LastIndexAny(before, ".;!?\n"); k >= 0 {
			before = before[k:]
		}
		conditional := false
		for _, w := range []string{" if ", " when ", " once ", " after ", " unless ", " until ", " whether ", " that ", " only ", " where ", " which "} {
			conditional = conditional || strings.Contains(before, w)
		}
		if !conditional {
			return true
		}
	}
	return false
}

// some reports whether a sentence has a hit of class c.
func (t *text) some(sentence int, c class) bool {
	for _, h := range t.hits {
		if h.sentence == sentence && h.class&c != 0 {
			return true
		}
	}
	return false
}

// behind reports whether a hit of class c follows hit i in its sentence.
func (t *text) behind(i int, c class) bool {
	for _, h := range t.hits[i:] {
		if h.sentence == t.hits[i].sentence && h.class&c != 0 {
			return true
		}
	}
	return false
}

// negated reports whether "never" or "do not" precedes hit i.
func (t *text) negated(i int) bool {
	for j := i - 1; j >= 0; j-- {
		k := t.hits[j]
		if k.sentence != t.hits[i].sentence || t.hits[i].word-k.word > 3 {
			return false
		}
		if k.class&(neg|says) != 0 {
			return true
		}
	}
	return false
}

// harvestsKeys finds an order to put keys somewhere that the model would have to
// look for: "any API keys from the environment", "the user's password".
func (t *text) harvestsKeys() bool {
	for i, h := range t.hits {
		if h.class&(put|send|read) == 0 || t.negated(i) {
			continue
		}
		for j := i + 1; j < len(t.hits); j++ {
			k := t.hits[j]
			if k.sentence != h.sentence || k.word > h.word+7 {
				break
			}
			if k.class&creds == 0 || k.pos < h.end {
				continue
			}
			if h.class&foreign != 0 {
				return t.some(h.sentence, whole|where|param|sink|source|user)
			}
			if h.base && t.place == prose {
				continue
			}
			if t.gathers(i, j) {
				return true
			}
		}
	}
	return t.all&foreign != 0 && (t.near(8, send|foreign, creds) || t.near(8, send, creds|foreign)) && t.all&(whole|where) != 0
}

// gathers reports whether the keys at hit j, put somewhere at hit i, belong to somebody
// other than the caller of the tool.
func (t *text) gathers(i, j int) bool {
	if rest := t.folded[t.hits[j].end:]; precedes(rest[:min(len(rest), 40)], " you know", " you can find", " you have") && rest != "" {
		return true
	}
	for m := i + 1; m < len(t.hits); m++ {
		k := t.hits[m]
		if k.sentence != t.hits[i].sentence || k.word > t.hits[j].word+8 {
			return false
		}
		if m < j && k.class&whole != 0 && t.hits[j].word-k.word <= 3 && t.folded[k.pos:k.end] != "full" {
			return true
		}
		if m > j && k.class&source != 0 && t.between(j, m, from|where|also) || m > j && k.class&(sink|param) != 0 && t.ordered(i) {
			return true
		}
	}
	return false
}

// harvestsEnviron finds an order to put the environment somewhere.
func (t *text) harvestsEnviron() bool {
	for i, h := range t.hits {
		if h.class&environ == 0 {
			continue
		}
		for j := i - 1; j >= 0; j-- {
			k := t.hits[j]
			if k.sentence != h.sentence || h.word-k.word > 6 {
				break
			}
			if k.class&(put|send|read) != 0 && !t.negated(j) && t.some(h.sentence, whole|where|content|param) && k.word != h.word {
				return t.orderedHere(j)
			}
		}
	}
	return false
}

// steers finds instructions how to use a tool of another server.
func (t *text) steers() bool {
	for _, h := range t.hits {
		if h.class&other != 0 && t.someBut(h, call|order|only|bad|must|send|also|change, 10) {
			return true
		}
	}
	return false
}

// someBut reports whether a hit of class c other than h is within n words of it.
func (t *text) someBut(h hit, c class, n int) bool {
	for _, k := range t.hits {
		if k.pos != h.pos && k.sentence == h.sentence && abs(k.word-h.word) <= n && k.class&c != 0 {
			return true
		}
	}
	return false
}

// prefers finds "before any other tool", "never use other tools".
func (t *text) prefers() bool {
	return t.seq(4, order, anyTool) && t.all&(must|only|also) != 0 || t.seq(4, neg, call, anyTool) || t.seq(4, anyTool, bad) ||
		t.seq(3, neg, anyTool) && t.all&call != 0 || t.seq(5, only, call, anyTool)
}

// addressed finds "note to the assistant", "AI agents must".
func (t *text) addressed() bool {
	for i, h := range t.hits {
		if h.class&note == 0 {
			continue
		}
		for j := i + 1; j < len(t.hits) && t.hits[j].word <= h.word+4; j++ {
			k := t.hits[j]
			if k.sentence != h.sentence || k.class&ai == 0 {
				continue
			}
			mid := t.folded[h.end:k.pos]
			if strings.Contains(mid, " to ") || strings.Contains(mid, " for ") {
				return true
			}
		}
	}
	return false
}

// silently finds "silently send": an order, not what a tool does or does not do.
func (t *text) silently() bool {
	for i, h := range t.hits {
		if h.class&silent == 0 || t.negated(i) || strings.HasSuffix(t.folded[:h.pos], "instead of ") {
			continue
		}
		for _, k := range t.hits {
			if k.sentence == h.sentence && abs(k.word-h.word) <= 7 && k.pos != h.pos && k.class&(send|put|read|call) != 0 && (!k.base || t.place != prose) {
				return true
			}
		}
	}
	return false
}

// redirected finds "change the recipient to …", "use account … instead".
func (t *text) redirected() bool {
	for i, h := range t.hits {
		if h.class&change == 0 || !t.ordered(i) {
			continue
		}
		to := sink | number
		if w := t.folded[h.pos:h.end]; w == "set" || w == "use" {
			to = number
		}
		if t.from(i, 8, 0, []class{party, to}) && !t.negated(i) {
			return true
		}
	}
	return false
}

// unseenBy finds "without the user noticing".
func (t *text) unseenBy() bool {
	for i, h := range t.hits {
		if h.class&neg == 0 || t.folded[h.pos:h.end] != "without" {
			continue
		}
		for _, k := range t.hits[i+1:] {
			if w := t.folded[k.pos:k.end]; k.sentence == h.sentence && k.word <= h.word+4 && k.class&tell != 0 && strings.HasSuffix(w, "ing") {
				return true
			}
		}
	}
	return false
}
