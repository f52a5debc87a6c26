package jsrun

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"
)

// An options reads the options object of an Intl class. What is wrong is
// thrown.
type options struct {
	r *runtime
	o *goja.Object
}

func (r *runtime) options(v goja.Value) options {
	o, _ := v.(*goja.Object)
	return options{r, o}
}

func (o options) get(name string) goja.Value {
	if o.o == nil {
		return goja.Undefined()
	}
	if v := o.o.Get(name); v != nil {
		return v
	}
	return goja.Undefined()
}

// text reads an option that is one of the values, the first of which is the
// default.
func (o options) text(name string, values ...string) string {
	v := o.get(name)
	if goja.IsUndefined(v) {
		return values[0]
	}
	s := v.String()
	if !slices.Contains(values, s) || s == "" {
		panic(o.r.failure("RangeError", fmt.Sprintf("Intl option %s: %q is not supported here; there are %s", name, s, strings.Join(slices.DeleteFunc(values, isEmpty), ", "))))
	}
	return s
}

func isEmpty(s string) bool { return s == "" }

// refuse throws if one of these options is given with another value than its own
// default: what is formatted without it would look right and be wrong.
func (o options) refuse(defaults map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		if v := o.get(name); !goja.IsUndefined(v) && !slices.Contains(strings.Fields(defaults[name]), v.String()) {
			panic(o.r.failure("RangeError", fmt.Sprintf("Intl option %s: %q is not supported here; leave it out", name, v.String())))
		}
	}
}

// number reads a whole number between low and high.
func (o options) number(name string, low, high, otherwise int) int {
	v := o.get(name)
	if goja.IsUndefined(v) {
		return otherwise
	}
	f := v.ToFloat()
	if math.IsNaN(f) || f < float64(low) || f > float64(high) {
		panic(o.r.failure("RangeError", name+" value is out of range."))
	}
	return int(f)
}

func (o options) has(name string) bool { return !goja.IsUndefined(o.get(name)) }

// findLocale reads the argument locales. Where no locale of them is known, it
// throws: another language would be a wrong text.
func (r *runtime) findLocale(locales goja.Value) (data *localeData, tag string) {
	tags := r.localeTags(locales)
	for _, t := range tags {
		name, canonical, err := findLocale(t)
		if err != nil {
			panic(r.failure("RangeError", wrongLocale+": "+t))
		}
		if _, more, ok := strings.Cut(t, "-u-"); ok && otherDigits().MatchString(more) {
			panic(r.failure("RangeError", "Intl has no other calendars and digits here: "+t))
		}
		if name != "" && data == nil {
			data, tag = locale(name), canonical
		}
	}
	switch {
	case data != nil:
		return data, tag
	case len(tags) > 0:
		panic(r.failure("RangeError", fmt.Sprintf("Intl has no locale %s here; it has %s", tags[0], strings.Join(localeLanguages(), ", "))))
	}
	return locale(defaultLocale), defaultLocale
}

