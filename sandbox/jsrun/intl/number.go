package intl

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// A Decimal is an exact number.
type Decimal struct {
	negative bool
	size     *big.Rat // without its sign
	special  string   // "nan" or "infinity"
}

// Float returns f as programs see it: the shortest digits that yield f.
func Float(f float64) Decimal {
	d := Decimal{negative: math.Signbit(f), size: new(big.Rat)}
	switch {
	case math.IsNaN(f):
		return Decimal{size: d.size, special: "nan"}
	case math.IsInf(f, 0):
		d.special = "infinity"
	default:
		d.size.SetString(strconv.FormatFloat(math.Abs(f), 'e', -1, 64))
	}
	return d
}

// Int returns i as a Decimal.
func Int(i *big.Int) Decimal {
	return Decimal{negative: i.Sign() < 0, size: new(big.Rat).SetInt(new(big.Int).Abs(i))}
}

// shift returns d times 10^n.
func (d Decimal) shift(n int) Decimal {
	factor := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil))
	if n < 0 {
		factor.Inv(factor)
	}
	d.size = new(big.Rat).Mul(d.size, factor)
	return d
}

// magnitude returns the number of digits before the point. Below 1 it is 0, minus the number of
// zeros after the point.
func (d Decimal) magnitude() int {
	f, _ := d.size.Float64()
	_, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	n, _ := strconv.Atoi(exponent)
	return n + 1
}

// round rounds to the given number of places after the point, or before it if negative; halves
// round away from zero.
func (d Decimal) round(places int) (whole, fraction string) {
	if places < 0 {
		if whole, _ = d.shift(places).round(0); whole != "0" {
			whole += strings.Repeat("0", -places)
		}
		return whole, ""
	}
	whole, fraction, _ = strings.Cut(d.size.FloatString(places), ".")
	return whole, strings.TrimRight(fraction, "0")
}

// A Number formats numbers: the resolved options of Intl.NumberFormat.
type Number struct {
	Locale                                   *Locale
	Style, Currency, CurrencyDisplay         string
	Notation, CompactDisplay, SignDisplay    string
	Grouping                                 string // always, auto, min2, false
	MinInt, MinFrac, MaxFrac, MinSig, MaxSig int    // MaxSig 0 means fraction digits
	CompactRounding                          bool   // two digits, or as many as the integer has
}

// Format formats one number.
func (f *Number) Format(d Decimal) string {
	if f.Style == "percent" {
		d = d.shift(2)
	}
	n := &f.Locale.Number
	text, shown := f.number(d)
	sign := f.sign(d, strings.Trim(shown.integer+shown.fraction, "0") == "" && d.special != "infinity")
	pattern := "{n}"
	switch {
	case f.Style == "percent":
		pattern = n.Percent
	case f.Style == "currency" && f.CurrencyDisplay == "name":
		pattern = n.Currency.Name
	case f.Style == "currency":
		pattern = f.currencyPatterns()[0]
	}
	if sign != "" && !strings.Contains(pattern, "{-}") {
		pattern = f.signed(pattern)
	}
	return strings.NewReplacer("{n}", text, "{%}", n.PercentSign, "{-}", sign, "{c}", f.currencyText(f.category(shown))).Replace(pattern)
}

// A shownNumber contains the digits that determine the plural form.
type shownNumber struct{ integer, fraction string }

// number formats the number itself, with the text of its notation.
func (f *Number) number(d Decimal) (text string, shown shownNumber) {
	n := &f.Locale.Number
	switch d.special {
	case "nan":
		return n.NaN, shown
	case "infinity":
		return "∞", shown
	}
	compact := f.compact(d.magnitude())
	shown = f.rounded(d.shift(-compact.zeros))
	size := len(strings.TrimLeft(shown.integer, "0"))
	if next := f.compact(d.magnitude() + 1); next.names != nil && size > d.magnitude()-compact.zeros { // 999,999 is 1M
		compact = next
		shown = f.rounded(d.shift(-compact.zeros))
	}
	text = f.grouped(shown.integer)
	if shown.fraction != "" {
		text += n.Decimal + shown.fraction
	}
	if compact.names == nil {
		return text, shown
	}
	pattern := compact.names.forCategory(f.category(shown))
	if !strings.Contains(pattern, "{n}") && shown.integer+shown.fraction != "1" { // mille, but 1,2 mila
		pattern = compact.names.forCategory("other")
	}
	return strings.Replace(pattern, "{n}", text, 1), shown
}

// rounded applies the options for digits.
func (f *Number) rounded(d Decimal) shownNumber {
	most, least := f.MaxFrac, f.MinFrac
	switch {
	case f.CompactRounding:
		most, least = max(2, d.magnitude())-d.magnitude(), 0
	case f.MaxSig > 0:
		most, least = f.MaxSig-d.magnitude(), 0
	}
	whole, fraction := d.round(most)
	if f.MaxSig > 0 && !f.CompactRounding {
		size := len(whole)
		if whole == "0" && fraction != "" {
			size = len(strings.TrimLeft(fraction, "0")) - len(fraction)
		}
		least = f.MinSig - size
	}
	fraction += strings.Repeat("0", max(0, least-len(fraction)))
	return shownNumber{strings.Repeat("0", max(0, f.MinInt-len(whole))) + whole, fraction}
}

