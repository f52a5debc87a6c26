package jsrun

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/sandbox/jsrun/intl"
)

// An options reads the options object of an Intl class. It throws for invalid options.
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

// text reads an option with one of the given values, the first of which is the default.
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

// refuse throws if one of these options has another value than its default: ignoring it would make
// a plausible, wrong text.
func (o options) refuse(defaults map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		if v := o.get(name); !goja.IsUndefined(v) && !slices.Contains(strings.Fields(defaults[name]), v.String()) {
			panic(o.r.failure("RangeError", fmt.Sprintf("Intl option %s: %q is not supported here; leave it out", name, v.String())))
		}
	}
}

// number reads an integer between low and high.
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

// foundLocale returns the locale for a tag, or "", and the canonical form of the tag. Of the
// options in tags it reads only that of numeric collation.
func (r *runtime) foundLocale(tag string) (name, canonical string) {
	if _, options, ok := strings.Cut(tag, "-u-"); ok && options != "kn" {
		panic(r.failure("RangeError", "Intl reads no options in tags here: give those of "+tag+" beside it"))
	}
	name, canonical, err := intl.Find(tag)
	if err != nil {
		panic(r.failure("RangeError", err.Error()+": "+tag))
	}
	return name, canonical
}

// findLocale reads the argument locales. If all are unknown, it throws: another language would
// make a wrong text.
func (r *runtime) findLocale(locales goja.Value) (l *intl.Locale, tag string) {
	tags := r.localeTags(locales)
	for _, t := range tags {
		if name, canonical := r.foundLocale(t); name != "" && l == nil {
			l, tag = intl.Get(name), canonical
		}
	}
	switch {
	case l != nil:
		return l, tag
	case len(tags) > 0:
		panic(r.failure("RangeError", fmt.Sprintf("Intl has no locale %s here; it has %s", tags[0], strings.Join(intl.Languages(), ", "))))
	}
	return intl.Get(intl.Default), intl.Default
}

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
	panic(r.failure("TypeError", intl.ErrTag.Error()))
}

// numberFormat reads the arguments of Intl.NumberFormat.
func (r *runtime) numberFormat(locales, opts goja.Value) *intl.Number {
	o := r.options(opts)
	f := &intl.Number{}
	f.Locale, _ = r.findLocale(locales)
	o.refuse(map[string]string{
		"currencySign": "standard", "numberingSystem": "latn", "roundingIncrement": "1", "roundingMode": "halfExpand",
		"roundingPriority": "auto", "trailingZeroDisplay": "auto",
	})
	f.Style = o.text("style", "decimal", "percent", "currency")
	f.Currency = strings.ToUpper(o.get("currency").String())
	f.CurrencyDisplay = o.text("currencyDisplay", "symbol", "narrowSymbol", "code", "name")
	f.Notation = o.text("notation", "standard", "compact")
	f.CompactDisplay = o.text("compactDisplay", "short", "long")
	f.SignDisplay = o.text("signDisplay", "auto", "never", "always", "exceptZero", "negative")
	switch {
	case f.Style == "currency" && !o.has("currency"):
		panic(r.failure("TypeError", "Currency code is required with currency style."))
	case f.Style == "currency" && len(f.Currency) != 3:
		panic(r.failure("RangeError", "Invalid currency code : "+f.Currency))
	}
	f.Grouping = o.grouping(f)
	o.digits(f)
	return f
}

