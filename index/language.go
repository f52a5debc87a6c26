package index

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// An alphabet has the stemmers of the languages that use it. A short text does not
// reveal its language, so two words are forms of each other if any of the stemmers
// gives both the same stem.
type alphabet struct {
	stem []func(string) string
	// prefixes is set if forms of a word may begin with different letters, as in
	// Arabic.
	prefixes bool
}

var (
	latin = &alphabet{stem: []func(string) string{
		snowball(danish.Stem), snowball(dutch.Stem), finnishStem, snowball(french.Stem), snowball(german.Stem),
		snowball(hungarian.Stem), snowball(italian.Stem), snowball(norwegian.Stem), portugueseStem, snowball(romanian.Stem),
		snowball(spanish.Stem), snowball(swedish.Stem), turkishStem, polish.stem, czech.stem,
	}}
	cyrillic   = &alphabet{stem: []func(string) string{snowball(russian.Stem), ukrainian.stem}}
	arabic     = &alphabet{stem: []func(string) string{arabicStem, arabicRoot}, prefixes: true}
	hebrew     = &alphabet{stem: []func(string) string{hebrewStem}, prefixes: true}
	greek      = &alphabet{stem: []func(string) string{greekEndings.stem}}
	devanagari = &alphabet{stem: []func(string) string{hindiStem}}
)

// alphabetOf returns the alphabet of a word, or nil if no stemmer knows it.
func alphabetOf(word string) *alphabet {
	r, _ := utf8.DecodeRuneInString(word)
	switch {
	case r < 0x250, 0x1E00 <= r && r < 0x1F00:
		return latin
	case unicode.Is(unicode.Cyrillic, r):
		return cyrillic
	case unicode.Is(unicode.Greek, r):
		return greek
	case unicode.Is(unicode.Arabic, r):
		return arabic
	case unicode.Is(unicode.Hebrew, r):
		return hebrew
	case unicode.Is(unicode.Devanagari, r):
		return devanagari
	}
	return nil
}

// snowball returns a function that calls one of the Snowball stemmers.
func snowball(stem func(*snowballstem.Env) bool) func(string) string {
	return func(word string) string {
		env := snowballstem.NewEnv(word)
		stem(env)
		return env.Current()
	}
}

// finnishStem also knows the plurals of words in -i and -ijä: viestejä, tekijöitä.
func finnishStem(word string) string {
	s := strings.TrimSuffix(snowball(finnish.Stem)(word), "ej")
	for _, end := range []string{"ijöi", "ijoi", "ijö", "ijo"} {
		if rest, ok := strings.CutSuffix(s, end); ok {
			return rest + "ij"
		}
	}
	return s
}

// portugueseStem also knows the plurals of short words in -ão: ação, ações.
func portugueseStem(word string) string {
	for _, end := range []string{"ões", "ães", "ãos"} {
		if rest, ok := strings.CutSuffix(word, end); ok {
			word = rest + "ão"
		}
	}
	return snowball(portuguese.Stem)(word)
}

// turkishStem removes one ending after the other. The stemmer reduces faturalar to
// fatura, but fatura to a shorter stem.
func turkishStem(word string) string {
	for range 3 {
		s := snowball(turkish.Stem)(word)
		if s == word || utf8.RuneCountInString(s) <= formsFrom {
			break
		}
		word = s
	}
	return word
}

// arabicStem removes articles, conjunctions and endings, and a lone preposition
// before a longer word.
func arabicStem(word string) string {
	s := lightArabic(word)
	if rest, ok := cutAny(s, "ل", "ب"); ok && utf8.RuneCountInString(rest) > 3 {
		s = rest
	}
	return s
}

// arabicRoot returns the consonants of a stem: plurals change the vowels between them.
func arabicRoot(word string) string {
	s := strings.Map(without("اويىءئؤ"), arabicStem(word))
	if utf8.RuneCountInString(s) < 3 {
		return ""
	}
	return s
}

// hebrewStem removes endings, prefixed articles and prepositions, and the
// letters that only mark vowels.
func hebrewStem(word string) string {
	s := strings.Map(func(r rune) rune {
		if i := slices.Index([]rune("ךםןףץ"), r); i >= 0 {
			return []rune("כמנפצ")[i]
		}
		return r
	}, word)
	for _, end := range []string{"יות", "ות", "ימ", "ית", "ה", "ת", "י"} {
		if rest, ok := strings.CutSuffix(s, end); ok && utf8.RuneCountInString(rest) >= 3 {
			s = rest
			break
		}
	}
	for range 2 {
		rest, ok := cutAny(s, "ה", "ו")
		least := 3
		if !ok {
			rest, ok = cutAny(s, "ב", "כ", "ל", "מ", "ש")
			least = 4
		}
		if !ok || utf8.RuneCountInString(rest) < least {
			break
		}
		s = rest
	}
	_, n := utf8.DecodeRuneInString(s)
	return s[:n] + strings.Map(without("וי"), s[n:])
}

