package index

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Bounds on the needs of a query: how many are looked at, how many hits of each come
// before the rest, and the share of the highest possible score that such a hit has.
const (
	maxNeeds   = 6
	hitsOfNeed = 2
	leastNeed  = 0.08
	// maxNeedWords is the number of words of the longest text whose needs are looked up one by
	// one. In a longer text, which tells a task, they depend on each other: its words together
	// find more of the tools.
	maxNeedWords = 25
)

// actions are words with which people begin to say what is to be done.
var actions = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`accept activate add analyze answer append apply approve archive arrange ask assign attach authorize
		book browse build buy calculate call cancel capture change check choose clean clear click clone close collect comment compare
		compile complete compose compress compute configure confirm convert copy count crawl create crop deactivate debug decrypt delete deliver
		deploy describe detect determine diagnose disable discover display download draft draw drop duplicate edit email enable encrypt
		enter erase estimate evaluate examine execute explain explore export extract fetch fill filter find fix forecast forward
		generate geocode get give go grab group identify import insert inspect install invite invoke join kill label launch
		list listen load locate lock log look lookup mail make mark measure merge message modify monitor move navigate notify obtain open order
		organize parse pause pay perform pick plan play plot post predict prepare press print process provide provision publish pull purchase push put query
		rank read recommend record refund register reject remind remove rename render reopen replace reply report request research reserve
		reset resize resolve restart restore retrieve return revert review revoke rotate run save scale scan schedule scrape
		screenshot scroll search select send set share show sign simulate sort split start stop store stream submit
		subscribe subtract suggest sum summarize switch sync tag take tell test text track transfer transform translate trigger turn type undo unlock
		update upgrade upload validate verify view visit visualize wait watch write zip`) {
		m[stem(w)] = true
	}
	return m
})

// needsOf returns the parts of a text that each say what is to be done, such as "find
// the invoice" and "mail it to Ana", or nothing if it has fewer than two.
func needsOf(text string) []string {
	if !mayEnd(text) && !hasJoint(text) {
		return nil
	}
	text = prepared(text)
	var list []string
	for _, sentence := range sentences(text) {
		before := len(list)
		for _, part := range clauses(sentence) {
			if content, begins, _ := action(part); begins && content > 1 {
				list = append(list, part)
			} else if len(list) > before {
				list[len(list)-1] += " " + part // more about the one before it
			}
		}
		if content, _, anywhere := action(sentence); len(list) == before && anywhere && content > 2 {
			list = append(list, sentence)
		}
		if len(list) >= maxNeeds {
			list = list[:maxNeeds]
			break
		}
	}
	if len(list) < 2 {
		return nil
	}
	return list
}

// sentences splits a text where sentences and lines end.
func sentences(text string) []string {
	var list []string
	start := 0
	for i, r := range text {
		end := r == '\n' || r == ';' || strings.ContainsRune("。！？；", r)
		if strings.ContainsRune(".!?", r) && !abbreviated(text[start:i]) {
			end = i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n'
		}
		if end {
			list = append(list, text[start:i])
			start = i + len(string(r))
		}
	}
	return append(list, text[start:])
}

// abbreviated reports whether a text ends in an abbreviation, so that the dot after it
// ends no sentence.
func abbreviated(text string) bool {
	last := text[strings.LastIndexAny(text, " (")+1:]
	switch strings.ToLower(last) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "no", "vs", "e.g", "i.e", "etc", "inc", "ltd", "co":
		return true
	}
	return false
}

// clauses splits a sentence at commas and at words such as "and" and "then".
func clauses(sentence string) []string {
	var list []string
	commas := hasJoint(sentence) // else they separate alternatives
	var words []string
	flush := func() {
		if len(words) > 0 {
			list = append(list, strings.Join(words, " "))
			words = nil
		}
	}
	for w := range strings.FieldsSeq(sentence) {
		switch strings.ToLower(strings.Trim(w, ",")) {
		case "and", "then", "afterwards", "also", "finally", "&", "->", "→", "":
			flush()
			continue
		}
		words = append(words, strings.TrimRight(w, ","))
		if strings.HasSuffix(w, ",") && commas {
			flush()
		}
	}
	flush()
	return list
}

// action reports how many words of a part say something, whether the first of them says
// what is to be done, and whether any does.
func action(part string) (content int, begins, anywhere bool) {
	pieces(part, func(p piece) bool {
		if p.unspaced || words().stop[p.whole] {
			return true
		}
		is := actions()[queryStem(p.whole)]
		begins = begins || is && content == 0
		anywhere = anywhere || is
		content++
		return true
	})
	return content, begins, anywhere
}

