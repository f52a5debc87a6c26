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
	data                                                     *localeData
	locale                                                   string
	style, currency, currencyDisplay, currencySign           string
	unit, unitDisplay, notation, compactDisplay, signDisplay string
	rounding                                                 string // halfExpand, halfEven, floor, ceil, trunc, expand…
	grouping                                                 string // always, auto, min2, false
	minInt, minFrac, maxFrac, minSig, maxSig                 int    // maxSig 0 means fraction digits
	compactRounding                                          bool   // two digits, or as many as the integer has
	stripZeros                                               bool   // trailingZeroDisplay: stripIfInteger
}

// rounded applies the digit options, and says how many digits of the fraction
// are shown at least.
func (f *numberFormat) rounded(d decimal) (decimal, int) {
	switch {
	case f.compactRounding:
		return d.round(max(2, d.exp), f.rounding), 0
	case f.maxSig > 0:
		d = d.round(f.maxSig, f.rounding)
		exp := d.exp
		if d.digits == "" {
			exp = 1
		}
		return d, max(0, f.minSig-exp)
	}
	d = d.round(d.exp+f.maxFrac, f.rounding)
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
	exponent := 0
	var compact *compactForm
	scaled := *d
	switch f.notation {
	case "scientific", "engineering":
		if scaled.digits != "" {
			exponent = scaled.exp - 1
			if f.notation == "engineering" {
				exponent = int(math.Floor(float64(exponent)/3)) * 3
			}
			scaled.exp -= exponent
			if r, _ := f.rounded(scaled); r.exp > scaled.exp && (f.notation == "scientific" || r.exp > 3) { // 9.9999 is 10
				step := 1
				if f.notation == "engineering" {
					step = 3
				}
				exponent += step
				scaled.exp -= step
			}
		}
	case "compact":
		compact = f.compactAffix(scaled)
		if compact != nil {
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
	if f.stripZeros && strings.Trim(fraction, "0") == "" {
		fraction = ""
	}
	d.digits, d.exp = r.digits, r.exp
	shown = shownNumber{whole, fraction}
	parts = f.grouped(whole)
	if fraction != "" {
		parts = append(parts, part{"decimal", n.Decimal}, part{"fraction", fraction})
	}
	switch {
	case f.notation == "scientific" || f.notation == "engineering":
		parts = append(parts, part{"exponentSeparator", n.Exponent})
		if exponent < 0 {
			parts = append(parts, part{"exponentMinusSign", n.Minus})
		}
		parts = append(parts, part{"exponentInteger", strconv.Itoa(max(exponent, -exponent))})
	case compact != nil:
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

// affixed puts the sign, the currency, the unit or the percent sign around it.
func (f *numberFormat) affixed(number []part, d decimal, category string) []part {
	n := &f.data.Number
	sign := f.sign(d)
	pattern, kind := "{n}", "literal"
	accounting := false
	switch {
	case f.style == "percent":
		pattern = n.Percent
	case f.style == "unit":
		pattern, kind = f.unitPattern(category), "unit"
	case f.style == "currency":
		pattern, accounting = f.currencyPattern(sign == "-")
	}
	if sign != "" && !accounting && !strings.Contains(pattern, "{-}") {
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
	}, kind)
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

func (f *numberFormat) currencyPattern(negative bool) (pattern string, accounting bool) {
	if f.currencyDisplay == "name" {
		return f.data.Number.Currency.Name, false
	}
	patterns := f.currencyPatterns()
	if negative && f.currencySign == "accounting" {
		return patterns[2], true
	}
	return patterns[0], false
}

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

func (f *numberFormat) unitPattern(category string) string {
	display := map[string]int{"long": 0, "short": 1, "narrow": 2}[f.unitDisplay]
	if all, ok := f.data.Number.Units[f.unit]; ok {
		return all[display].of(category)
	}
	if one, per, ok := strings.Cut(f.unit, "-per-"); ok {
		units := f.data.Number.Units
		if a, b := units[one], units[per]; a != nil && b != nil {
			short := strings.TrimSpace(strings.ReplaceAll(b[display].of("one"), "{n}", ""))
			if display == 0 {
				return a[display].of(category) + " per " + short
			}
			return a[display].of(category) + "/" + short
		}
	}
	return "{n} " + f.unit
}

// category is the plural category of a number as it is shown.
func (f *numberFormat) category(n shownNumber) string {
	return pluralCategory(plural.Cardinal, f.data.name, n)
}

// millions are the languages in which whole millions have a form of their own.
var millions = set("es fr it pt")

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