func cutAny(s string, prefixes ...string) (rest string, ok bool) {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(s, p); ok {
			return rest, true
		}
	}
	return s, false
}

// drop returns a mapping that removes letters.
func without(letters string) func(rune) rune {
	return func(r rune) rune {
		if strings.ContainsRune(letters, r) {
			return -1
		}
		return r
	}
}

// endings is a stemmer for a language without another one here. It removes the longest
// inflection, then the longest ending of a verbal noun, and unifies a vowel that
// changes with the ending. At least three letters stay.
type endings struct {
	inflected, derived []string // longest first
	vowels             string   // the last of these in a stem becomes the first of them
}

func newEndings(inflected, derived, vowels string) *endings {
	longestFirst := func(a, b string) int { return len(b) - len(a) }
	e := &endings{strings.Fields(inflected), strings.Fields(derived), vowels}
	slices.SortFunc(e.inflected, longestFirst)
	slices.SortFunc(e.derived, longestFirst)
	return e
}

var (
	ukrainian = newEndings("а я о е є и і у ю ь й ой ий ій ів ом ем єм ам ям ах ях ою ею єю ою ами ями ові еві єві ого ому ими им их ої ії ію ією ьою іх еи еі "+
		"ати ити іти яти увати ювати ує ює уй юй ить ять ють уть ать їть ив ав іть ала ила али или",
		"енн анн інн ен ан к", "оеі")
	polish = newEndings("a e i y o u ie ia iu io ow om em ami iami ach iach owi iowi iem iom ego iego emu iemu ymi imi ych ich ym im ej iej "+
		"ac ic yc owac uj uje ujesz uja aj asz esz isz",
		"ien en an ieni eni ani", "oe")
	czech = newEndings("a e i y o u ou em um am ami emi ech ich ych ach ovi ove eho iho emu imu ym im mi ho mu eni ani at it et ovat uje uj ej",
		"en an", "ou")
	greekEndings = newEndings("α η ο ω ε ι υ ασ ησ οσ εσ ουσ εισ ων ου οι εωσ εων ατα ατων ατοσ ειτε ετε ουν ουμε ει",
		"ησ ισ ωσ ι", "")
)

func (e *endings) stem(word string) string {
	s := strings.ReplaceAll(plain(word), "ς", "σ")
	trim := func(list []string) {
		for _, end := range list {
			if rest, ok := strings.CutSuffix(s, end); ok && utf8.RuneCountInString(rest) >= 3 {
				s = rest
				return
			}
		}
	}
	trim(e.inflected)
	trim(e.derived)
	if i := strings.LastIndexAny(s, e.vowels); i > 0 && e.vowels != "" {
		_, n := utf8.DecodeRuneInString(s[i:])
		_, m := utf8.DecodeRuneInString(e.vowels)
		s = s[:i] + e.vowels[:m] + s[i+n:]
	}
	return s
}

// Bounds of the result of forms; no language has more forms of a word.
const (
	maxForms  = 32
	formsFrom = 3 // minimum number of letters of a stem, and of the common prefix of forms
)

// formWeight is the weight of another form of a word, relative to the word as typed.
const formWeight = 0.8

// forms returns the words of tools that are other forms of a word in a language other
// than English. written is the word with its accents.
func (s *snapshot) forms(word, written string) []string {
	s.formsMu.Lock()
	defer s.formsMu.Unlock()
	if list, ok := s.formsOf[word]; ok {
		return list
	}
	list := s.findForms(word, written)
	if len(s.formsOf) < maxStems {
		s.formsOf[strings.Clone(word)] = list
	}
	return list
}

func (s *snapshot) findForms(word, written string) []string {
	a := alphabetOf(word)
	if a == nil || utf8.RuneCountInString(word) < formsFrom || hasDigit(word) {
		return nil
	}
	stems := make([]string, len(a.stem))
	for i, stem := range a.stem {
		stems[i] = stemmed(stem, written)
	}
	prefix, first, last := firstLetters(word, formsFrom), word[0], word[0]
	if a.prefixes {
		prefix, first, last = "", 0xD6, 0xDB // the letters of Hebrew and Arabic
	}
	var list []string
	for b := int(first); b <= int(last); b++ {
		for _, c := range s.spelled(byte(b)) {
			if strings.HasPrefix(c.term, prefix) && c.word() != word && alphabetOf(c.term) == a && isForm(a, stems, c.written()) {
				if list = append(list, c.word()); len(list) == maxForms {
					return list
				}
			}
		}
	}
	return list
}

// isForm reports whether a stemmer gives written the same stem as another word with the
// given stems.
func isForm(a *alphabet, stems []string, written string) bool {
	for i, stem := range a.stem {
		if stems[i] != "" && stemmed(stem, written) == stems[i] {
			return true
		}
	}
	return false
}

// stemmed returns the stem without accents, or "" if it is too short.
func stemmed(stem func(string) string, written string) string {
	s := plain(stem(written))
	if utf8.RuneCountInString(s) < formsFrom {
		return ""
	}
	return s
}

// firstLetters returns the first n letters of s.
func firstLetters(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
