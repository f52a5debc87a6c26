package jsrun

import (
	"math"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"golang.org/x/text/cases"
	"golang.org/x/text/collate"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"github.com/mcpbroker/mcpbroker/sandbox/jsrun/intl"
)

// defineLocale defines the methods of built-ins that depend on a locale. goja's own methods ignore
// their arguments, or throw. It is called for programs that name one of them.
func (r *runtime) defineLocale() {
	prototypes := r.load("prototypes")
	method := func(class, name string, f func(c goja.FunctionCall) string) {
		r.defineValue(prototypes.Get(class).(*goja.Object), name, r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
			return r.vm.ToValue(f(c))
		}))
	}
	number := func(c goja.FunctionCall) string {
		return r.numberFormat(c.Argument(0), c.Argument(1)).Format(r.decimal(primitive(c.This)))
	}
	method("Number", "toLocaleString", number)
	method("BigInt", "toLocaleString", number)
	date := func(required, defaults string) func(goja.FunctionCall) string {
		return func(c goja.FunctionCall) string {
			ms := c.This.ToNumber().ToFloat()
			if math.IsNaN(ms) {
				return "Invalid Date"
			}
			f := r.dateFormat(c.Argument(0), c.Argument(1), required, defaults)
			return plainBlanks(intl.Join(f.Parts(r.time(r.vm.ToValue(ms)))))
		}
	}
	method("Date", "toLocaleString", date("any", "any"))
	method("Date", "toLocaleDateString", date("date", "date"))
	method("Date", "toLocaleTimeString", date("time", "time"))
	text := prototypes.Get("String").(*goja.Object)
	r.changeCase(text, "toLocaleLowerCase", cases.Lower)
	r.changeCase(text, "toLocaleUpperCase", cases.Upper)
	r.defineValue(text, "localeCompare", r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		if goja.IsUndefined(c.This) || goja.IsNull(c.This) {
			panic(r.failure("TypeError", "String.prototype.localeCompare called on null or undefined"))
		}
		return r.vm.ToValue(r.collator(c.Argument(1), c.Argument(2)).compare(c.This.String(), c.Argument(0).String()))
	}))
}

// changeCase defines a method that changes the case of letters by the rules of a language.
func (r *runtime) changeCase(prototype *goja.Object, name string, caser func(language.Tag, ...cases.Option) cases.Caser) {
	r.defineMethod(prototype, name, 0, func(c goja.FunctionCall) goja.Value {
		tags := r.localeTags(c.Argument(0))
		if len(tags) == 0 {
			tags = []string{intl.Default}
		}
		return r.vm.ToValue(caser(language.Make(tags[0])).String(c.This.String()))
	})
}

// plainBlanks replaces the narrow blanks before AM and PM, like V8: too many programs split times.
func plainBlanks(s string) string { return strings.ReplaceAll(s, "\u202f", " ") }

// primitive unwraps a Number or a BigInt object.
func primitive(v goja.Value) goja.Value {
	if o, ok := v.(*goja.Object); ok {
		return o.ToNumber()
	}
	return v
}

// A collator compares texts by the rules of a language.
type collator struct {
	*collate.Collator
	locale, sensitivity string
	numeric             bool
}

// collator reads the arguments of Intl.Collator. It caches the collators that a program uses
// repeatedly, for example in a sort.
func (r *runtime) collator(locales, opts goja.Value) *collator {
	o := r.options(opts)
	c := &collator{locale: intl.Default}
	if tags := r.localeTags(locales); len(tags) > 0 {
		_, c.locale = r.foundLocale(tags[0])
		c.numeric = strings.HasSuffix(tags[0], "-u-kn")
	}
	c.sensitivity = o.text("sensitivity", "variant", "base", "accent", "case")
	c.numeric = c.numeric || o.get("numeric").ToBoolean()
	o.refuse(map[string]string{"caseFirst": "false", "ignorePunctuation": "false", "collation": "default", "usage": "sort search"})
	key := c.locale + " " + c.sensitivity + strconv.FormatBool(c.numeric)
	if known := r.collators[key]; known != nil {
		return known
	}
	var opt []collate.Option
	if c.numeric {
		opt = append(opt, collate.Numeric)
	}
	switch c.sensitivity {
	case "base":
		opt = append(opt, collate.Loose)
	case "accent":
		opt = append(opt, collate.IgnoreCase, collate.IgnoreWidth)
	case "case":
		opt = append(opt, collate.IgnoreDiacritics)
	}
	c.Collator = collate.New(language.Make(c.locale), opt...)
	r.collators[key] = c
	return c
}

func (c *collator) compare(a, b string) int {
	if a == b {
		return 0
	}
	return c.CompareString(norm.NFC.String(a), norm.NFC.String(b))
}