func (o options) grouping(f *intl.Number) string {
	v := o.get("useGrouping")
	switch {
	case goja.IsUndefined(v):
		if f.Notation == "compact" {
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

func (o options) digits(f *intl.Number) {
	f.MinInt = o.number("minimumIntegerDigits", 1, 21, 1)
	low, high := 0, 3
	switch f.Style {
	case "percent":
		high = 0
	case "currency":
		low = intl.FractionDigits(f.Currency)
		if f.Notation != "standard" {
			low = 0
		}
		high = low
	}
	if o.has("minimumSignificantDigits") || o.has("maximumSignificantDigits") {
		f.MinSig = o.number("minimumSignificantDigits", 1, 21, 1)
		f.MaxSig = o.number("maximumSignificantDigits", f.MinSig, 21, 21)
		return
	}
	given := o.has("minimumFractionDigits") || o.has("maximumFractionDigits")
	if f.Notation == "compact" && !given {
		f.CompactRounding = true
		return
	}
	f.MinFrac = o.number("minimumFractionDigits", 0, 100, -1)
	f.MaxFrac = o.number("maximumFractionDigits", 0, 100, -1)
	switch {
	case f.MinFrac < 0 && f.MaxFrac < 0:
		f.MinFrac, f.MaxFrac = low, high
	case f.MinFrac < 0:
		f.MinFrac = min(low, f.MaxFrac)
	case f.MaxFrac < 0:
		f.MaxFrac = max(high, f.MinFrac)
	case f.MinFrac > f.MaxFrac:
		panic(o.r.failure("RangeError", "maximumFractionDigits value is out of range."))
	}
}

// decimal reads the argument of format.
func (r *runtime) decimal(v goja.Value) intl.Decimal {
	if i, ok := v.Export().(*big.Int); ok && goja.IsBigInt(v) {
		return intl.Int(i)
	}
	return intl.Float(v.ToFloat())
}

// A dateFormat is an Intl.DateTimeFormat with the requested language tag.
type dateFormat struct {
	intl.Date
	tag string
}

// dateFormat reads the arguments of Intl.DateTimeFormat. required and defaults are "date", "time"
// or "any": the options of which one must be present, and the options that are added otherwise.
func (r *runtime) dateFormat(locales, opts goja.Value, required, defaults string) *dateFormat {
	o := r.options(opts)
	f := &dateFormat{}
	f.Locale, f.tag = r.findLocale(locales)
	o.refuse(map[string]string{"calendar": "gregory iso8601", "numberingSystem": "latn", "era": "", "dayPeriod": ""})
	numeric := []string{"", "numeric", "2-digit"}
	name := []string{"", "long", "short", "narrow"}
	f.Weekday = o.text("weekday", name...)
	f.Year, f.Month, f.Day = o.text("year", numeric...), o.text("month", append(name, "numeric", "2-digit")...), o.text("day", numeric...)
	f.Hour, f.Minute, f.Second = o.text("hour", numeric...), o.text("minute", numeric...), o.text("second", numeric...)
	f.Fraction = o.number("fractionalSecondDigits", 1, 3, 0)
	f.TimeZoneName = o.text("timeZoneName", "", "long", "short", "shortOffset", "longOffset")
	style := []string{"", "full", "long", "medium", "short"}
	f.DateStyle, f.TimeStyle = o.text("dateStyle", style...), o.text("timeStyle", style...)
	if f.DateStyle+f.TimeStyle != "" {
		if f.Weekday+f.Year+f.Month+f.Day+f.Hour+f.Minute+f.Second+f.TimeZoneName != "" || f.Fraction > 0 {
			panic(r.failure("TypeError", "Can't set option other than timeZone and hourCycle when dateStyle or timeStyle is used"))
		}
	} else {
		date := f.Weekday+f.Year+f.Month+f.Day != ""
		clock := f.Hour+f.Minute+f.Second != "" || f.Fraction > 0
		if !(date && required != "time" || clock && required != "date") {
			if defaults != "time" {
				f.Year, f.Month, f.Day = "numeric", "numeric", "numeric"
			}
			if defaults != "date" {
				f.Hour, f.Minute, f.Second = "numeric", "numeric", "numeric"
			}
		}
	}
	f.HourCycle = o.hourCycle(f)
	f.Zone, f.ZoneName = time.Local, "UTC"
	if name := time.Local.String(); name != "Local" {
		f.ZoneName = name
	}
	if zone := o.get("timeZone"); !goja.IsUndefined(zone) {
		var ok bool
		if f.Zone, f.ZoneName, ok = intl.Zone(zone.String()); !ok {
			panic(r.failure("RangeError", "Invalid time zone specified: "+zone.String()))
		}
	}
	return f
}

func (o options) hourCycle(f *dateFormat) string {
	h12 := f.Locale.Date.Hour12
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

// time reads the argument of format: undefined means now.
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
