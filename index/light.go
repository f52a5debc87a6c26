package index

import (
	"strings"
	"unicode/utf8"
)

// The stemmers of Arabic and Hindi that follow are the published light ones
// (Larkey and others, light10; Ramanathan and Rao). They return what the
// filters of bleve return, whose packages would draw in its analyzers.

// arabicLetters unifies the letters that are written in several ways, and removes
// vowel signs and the mark that stretches a word.
var arabicLetters = unify("ا آأإ", "ي ى", "ه ة", " \u0640\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652")

// lightArabic removes one prefixed particle, then each ending.
func lightArabic(word string) string {
	s := unified(word, arabicLetters)
	for _, prefix := range []string{"ال", "وال", "بال", "كال", "فال", "لل", "و"} {
		rest, ok := strings.CutPrefix(s, prefix)
		least := 2
		if prefix == "و" {
			least = 3
		}
		if ok && utf8.RuneCountInString(rest) >= least {
			s = rest
			break
		}
	}
	for _, end := range []string{"ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي"} {
		if rest, ok := strings.CutSuffix(s, end); ok && utf8.RuneCountInString(rest) >= 2 {
			s = rest
		}
	}
	return s
}

// hindiLetters unifies what is written in several ways: long and short vowels,
// letters with a dot. It removes signs that join consonants.
var hindiLetters = unify("ं ँ", "न ऩ", "र ऱ", "ळ ऴ", "क \u0958", "ख \u0959", "ग \u095A", "ज \u095B", "ड \u095C", "ढ \u095D", "फ \u095E", "य \u095F",
	"े ॅॆै", "ो ॉॊौ", "ए ऍऎऐ", "ओ ऑऒऔ", "अ ॲआ", "इ ई", "उ ऊ", "ऋ ॠ", "ऌ ॡ", "ि ी", "ु ू", "ृ ॄ", "ॢ ॣ", " \u093c\u094d\u200c\u200d")

// hindiEndings are endings, by the number of their letters. Of a word with an
// ending of n letters at least two letters stay.
var hindiEndings = [...][]string{
	1: strings.Fields("ो े ू ु ी ि ा"),
	2: strings.Fields("कर ाओ िए ाई ाए ने नी ना ते ीं ती ता ाँ ां ों ें"),
	3: strings.Fields("ाकर ाइए ाईं ाया ेगी ेगा ोगी ोगे ाने ाना ाते ाती ाता तीं ाओं ाएं ुओं ुएं ुआं"),
	4: strings.Fields("ाएगी ाएगा ाओगी ाओगे एंगी ेंगी एंगे ेंगे ूंगी ूंगा ातीं नाओं नाएं ताओं ताएं ियाँ ियों ियां"),
	5: strings.Fields("ाएंगी ाएंगे ाऊंगी ाऊंगा ाइयाँ ाइयों ाइयां"),
}

// hindiStem removes the longest ending.
func hindiStem(word string) string {
	// An n without a vowel is written as a dot above the letter before it.
	s := unified(strings.ReplaceAll(word, "न्", "ं"), hindiLetters)
	letters := utf8.RuneCountInString(s)
	for n := len(hindiEndings) - 1; n > 0; n-- {
		if letters < n+2 {
			continue
		}
		for _, end := range hindiEndings[n] {
			if rest, ok := strings.CutSuffix(s, end); ok {
				return rest
			}
		}
	}
	return s
}

// unify returns a table of letters. A line has a letter, a space, and what is
// replaced by it; without a letter, what is removed.
func unify(lines ...string) map[rune]rune {
	table := make(map[rune]rune)
	for _, line := range lines {
		to, from, _ := strings.Cut(line, " ")
		letter := rune(-1)
		if to != "" {
			letter, _ = utf8.DecodeRuneInString(to)
		}
		for _, r := range from {
			table[r] = letter
		}
	}
	return table
}

func unified(word string, table map[rune]rune) string {
	return strings.Map(func(r rune) rune {
		if to, ok := table[r]; ok {
			return to
		}
		return r
	}, word)
}
