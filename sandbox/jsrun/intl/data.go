// Package intl formats numbers, dates and times for locales, with tables that gen.mjs reads from
// another engine.
package intl

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/language"
)

// The file of a locale is read on its first use.
//
//go:embed *.json.gz
var files embed.FS

//go:embed tables.json
var tablesText []byte

// tables contains the data that does not depend on the locale.
var tables = sync.OnceValue(func() (t struct {
	FractionDigits map[string]int    // of the currencies that have no hundredths
	Regions        map[string]string // locale of a language, or of a region with the numbers and dates of another
	ZoneAliases    map[string]string // older names of time zones, with the names of other engines
	ZoneNames      map[string]string // zones with the names of another zone
}) {
	if err := json.Unmarshal(tablesText, &t); err != nil {
		panic(err) // the file is embedded
	}
	return t
})

// Default is the default locale.
const Default = "en-US"

// A forms maps plural categories to texts. It always contains "other".
type forms map[string]string

func (f forms) forCategory(category string) string {
	if s, ok := f[category]; ok {
		return s
	}
	return f["other"]
}

// A Locale is one file. Patterns have {n} for a number, {c} for a
// currency, {-} for a minus sign, {%} for a percent sign, {0} for a time, {1}
// for a date, and the letters of Unicode's date patterns in braces.
type Locale struct {
	Name   string `json:"-"`
	Number struct {
		Decimal, Group, Minus, Plus     string
		Primary, Secondary, MinGrouping int
		NaN                             string `json:"nan"`
		Negative, Percent               string
		PercentNegative, PercentSign    string
		Currency                        struct {
			Symbol, Code, Lettered []string // of positive and of negative amounts
			Name                   string
		}
		Currencies map[string]currencyNames
		Compact    map[string][]compactForm
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
		GMT                        string
		Zones                      map[string][]string // short, long, short and long in summer
	}
	Relatives map[string]map[string][]forms `json:"relative"` // by style and unit: past, future, words
}

type currencyNames struct {
	symbol, narrow string
	names          forms
}

// UnmarshalJSON reads [symbol, narrow, names].
func (c *currencyNames) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&c.symbol, &c.narrow, &c.names})
}

// A compactForm contains the number of zeros that a power of ten removes, and its names.
type compactForm struct {
	zeros int
	names forms
}

// UnmarshalJSON reads [zeros, names].
func (c *compactForm) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&c.zeros, &c.names})
}

var cache sync.Map // of names to func() *Locale

// Get returns a locale of Names.
func Get(name string) *Locale {
	once, _ := cache.LoadOrStore(name, sync.OnceValue(func() *Locale {
		l := &Locale{Name: name}
		if err := l.read(); err != nil {
			panic(err) // the file is embedded
		}
		return l
	}))
	return once.(func() *Locale)()
}

func (l *Locale) read() error {
	raw, err := files.ReadFile(l.Name + ".json.gz")
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return json.NewDecoder(z).Decode(l)
}

// Names returns the available locales.
var Names = sync.OnceValue(func() (names []string) {
	list, _ := files.ReadDir(".")
	for _, f := range list {
		if name := strings.TrimSuffix(f.Name(), ".json.gz"); strings.Contains(name, "-") {
			names = append(names, name)
		}
	}
	return names
})

// Languages returns the languages of the locales.
func Languages() (list []string) {
	for _, name := range Names() {
		list = append(list, name[:2])
	}
	return slices.Compact(list)
}

// ErrTag is the error about an invalid language tag, in the words of V8.
//
//lint:ignore ST1005 they begin with a capital letter
var ErrTag = errors.New("Incorrect locale information provided")

// Find returns the name of the best locale for a tag, or "", and the canonical form of the tag. It
// does not use the distances of package language: that considers es-MX nearest to es-AR, and their
// decimal separators differ.
func Find(tag string) (name, canonical string, err error) {
	plain, _, _ := strings.Cut(tag, "-u-")
	t, err := language.Parse(plain)
	if _, unknown := errors.AsType[language.ValueError](err); err != nil && !unknown {
		return "", "", ErrTag
	}
	base, script, region := t.Raw()
	of, regions := base.String()+"-", tables().Regions
	for _, try := range []string{of + region.String(), regions[of+region.String()], regions[of+script.String()], regions[base.String()]} {
		if slices.Contains(Names(), try) {
			return try, t.String(), nil
		}
	}
	if i := slices.IndexFunc(Names(), func(n string) bool { return strings.HasPrefix(n, of) }); i >= 0 {
		name = Names()[i]
	}
	return name, t.String(), nil
}

// FractionDigits returns the number of decimal places of amounts in a currency.
func FractionDigits(currency string) int {
	if n, ok := tables().FractionDigits[currency]; ok {
		return n
	}
	return 2
}
