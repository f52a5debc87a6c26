package index

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/ar"
	"github.com/blevesearch/bleve/v2/analysis/lang/hi"
)

// The light stemmers return what the filters of bleve return, for words of every
// letter of their alphabets and for all endings.
func TestLightStemmersAreThoseOfBleve(t *testing.T) {
	for name, tt := range map[string]struct {
		stem        func(string) string
		filters     []analysis.TokenFilter
		first, last rune
		parts       []string
		words       map[string]string
	}{
		"Arabic": {lightArabic, []analysis.TokenFilter{ar.NewArabicNormalizeFilter(), ar.NewArabicStemmerFilter()}, 0x621, 0x655,
			[]string{"ال", "وال", "بال", "كال", "فال", "لل", "و", "ها", "ان", "ات", "ون", "ين", "يه", "ية", "ه", "ة", "ي"},
			map[string]string{"والرسائل": "رسائل", "الملفات": "ملف", "مُهِمَّة": "مهم"}},
		"Hindi": {hindiStem, []analysis.TokenFilter{hi.NewHindiNormalizeFilter(), hi.NewHindiStemmerFilter()}, 0x900, 0x97f,
			append([]string{"न्", "\u200d", "\u200c"}, all(hindiEndings[:])...),
			map[string]string{"लड़कियों": "लडक", "किताबें": "किताब", "हिन्दी": "हिंद"}},
	} {
		theirs := func(word string) string {
			tokens := analysis.TokenStream{{Term: []byte(word)}}
			for _, f := range tt.filters {
				tokens = f.Filter(tokens)
			}
			return string(tokens[0].Term)
		}
		for word, want := range tt.words {
			if got := tt.stem(word); got != want {
				t.Errorf("%s: the stem of %q is %q, want %q", name, word, got, want)
			}
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 20_000 {
			var word strings.Builder
			for range random.IntN(9) {
				if random.IntN(3) == 0 {
					word.WriteString(tt.parts[random.IntN(len(tt.parts))])
				} else {
					word.WriteString(string(tt.first + random.Int32N(tt.last-tt.first+1)))
				}
			}
			if got, want := tt.stem(word.String()), theirs(word.String()); got != want {
				t.Fatalf("%s: the stem of %+q is %+q, want %+q", name, word.String(), got, want)
			}
		}
	}
}

func all(lists [][]string) []string {
	var all []string
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}
