// Package wordstem reduces English words to stems. The search index and the tool that makes its
// table of related words share it, so that both use the same stems.
package wordstem

import (
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// Of returns the stem that a lower-case word shares with its other forms in English. It returns
// words of other alphabets unchanged.
func Of(word string) string {
	if s, ok := irregular[word]; ok {
		return s
	}
	if len(word) < 3 || word[0] >= 0x80 || strings.ContainsAny(word, "0123456789") {
		return word
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}

// irregular are words that the rules do not reduce to one stem.
var irregular = map[string]string{
	"people": "person", "persons": "person", "children": "child", "men": "man", "women": "woman",
	"indices": "index", "indexes": "index", "vertices": "vertex", "matrices": "matrix", "criteria": "criterion",
	"queries": "queri", "sent": "send", "made": "make", "found": "find", "got": "get", "written": "write", "wrote": "write",
	"ran": "run", "bought": "buy", "paid": "pay", "sold": "sell", "left": "left", "deletion": "delet", "deletions": "delet",
	"retrieval": "retriev", "removal": "remov", "analyses": "analyz", "analysis": "analyz", "analyse": "analyz", "analysing": "analyz",
	"creation": "creat", "creator": "creat", "installation": "instal", "uninstallation": "uninstal",
	"news": "news", "aws": "aws", "ids": "id", "apis": "api", "urls": "url", "prs": "prs", "media": "media",
	"organisation": "organiz", "organisations": "organiz", "colour": "color", "colours": "color",
}