// compact returns the form for a number with that many digits; its names are nil if there is none.
func (f *Number) compact(digits int) compactForm {
	all := f.Locale.Number.Compact[f.CompactDisplay]
	if f.Notation != "compact" || digits < 4 || len(all) == 0 {
		return compactForm{}
	}
	if c := all[min(digits-4, len(all)-1)]; c.zeros > 0 {
		return c
	}
	return compactForm{}
}

// grouped formats an integer with its separators.
func (f *Number) grouped(whole string) string {
	n := &f.Locale.Number
	least := n.Primary + n.MinGrouping
	switch f.Grouping {
	case "false":
		return whole
	case "always":
		least = n.Primary + 1
	case "min2":
		least = n.Primary + 2
	}
	if len(whole) < least {
		return whole
	}
	end := len(whole) - n.Primary
	text := n.Group + whole[end:]
	for ; end > n.Secondary; end -= n.Secondary {
		text = n.Group + whole[end-n.Secondary:end] + text
	}
	return whole[:end] + text
}

// signed returns a pattern with a position for the sign.
func (f *Number) signed(pattern string) string {
	n := &f.Locale.Number
	switch {
	case f.Style == "percent":
		return n.PercentNegative
	case f.Style == "currency" && f.CurrencyDisplay != "name":
		return f.currencyPatterns()[1]
	}
	return strings.Replace(pattern, "{n}", n.Negative, 1)
}

// sign returns the sign of a number; zero reports that it is shown as zero.
func (f *Number) sign(d Decimal, zero bool) string {
	n := &f.Locale.Number
	switch show := f.SignDisplay; {
	case show == "never" || zero && (show == "exceptZero" || show == "negative"):
		return ""
	case d.negative:
		return n.Minus
	case show == "always" || show == "exceptZero":
		return n.Plus
	}
	return ""
}

func (f *Number) currencyPatterns() []string {
	c := &f.Locale.Number.Currency
	if f.CurrencyDisplay == "code" {
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

func (f *Number) currencyText(category string) string {
	c, ok := f.Locale.Number.Currencies[f.Currency]
	switch {
	case !ok || f.CurrencyDisplay == "code":
		return f.Currency
	case f.CurrencyDisplay == "name":
		return c.names.forCategory(category)
	case f.CurrencyDisplay == "narrowSymbol":
		return c.narrow
	}
	return c.symbol
}

// category returns the plural category of a formatted number.
func (f *Number) category(n shownNumber) string {
	return category(plural.Cardinal, f.Locale.Name, n)
}

// Plural returns the plural category of a number in the format f.
func (f *Number) Plural(d Decimal, ordinal bool) string {
	_, shown := f.number(d)
	rules := plural.Cardinal
	if ordinal {
		rules = plural.Ordinal
	}
	return category(rules, f.Locale.Name, shown)
}

// millions are the languages in which whole millions have a form of their own.
var millions = map[string]bool{"es": true, "fr": true, "it": true, "pt": true}

func category(rules *plural.Rules, locale string, n shownNumber) string {
	if rules == plural.Cardinal && n.fraction == "" && len(n.integer) > 6 && strings.HasSuffix(n.integer, "000000") && millions[locale[:2]] {
		return "many"
	}
	whole := strings.TrimLeft(n.integer, "0")
	if len(whole) > 7 { // the rules depend only on the last digits and on millions
		whole = "1" + whole[len(whole)-6:]
	}
	number := func(s string) int {
		v, _ := strconv.Atoi(s[:min(len(s), 9)])
		return v
	}
	trimmed := strings.TrimRight(n.fraction, "0")
	form := rules.MatchPlural(language.Make(locale), number(whole), len(n.fraction), len(trimmed), number(n.fraction), number(trimmed))
	return map[plural.Form]string{plural.Other: "other", plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many"}[form]
}

// Relative writes value as a time from now, such as "in 3 days", with words for some
// if auto. It reports false for an unknown unit.
func (l *Locale) Relative(style, unit string, value float64, auto bool) (string, bool) {
	all := l.Relatives[style][unit]
	if all == nil {
		return "", false
	}
	if word, ok := all[2][strconv.FormatFloat(value, 'f', -1, 64)]; ok && auto {
		return word, true
	}
	direction := 1
	if math.Signbit(value) {
		direction = 0
	}
	f := &Number{Locale: l, Style: "decimal", SignDisplay: "never", Grouping: "auto", MinInt: 1, MaxFrac: 3}
	text, shown := f.number(Float(value))
	return strings.Replace(all[direction].forCategory(f.category(shown)), "{n}", text, 1), true
}