// otherDigits finds the calendars and digits in a tag that are not the usual ones.
var otherDigits = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|-)(?:nu-(?:[^l]|l[^a])|ca-[^gi])`)
})

func (r *runtime) localeTags(locales goja.Value) []string {
	if locales == nil || goja.IsUndefined(locales) {
		return nil
	}
	if goja.IsString(locales) {
		return []string{locales.String()}
	}
	var tags []string
	if o, ok := locales.(*goja.Object); ok {
		for i := range o.Get("length").ToInteger() {
			tags = append(tags, o.Get(fmt.Sprint(i)).String())
		}
		return tags
	}
	panic(r.failure("TypeError", wrongLocale))
}

// fractionDigits are the currencies that have no hundredths.
var fractionDigits = map[string]int{
	"JPY": 0, "KRW": 0, "VND": 0, "CLP": 0, "ISK": 0, "PYG": 0, "UGX": 0, "XAF": 0, "XOF": 0, "XPF": 0, "RWF": 0, "KMF": 0, "GNF": 0, "DJF": 0, "BIF": 0, "VUV": 0,
	"KWD": 3, "BHD": 3, "JOD": 3, "OMR": 3, "TND": 3, "LYD": 3, "IQD": 0, "IDR": 2, "HUF": 2, "TWD": 2, "COP": 2, "CLF": 4,
}

// numberFormat reads the arguments of Intl.NumberFormat.
func (r *runtime) numberFormat(locales, opts goja.Value) *numberFormat {
	o := r.options(opts)
	f := &numberFormat{}
	f.data, f.locale = r.findLocale(locales)
	o.refuse(map[string]string{
		"currencySign": "standard", "numberingSystem": "latn", "roundingIncrement": "1", "roundingMode": "halfExpand",
		"roundingPriority": "auto", "trailingZeroDisplay": "auto",
	})
	f.style = o.text("style", "decimal", "percent", "currency")
	f.currency = strings.ToUpper(o.get("currency").String())
	f.currencyDisplay = o.text("currencyDisplay", "symbol", "narrowSymbol", "code", "name")
	f.notation = o.text("notation", "standard", "compact")
	f.compactDisplay = o.text("compactDisplay", "short", "long")
	f.signDisplay = o.text("signDisplay", "auto", "never", "always", "exceptZero", "negative")
	switch {
	case f.style == "currency" && !o.has("currency"):
		panic(r.failure("TypeError", "Currency code is required with currency style."))
	case f.style == "currency" && len(f.currency) != 3:
		panic(r.failure("RangeError", "Invalid currency code : "+f.currency))
	}
	f.grouping = f.groupingOption(o)
	f.digitOptions(o)
	return f
}

func (f *numberFormat) groupingOption(o options) string {
	v := o.get("useGrouping")
	switch {
	case goja.IsUndefined(v):
		if f.notation == "compact" {
			return "min2"
		}
		return "auto"
	case !v.ToBoolean() || v.String() == "false":
		return "false"
	case v.String() == "min2" || v.String() == "auto":
		return v.String()
	}
	return "always"
}

func (f *numberFormat) digitOptions(o options) {
	f.minInt = o.number("minimumIntegerDigits", 1, 21, 1)
	low, high := 0, 3
	switch f.style {
	case "percent":
		high = 0
	case "currency":
		n, ok := fractionDigits[f.currency]
		if !ok {
			n = 2
		}
		if f.notation == "standard" {
			low, high = n, n
		} else {
			low, high = 0, 0
		}
	}
	if o.has("minimumSignificantDigits") || o.has("maximumSignificantDigits") {
		f.minSig = o.number("minimumSignificantDigits", 1, 21, 1)
		f.maxSig = o.number("maximumSignificantDigits", f.minSig, 21, 21)
		return
	}
	given := o.has("minimumFractionDigits") || o.has("maximumFractionDigits")
	if f.notation == "compact" && !given {
		f.compactRounding = true
		return
	}
	f.minFrac = o.number("minimumFractionDigits", 0, 100, -1)
	f.maxFrac = o.number("maximumFractionDigits", 0, 100, -1)
	switch {
	case f.minFrac < 0 && f.maxFrac < 0:
		f.minFrac, f.maxFrac = low, high
	case f.minFrac < 0:
		f.minFrac = min(low, f.maxFrac)
	case f.maxFrac < 0:
		f.maxFrac = max(high, f.minFrac)
	case f.minFrac > f.maxFrac:
		panic(o.r.failure("RangeError", "maximumFractionDigits value is out of range."))
	}
}

// decimal reads the argument of format.
func (r *runtime) decimal(v goja.Value) decimal {
	if i, ok := v.Export().(*big.Int); ok && goja.IsBigInt(v) {
		return decimalOfInt(i)
	}
	return decimalOf(v.ToFloat())
}

// dateFormat reads the arguments of Intl.DateTimeFormat. required and defaults
// are "date", "time" or "any": what must be among the options, and what is
// added if it is not.
func (r *runtime) dateFormat(locales, opts goja.Value, required, defaults string) *dateFormat {
	o := r.options(opts)
	f := &dateFormat{}
	f.data, f.locale = r.findLocale(locales)
	o.refuse(map[string]string{"calendar": "gregory iso8601", "numberingSystem": "latn", "era": "", "dayPeriod": ""})
	numeric := []string{"", "numeric", "2-digit"}
	name := []string{"", "long", "short", "narrow"}
	f.weekday = o.text("weekday", name...)
	f.year, f.month, f.day = o.text("year", numeric...), o.text("month", append(name, "numeric", "2-digit")...), o.text("day", numeric...)
	f.hour, f.minute, f.second = o.text("hour", numeric...), o.text("minute", numeric...), o.text("second", numeric...)
	f.fraction = o.number("fractionalSecondDigits", 1, 3, 0)
	f.timeZoneName = o.text("timeZoneName", "", "long", "short", "shortOffset", "longOffset")
	style := []string{"", "full", "long", "medium", "short"}
	f.dateStyle, f.timeStyle = o.text("dateStyle", style...), o.text("timeStyle", style...)
	if f.dateStyle+f.timeStyle != "" {
		if f.weekday+f.year+f.month+f.day+f.hour+f.minute+f.second+f.timeZoneName != "" || f.fraction > 0 {
			panic(r.failure("TypeError", "Can't set option other than timeZone and hourCycle when dateStyle or timeStyle is used"))
		}
	} else {
		date := f.weekday+f.year+f.month+f.day != ""
		clock := f.hour+f.minute+f.second != "" || f.fraction > 0
		if !(date && required != "time" || clock && required != "date") {
			if defaults != "time" {
				f.year, f.month, f.day = "numeric", "numeric", "numeric"
			}
			if defaults != "date" {
				f.hour, f.minute, f.second = "numeric", "numeric", "numeric"
			}
		}
	}
	f.hourCycle = f.cycleOption(o)
	f.zone, f.zoneName = time.Local, "UTC"
	if name := time.Local.String(); name != "Local" {
		f.zoneName = name
	}
	if zone := o.get("timeZone"); !goja.IsUndefined(zone) {
		var ok bool
		if f.zone, f.zoneName, ok = findZone(zone.String()); !ok {
			panic(r.failure("RangeError", "Invalid time zone specified: "+zone.String()))
		}
	}
	return f
}

func (f *dateFormat) cycleOption(o options) string {
	h12 := f.data.Date.Hour12
	if v := o.get("hour12"); !goja.IsUndefined(v) {
		switch {
		case v.ToBoolean() && h12:
			return "h12"
		case v.ToBoolean():
			return "h11"
		case h12:
			return "h24"
		}
		return "h23"
	}
	if h12 {
		return o.text("hourCycle", "h12", "h11", "h23", "h24")
	}
	return o.text("hourCycle", "h23", "h11", "h12", "h24")
}

// time reads the argument of format: nothing is now.
func (r *runtime) time(v goja.Value) time.Time {
	if goja.IsUndefined(v) {
		return r.tape.now()
	}
	ms := v.ToNumber().ToFloat()
	if math.IsNaN(ms) || math.Abs(ms) > 8.64e15 {
		panic(r.failure("RangeError", "Invalid time value"))
	}
	return time.UnixMilli(int64(ms))
}
