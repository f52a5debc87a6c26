package index

import (
	"strings"
	"sync"
)

// changesWeight is what a tool that changes something counts where the query only reads.
const changesWeight = 0.75

// An effect is what a verb does.
type effect uint8

const (
	reading effect = 1 << iota
	changing
	// asking is that of words that ask for information.
	asking
)

// effects are the verbs of tools and queries, and the words that begin a question.
var effects = sync.OnceValue(func() map[string]effect {
	m := map[string]effect{}
	for w := range strings.FieldsSeq(`browse check count describe display explain fetch find get inspect list look lookup monitor print query
		read retrieve search see show status view watch what when where which who`) {
		m[w] |= reading
	}
	for w := range strings.FieldsSeq(`add append apply approve archive assign attach cancel change clear close create delete deploy destroy detach disable drop
		edit enable grant insert install invite make merge modify move patch post publish put register reject remove rename replace reset resize restart
		revoke save send set start stop submit update upload upsert write`) {
		m[w] |= changing
	}
	for w := range strings.FieldsSeq("search find look lookup news information info research learn latest what who web online internet fetch") {
		m[w] |= asking
	}
	return m
})

// effectOf returns what a tool's name says that it does, by its first verb.
func effectOf(name string) (e effect) {
	pieces(name, func(p piece) bool {
		e = effects()[p.whole] &^ asking
		for _, w := range p.parts {
			if e == 0 {
				e = effects()[w] &^ asking
			}
		}
		return e == 0
	})
	return e
}

// An intent is what the verbs of a query say.
type intent struct{ reads, changes, asks bool }

func (in *intent) add(e effect) {
	in.reads = in.reads || e&reading != 0
	in.changes = in.changes || e&changing != 0
	in.asks = in.asks || e&asking != 0
}

// onlyReads reports whether a query reads and changes nothing.
func (in intent) onlyReads() bool { return in.reads && !in.changes }

// toolEffects returns what the name of each tool says that it does, by slot.
func (s *snapshot) toolEffects() []effect {
	s.effectsOnce.Do(func() {
		s.effectOf = make([]effect, len(s.records))
		for slot, r := range s.records {
			if name, _, _, _ := r.texts(); r.kind() == "" {
				s.effectOf[slot] = effectOf(name)
			}
		}
	})
	return s.effectOf
}