// intlNatives adds the natives of lib/intl.js. Each make… returns an object of functions that
// share one format.
func (r *runtime) intlNatives(add func(string, func(goja.FunctionCall) goja.Value)) {
	object := func(methods map[string]func(goja.FunctionCall) goja.Value) goja.Value {
		o := r.vm.NewObject()
		for name, f := range methods {
			_ = o.Set(name, f)
		}
		return o
	}
	type methods = map[string]func(goja.FunctionCall) goja.Value
	add("makeNumber", func(c goja.FunctionCall) goja.Value {
		f := r.numberFormat(c.Argument(0), c.Argument(1))
		return object(methods{"format": func(c goja.FunctionCall) goja.Value { return r.vm.ToValue(f.Format(r.decimal(c.Argument(0)))) }})
	})
	add("makeDate", func(c goja.FunctionCall) goja.Value {
		f := r.dateFormat(c.Argument(0), c.Argument(1), "any", "date")
		return object(methods{
			"format": func(c goja.FunctionCall) goja.Value {
				return r.vm.ToValue(plainBlanks(intl.Join(f.Parts(r.time(c.Argument(0))))))
			},
			"parts":    func(c goja.FunctionCall) goja.Value { return r.partList(f.Parts(r.time(c.Argument(0)))) },
			"resolved": func(goja.FunctionCall) goja.Value { return r.resolved(f) },
		})
	})
	add("makeCollator", func(c goja.FunctionCall) goja.Value {
		k := r.collator(c.Argument(0), c.Argument(1))
		return object(methods{"compare": func(c goja.FunctionCall) goja.Value {
			return r.vm.ToValue(k.compare(c.Argument(0).String(), c.Argument(1).String()))
		}})
	})
	add("makePlural", func(c goja.FunctionCall) goja.Value {
		ordinal := r.options(c.Argument(1)).text("type", "cardinal", "ordinal") == "ordinal"
		f := r.numberFormat(c.Argument(0), c.Argument(1))
		return object(methods{"select": func(c goja.FunctionCall) goja.Value {
			return r.vm.ToValue(f.Plural(r.decimal(c.Argument(0)), ordinal))
		}})
	})
	add("makeRelative", func(c goja.FunctionCall) goja.Value {
		l, _ := r.findLocale(c.Argument(0))
		return object(methods{"format": func(c goja.FunctionCall) goja.Value { return r.relative(l, c) }})
	})
	add("locales", func(c goja.FunctionCall) goja.Value {
		var known []any
		for _, tag := range r.localeTags(c.Argument(0)) {
			if name, canonical := r.foundLocale(tag); name != "" {
				known = append(known, canonical)
			}
		}
		return r.vm.NewArray(known...)
	})
}

func (r *runtime) partList(parts []intl.Part) goja.Value {
	list := make([]any, len(parts))
	for i, p := range parts {
		o := r.vm.NewObject()
		_ = o.Set("type", p.Kind)
		_ = o.Set("value", p.Text)
		list[i] = o
	}
	return r.vm.NewArray(list...)
}

// resolved returns the options of a date format that programs read, most often its time zone.
func (r *runtime) resolved(f *dateFormat) *goja.Object {
	o := r.vm.NewObject()
	var cycle string
	var hour12 any = ""
	if f.Hour != "" || f.TimeStyle != "" {
		cycle, hour12 = f.HourCycle, f.Hour12()
	}
	for _, option := range [][2]any{
		{"locale", f.tag}, {"calendar", "gregory"}, {"numberingSystem", "latn"}, {"timeZone", f.ZoneName}, {"hourCycle", cycle}, {"hour12", hour12},
		{"weekday", f.Weekday}, {"year", f.Year}, {"month", f.Month}, {"day", f.Day}, {"hour", f.Hour}, {"minute", f.Minute}, {"second", f.Second},
		{"timeZoneName", f.TimeZoneName}, {"dateStyle", f.DateStyle}, {"timeStyle", f.TimeStyle},
	} {
		if option[1] != "" {
			_ = o.Set(option[0].(string), option[1])
		}
	}
	return o
}

// relative implements (style, unit, value, numeric): "in 3 days".
func (r *runtime) relative(l *intl.Locale, c goja.FunctionCall) goja.Value {
	value := c.Argument(2).ToFloat()
	if math.IsNaN(value) || math.IsInf(value, 0) {
		panic(r.failure("RangeError", "The value of the argument must be finite"))
	}
	unit := c.Argument(1).String()
	text, ok := l.Relative(c.Argument(0).String(), strings.TrimSuffix(unit, "s"), value, c.Argument(3).String() == "auto")
	if !ok {
		panic(r.failure("RangeError", "Invalid unit argument for format() '"+unit+"'"))
	}
	return r.vm.ToValue(text)
}