// needs puts the best hits of each need of a query before the rest: the first of each,
// then the second of each.
func (s *snapshot) needs(x *Index, sc *scratch, q Query) {
	if len(strings.Fields(q.Text)) > maxNeedWords {
		return
	}
	list := needsOf(q.Text)
	if list == nil {
		return
	}
	best := make([][]int32, len(list))
	for i, text := range list {
		p := s.parse(text)
		if len(p.wanted) == 0 {
			continue
		}
		part := x.getScratch(len(s.records))
		s.score(part, p, q.Server)
		s.preferNamed(part, p.list)
		least := leastNeed * s.ceiling(p)
		ranked := s.top(part.hits, min(2*hitsOfNeed*len(list), len(part.hits)))
		for _, h := range ranked {
			if h.score >= least {
				best[i] = append(best[i], h.slot)
			}
		}
		x.scratch.Put(part)
	}
	var order []int32
	taken := map[int32]bool{}
	for range hitsOfNeed {
		for i := range best {
			for len(best[i]) > 0 {
				slot := best[i][0]
				best[i] = best[i][1:]
				if !taken[slot] {
					taken[slot] = true
					order = append(order, slot)
					break
				}
			}
		}
	}
	sc.raise(order)
}

// raise puts hits above all others, in order.
func (sc *scratch) raise(order []int32) {
	above := 0.0
	for _, h := range sc.hits {
		above = max(above, h.score)
	}
	step := above/100 + 1e-6
	for i, slot := range order {
		score := above + step*float64(len(order)-i)
		at := -1
		for j := range sc.hits {
			if sc.hits[j].slot == slot {
				at = j
				break
			}
		}
		if at < 0 {
			sc.hits = append(sc.hits, scored{slot: slot, found: 1, score: score})
			continue
		}
		sc.hits[at].score = score
	}
}

// preferred is by how much the score of the tools of a server grows that the query names.
const preferred = 1.25

// A namedServer is a server and the words of its name, in lower case.
type namedServer struct {
	words  []string
	number int32 // its place in the catalogue
}

// preferNamed raises the tools of the servers that a query names. A name that is also a
// usual word, such as "search", counts after "using", "with" or "via" only.
func (s *snapshot) preferNamed(sc *scratch, list []piece) {
	byFirst := s.serverNames()
	var named []int32
	for i, p := range list[:min(len(list), maxQueryWords)] {
		w := p.whole
		for _, n := range byFirst[w] {
			if !n.begins(list[i:]) {
				continue
			}
			if len(n.words) > 1 || i > 0 && slices.Contains(through, list[i-1].whole) || len(words().synonyms[queryStem(w)]) == 0 && !actions()[queryStem(w)] {
				named = append(named, n.number)
			}
		}
	}
	if named == nil {
		return
	}
	for i := range sc.hits {
		if slices.Contains(named, s.serverOf[sc.hits[i].slot]) {
			sc.hits[i].score *= preferred
		}
	}
}

// begins reports whether a list begins with the name.
func (n namedServer) begins(list []piece) bool {
	if len(n.words) > len(list) {
		return false
	}
	for i, w := range n.words {
		if list[i].whole != w {
			return false
		}
	}
	return true
}

// through are words after which any word that is a server's name means the server.
var through = []string{"using", "via", "with", "through"}

// serverNames returns the servers by the first word of their names; "mcp" and "server"
// at an end of a name do not count.
func (s *snapshot) serverNames() map[string][]namedServer {
	s.serversOnce.Do(func() {
		s.servers = map[string][]namedServer{}
		numbers := map[string]int32{}
		for i, server := range s.catalog.Servers() {
			numbers[server.Server] = int32(i)
			n := namedServer{number: int32(i)}
			pieces(server.Server, func(p piece) bool {
				n.words = append(n.words, p.whole)
				return true
			})
			common := func(w string) bool { return w == "mcp" || w == "server" }
			for len(n.words) > 1 && common(n.words[len(n.words)-1]) {
				n.words = n.words[:len(n.words)-1]
			}
			for len(n.words) > 1 && common(n.words[0]) {
				n.words = n.words[1:]
			}
			if len(n.words) > 0 && len(n.words[0]) > 2 && !words().stop[n.words[0]] {
				s.servers[n.words[0]] = append(s.servers[n.words[0]], n)
			}
		}
		s.serverOf = make([]int32, len(s.records))
		for slot, r := range s.records {
			s.serverOf[slot] = -1
			if number, ok := numbers[r.server()]; ok {
				s.serverOf[slot] = number
			}
		}
	})
	return s.servers
}

var joints = []string{"and", "then", "afterwards", "also", "&", "->", "→"}

// mayEnd reports whether a text has a sign that may end a sentence or join two.
func mayEnd(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= utf8.RuneSelf:
			return strings.ContainsAny(text[i:], ";\n.!?。！？；&→>")
		case c == ';', c == '\n', c == '.', c == '!', c == '?', c == '&', c == '>':
			return true
		}
	}
	return false
}

// hasJoint reports whether a sentence has a word that joins needs.
func hasJoint(sentence string) bool {
	for w := range strings.FieldsSeq(sentence) {
		if len(w) > len("afterwards") {
			continue
		}
		for _, joint := range joints {
			if len(w) == len(joint) && strings.EqualFold(w, joint) {
				return true
			}
		}
	}
	return false
}
