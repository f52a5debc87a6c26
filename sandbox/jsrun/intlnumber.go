package jsrun

import (
	"math"
	"strconv"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// A part is a piece of a formatted text, for formatToParts.
type part struct{ kind, text string }

func joinParts(parts []part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.text)
	}
	return b.String()
}

// A numberFormat is an Intl.NumberFormat: its options, resolved.
type numberFormat struct {
	data                                     *localeData
	locale                                   string
	style, currency, currencyDisplay         string
	notation, compactDisplay, signDisplay    string
	grouping                                 string // always, auto, min2, false
	minInt, minFrac, maxFrac, minSig, maxSig int    // maxSig 0 means fraction digits
	compactRounding                          bool   // two digits, or as many as the integer has
}

// rounded applies the digit options, and says how many digits of the fraction
// are shown at least.
func (f *numberFormat) rounded(d decimal) (decimal, int) {
	switch {
	case f.compactRounding:
		return d.round(max(2, d.exp)), 0
	case f.maxSig > 0:
		d = d.round(f.maxSig)
		exp := d.exp
		if d.digits == "" {
			exp = 1
		}
		return d, max(0, f.minSig-exp)
	}
	d = d.round(d.exp + f.maxFrac)
	return d, f.minFrac
}

// parts formats one number.
func (f *numberFormat) parts(d decimal) []part {
	if f.style == "percent" && d.digits != "" {
		d.exp += 2
	}
	number, shown := f.number(&d)
	category := f.category(shown)
	return f.affixed(number, d, category)
}

// A shownNumber is what decides about the plural form.
type shownNumber struct{ whole, fraction string }

// number writes the number itself, with what its notation adds. It changes d
// to what is shown, so that the sign is of that.
func (f *numberFormat) number(d *decimal) (parts []part, shown shownNumber) {
	n := &f.data.Number
	switch d.special {
	case "nan":
		return []part{{"nan", n.NaN}}, shown
	case "infinity":
		return []part{{"infinity", "∞"}}, shown
	}
	var compact *compactForm
	scaled := *d
	if f.notation == "compact" {
		if compact = f.compactAffix(scaled); compact != nil {
			scaled.exp -= compact.zeros
		}
		if r, _ := f.rounded(scaled); r.exp > scaled.exp { // 999,999 is 1M
			next := f.compactAffix(decimal{digits: "1", exp: d.exp + 1})
			if next != nil {
				compact = next
				scaled.exp = d.exp - next.zeros
			}
		}
	}
	r, minFrac := f.rounded(scaled)
	whole, fraction := r.fix(f.minInt, minFrac)
	d.digits, d.exp = r.digits, r.exp
	shown = shownNumber{whole, fraction}
	parts = f.grouped(whole)
	if fraction != "" {
		parts = append(parts, part{"decimal", n.Decimal}, part{"fraction", fraction})
	}
	if compact != nil {
		pattern := compact.names.of(f.category(shown))
		if !strings.Contains(pattern, "{n}") && whole+fraction != "1" { // mille, but 1,2 mila
			pattern = compact.names.of("other")
		}
		parts = fill(pattern, func(name string) []part {
			if name == "n" {
				return parts
			}
			return nil
		}, "compact")
	}
	return parts, shown
}

// compactAffix is the form that a number has in compact notation, nil for none.
func (f *numberFormat) compactAffix(d decimal) *compactForm {
	all := f.data.Number.Compact[f.compactDisplay]
	power := d.exp - 1
	if power < 3 || len(all) == 0 {
		return nil
	}
	c := &all[min(power-3, len(all)-1)]
	if c.zeros == 0 {
		return nil
	}
	return c
}

// grouped writes an integer with its separators.
func (f *numberFormat) grouped(whole string) []part {
	n := &f.data.Number
	least := n.Primary + n.MinGrouping
	switch f.grouping {
	case "false":
		least = math.MaxInt
	case "always":
		least = n.Primary + 1
	case "min2":
		least = n.Primary + 2
	}
	if len(whole) < least {
		return []part{{"integer", whole}}
	}
	var parts []part
	end := len(whole) - n.Primary
	for size := n.Secondary; end > size; end -= size {
		parts = append(parts, part{"integer", whole[end-size : end]}, part{"group", n.Group})
	}
	out := []part{{"integer", whole[:end]}, {"group", n.Group}}
	for i := len(parts) - 2; i >= 0; i -= 2 {
		out = append(out, parts[i], parts[i+1])
	}
	return append(out, part{"integer", whole[len(whole)-n.Primary:]})
}

