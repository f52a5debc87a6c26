package jsrun

import (
	"embed"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/language"
)

// Intl draws on a file of data for each locale, which intl/gen.mjs writes. A
// file is read when its locale is first asked for.
//
//go:embed intl/*.json
var localeFiles embed.FS

// defaultLocale is that of programs that name none.
const defaultLocale = "en-US"

// A forms holds texts by plural category. "other" is always there.
type forms map[string]string

func (f forms) of(category string) string {
	if s, ok := f[category]; ok {
		return s
	}
	return f["other"]
}

// A localeData is one file. Patterns have {n} for a number, {c} for a
// currency, {-} for a minus sign, {%} for a percent sign, {0} for a time, {1}
// for a date, and the letters of Unicode's date patterns in braces.
type localeData struct {
	name   string
	Number struct {
		Decimal, Group, Minus, Plus     string
		Primary, Secondary, MinGrouping int
		NaN                             string `json:"nan"`
		Negative, Percent               string
		PercentNegative, PercentSign    string
		Currency                        currencyPatterns
		Currencies                      map[string]currencyNames
		Compact                         map[string][]compactForm
	}
	Date struct {
		Months, Weekdays           map[string][]string
		Periods                    []string
		Hour12                     bool
		Date                       map[string]string
		Time                       map[string][]string
		Glue, StyleGlue            map[string]string
		DateStyle, TimeStyle       map[string]string
		ZoneWithTime, ZoneWithDate string
		Fraction, GMT              string
		Zones                      map[string][]string // short, long, short and long in summer
	}
	Relative map[string]map[string][]forms // by style and unit: past, future, words
}

// A currencyPatterns has, for each display, the patterns of positive and of
// negative amounts.
type currencyPatterns struct {
	Symbol, Code, Lettered []string
	Name                   string
}

type currencyNames struct {
	symbol, narrow string
	names          forms
}

// UnmarshalJSON reads [symbol, narrow, names].
func (c *currencyNames) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&c.symbol, &c.narrow, &c.names})
}

// A compactForm says how many zeros a power of ten loses, and what it is called.
type compactForm struct {
	zeros int
	names forms
}

// UnmarshalJSON reads [zeros, names].
func (c *compactForm) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&c.zeros, &c.names})
}

var localeCache sync.Map // of names to func() *localeData

// locale returns the data of a locale that localeNames has.
func locale(name string) *localeData {
	once, _ := localeCache.LoadOrStore(name, sync.OnceValue(func() *localeData {
		raw, err := localeFiles.ReadFile("intl/" + name + ".json")
		d := &localeData{name: name}
		if err == nil {
			err = json.Unmarshal(raw, d)
		}
		if err != nil {
			panic(err) // a file of our own
		}
		return d
	}))
	return once.(func() *localeData)()
}

// localeNames are the locales that there are.
var localeNames = sync.OnceValue(func() []string {
	files, _ := localeFiles.ReadDir("intl")
	var names []string
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".json"); ok {
			names = append(names, name)
		}
	}
	return names
})

// localeLanguages are the languages of the locales.
func localeLanguages() []string {
	var list []string
	for _, name := range localeNames() {
		list = append(list, strings.Split(name, "-")[0])
	}
	return slices.Compact(list)
}

// likely are the languages whose first region by name is not the usual one.
var likely = map[string]string{
	"de": "de-DE", "en": "en-US", "es": "es-ES", "fr": "fr-FR", "pt": "pt-BR", "zh": "zh-CN",
}

// regions are regions whose numbers and dates are those of another. The distances of
// package language do not say so: for it es-AR is nearest to es-MX, which has other
// decimal points.
var regions = map[string]string{
	"en-001": "en-GB", "en-150": "en-GB", "en-SG": "en-GB", "en-HK": "en-GB", "en-MT": "en-GB", "en-NG": "en-GB", "en-PH": "en-US", "en-PR": "en-US",
	"es-419": "es-MX", "es-US": "es-MX", "zh-HK": "zh-TW", "zh-MO": "zh-TW", "zh-Hant": "zh-TW", "zh-Hans": "zh-CN",
	"de-LI": "de-CH", "pt-AO": "pt-PT", "pt-MZ": "pt-PT",
}

// wrongLocale says of errLocale what V8 says.
const wrongLocale = "Incorrect locale information provided"

var errLocale = errors.New("not a language tag")

// findLocale returns the name of the locale that serves best for a tag, and
// the tag as it is written properly. The name is empty if none serves.
func findLocale(tag string) (name, canonical string, err error) {
	plain, _, _ := strings.Cut(tag, "-u-")
	t, err := language.Parse(plain)
	if _, unknown := errors.AsType[language.ValueError](err); err != nil && !unknown {
		return "", "", errLocale
	}
	base, script, region := t.Raw()
	of := base.String() + "-"
	for _, try := range []string{of + region.String(), regions[of+region.String()], regions[of+script.String()], likely[base.String()]} {
		if slices.Contains(localeNames(), try) {
			return try, t.String(), nil
		}
	}
	if i := slices.IndexFunc(localeNames(), func(n string) bool { return strings.HasPrefix(n, of) }); i >= 0 {
		name = localeNames()[i]
	}
	return name, t.String(), nil
}
