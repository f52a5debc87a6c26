package jsrun

import (
	"embed"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
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

// regions are regions whose customs are those of another.
var regions = map[string]string{
	"en-001": "en-GB", "en-SG": "en-GB", "en-HK": "en-GB", "en-MT": "en-GB", "en-NG": "en-GB", "en-PH": "en-US", "en-PR": "en-US",
	"es-419": "es-MX", "es-US": "es-MX", "zh-HK": "zh-TW", "zh-MO": "zh-TW", "zh-Hant": "zh-TW", "zh-Hans": "zh-CN",
	"de-LI": "de-CH", "pt-AO": "pt-PT", "pt-MZ": "pt-PT",
}

// wrongLocale says of errLocale what V8 says.
const wrongLocale = "Incorrect locale information provided"

var errLocale = errors.New("not a language tag")

var localePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|\d{3}))?([-_].*)?$`)
})

// findLocale returns the name of the locale that serves best for a tag, and
// the tag as it is written properly. The name is empty if none serves.
func findLocale(tag string) (name, canonical string, err error) {
	m := localePattern().FindStringSubmatch(tag)
	if m == nil {
		return "", "", errLocale
	}
	parts := strings.Split(strings.ReplaceAll(tag, "_", "-"), "-")
	language := strings.ToLower(parts[0])
	canonical = language
	var script, region string
	for _, p := range parts[1:] {
		switch {
		case len(p) == 1: // extensions say nothing that is known here
		case len(p) == 4 && script == "" && region == "":
			script = strings.ToUpper(p[:1]) + strings.ToLower(p[1:])
			canonical += "-" + script
			continue
		case (len(p) == 2 || len(p) == 3) && region == "":
			region = strings.ToUpper(p)
			canonical += "-" + region
			continue
		}
		break
	}
	names := localeNames()
	for _, try := range []string{language + "-" + region, regions[language+"-"+region], regions[language+"-"+script], likely[language]} {
		if slices.Contains(names, try) {
			return try, canonical, nil
		}
	}
	for _, n := range names {
		if strings.HasPrefix(n, language+"-") {
			return n, canonical, nil
		}
	}
	return "", canonical, nil
}