// fill replaces the names in braces of a pattern by parts. Text between is of
// the given kind, blanks at its ends excepted.
func fill(pattern string, of func(name string) []part, kind string) []part {
	var parts []part
	literal := func(text string) {
		if text == "" {
			return
		}
		if kind == "literal" {
			parts = append(parts, part{kind, text})
			return
		}
		word := strings.TrimFunc(text, isBlank)
		before, after, _ := strings.Cut(text, word)
		for _, p := range []part{{"literal", before}, {kind, word}, {"literal", after}} {
			if p.text != "" {
				parts = append(parts, p)
			}
		}
	}
	for pattern != "" {
		i := strings.IndexByte(pattern, '{')
		j := strings.IndexByte(pattern, '}')
		if i < 0 || j < i {
			break
		}
		literal(pattern[:i])
		parts = append(parts, of(pattern[i+1:j])...)
		pattern = pattern[j+1:]
	}
	literal(pattern)
	return parts
}

func isBlank(r rune) bool { return r == ' ' || r == '\u00a0' || r == '\u202f' }

// affixed puts the sign, the currency or the percent sign around it.
func (f *numberFormat) affixed(number []part, d decimal, category string) []part {
	n := &f.data.Number
	sign := f.sign(d)
	pattern := "{n}"
	switch {
	case f.style == "percent":
		pattern = n.Percent
	case f.style == "currency" && f.currencyDisplay == "name":
		pattern = n.Currency.Name
	case f.style == "currency":
		pattern = f.currencyPatterns()[0]
	}
	if sign != "" && !strings.Contains(pattern, "{-}") {
		pattern = f.signed(pattern)
	}
	return fill(pattern, func(name string) []part {
		switch name {
		case "n":
			return number
		case "%":
			return []part{{"percentSign", n.PercentSign}}
		case "c":
			return []part{{"currency", f.currencyText(category)}}
		case "-":
			if sign == "+" {
				return []part{{"plusSign", n.Plus}}
			}
			return []part{{"minusSign", n.Minus}}
		}
		return nil
	}, "literal")
}

// signed is a pattern with a place for the sign.
func (f *numberFormat) signed(pattern string) string {
	n := &f.data.Number
	switch {
	case f.style == "percent":
		return n.PercentNegative
	case f.style == "currency" && f.currencyDisplay != "name":
		return f.currencyPatterns()[1]
	}
	return strings.Replace(pattern, "{n}", n.Negative, 1)
}

// sign is "-", "+" or nothing.
func (f *numberFormat) sign(d decimal) string {
	zero := d.digits == "" && d.special == ""
	switch f.signDisplay {
	case "never":
		return ""
	case "always":
		if d.negative {
			return "-"
		}
		return "+"
	case "exceptZero":
		if zero || d.special == "nan" {
			return ""
		}
		if d.negative {
			return "-"
		}
		return "+"
	case "negative":
		if zero {
			return ""
		}
	}
	if d.negative {
		return "-"
	}
	return ""
}

func (f *numberFormat) currencyPatterns() []string {
	c := &f.data.Number.Currency
	if f.currencyDisplay == "code" {
		return c.Code
	}
	if text := f.currencyText("other"); isLetter(text[len(text)-1]) || isLetter(text[0]) {
		if i, j := strings.Index(c.Symbol[0], "{c}"), strings.Index(c.Symbol[0], "{n}"); i < j && isLetter(text[len(text)-1]) || i > j && isLetter(text[0]) {
			return c.Lettered
		}
	}
	return c.Symbol
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func (f *numberFormat) currencyText(category string) string {
	c, ok := f.data.Number.Currencies[f.currency]
	switch {
	case !ok || f.currencyDisplay == "code":
		return f.currency
	case f.currencyDisplay == "name":
		return c.names.of(category)
	case f.currencyDisplay == "narrowSymbol":
		return c.narrow
	}
	return c.symbol
}

// category is the plural category of a number as it is shown.
func (f *numberFormat) category(n shownNumber) string {
	return pluralCategory(plural.Cardinal, f.data.name, n)
}

// millions are the languages in which whole millions have a form of their own.
var millions = map[string]bool{"es": true, "fr": true, "it": true, "pt": true}

func pluralCategory(rules *plural.Rules, locale string, n shownNumber) string {
	if rules == plural.Cardinal && n.fraction == "" && len(n.whole) > 6 && strings.HasSuffix(n.whole, "000000") && millions[locale[:2]] {
		return "many"
	}
	tag := language.Make(locale)
	whole := strings.TrimLeft(n.whole, "0")
	if len(whole) > 7 { // the rules look at the last digits only, and at millions
		whole = "1" + whole[len(whole)-6:]
	}
	i, _ := strconv.Atoi(whole)
	trimmed := strings.TrimRight(n.fraction, "0")
	number := func(s string) int {
		v, _ := strconv.Atoi(s[:min(len(s), 9)])
		return v
	}
	form := rules.MatchPlural(tag, i, len(n.fraction), len(trimmed), number(n.fraction), number(trimmed))
	return map[plural.Form]string{plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many"}[form]
}

// pluralName is a category with a name for each.
func pluralName(category string) string {
	if category == "" {
		return "other"
	}
	return category
}
