package jsrun

import (
	"math"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"golang.org/x/text/collate"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// defineLocale gives the built-ins their methods that depend on a locale.
// goja's own ignore their arguments, or throw. It is called for programs that
// name one of them.
func (r *runtime) defineLocale() {
	prototypes := r.load("prototypes")
	method := func(class, name string, f func(c goja.FunctionCall) string) {
		r.defineValue(prototypes.Get(class).(*goja.Object), name, r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
			return r.vm.ToValue(f(c))
		}))
	}
	number := func(c goja.FunctionCall) string {
		return joinParts(r.numberFormat(c.Argument(0), c.Argument(1)).parts(r.decimal(primitive(c.This))))
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
			return plainBlanks(joinParts(f.parts(r.time(r.vm.ToValue(ms)))))
		}
	}
	method("Date", "toLocaleString", date("any", "any"))
	method("Date", "toLocaleDateString", date("date", "date"))
	method("Date", "toLocaleTimeString", date("time", "time"))
	text := prototypes.Get("String").(*goja.Object)
	r.refuseCase(text, "toLocaleLowerCase")
	r.refuseCase(text, "toLocaleUpperCase")
	r.defineValue(text, "localeCompare", r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		if goja.IsUndefined(c.This) || goja.IsNull(c.This) {
			panic(r.failure("TypeError", "String.prototype.localeCompare called on null or undefined"))
		}
		return r.vm.ToValue(r.collator(c.Argument(1), c.Argument(2)).compare(c.This.String(), c.Argument(0).String()))
	}))
}

// caseLanguages are the languages that have letters of their own in other cases.
var caseLanguages = map[string]bool{"tr": true, "az": true, "lt": true, "el": true}

// refuseCase lets a method that changes the case of letters throw for these languages.
func (r *runtime) refuseCase(prototype *goja.Object, name string) {
	plain, _ := goja.AssertFunction(prototype.Get(name))
	r.defineMethod(prototype, name, 0, func(c goja.FunctionCall) goja.Value {
		for _, tag := range r.localeTags(c.Argument(0)) {
			if lang, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(tag), "_", "-"), "-"); caseLanguages[lang] {
				panic(r.failure("RangeError", name+" is not supported here for "+tag+": use replace for the letters that differ"))
			}
		}
		v, err := plain(c.This)
		if err != nil {
			panic(err)
		}
		return v
	})
}

// plainBlanks has blanks for the narrow ones in front of AM and PM, as V8 does:
// too many programs take times apart.
func plainBlanks(s string) string { return strings.ReplaceAll(s, "\u202f", " ") }

// primitive unwraps a Number or a BigInt object.
func primitive(v goja.Value) goja.Value {
	if o, ok := v.(*goja.Object); ok {
		return o.ToNumber()
	}
	return v
}

// A collator compares texts as a language does.
type collator struct {
	*collate.Collator
	locale, sensitivity string
	numeric             bool
}

// collator reads the arguments of Intl.Collator. Those that a program uses
// again and again in a sort are made once.
func (r *runtime) collator(locales, opts goja.Value) *collator {
	o := r.options(opts)
	c := &collator{locale: defaultLocale}
	if tags := r.localeTags(locales); len(tags) > 0 {
		_, canonical, err := findLocale(tags[0])
		if err != nil {
			panic(r.failure("RangeError", wrongLocale+": "+tags[0]))
		}
		c.locale = canonical
		c.numeric = strings.Contains(tags[0], "-u-") && strings.Contains(tags[0], "kn")
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

// intlNatives are the natives of lib/intl.js. Each make… returns an object of
// functions that share one format.
func (r *runtime) intlNatives(add func(string, func(goja.FunctionCall) goja.Value)) {
	add("makeNumber", func(c goja.FunctionCall) goja.Value {
		f := r.numberFormat(c.Argument(0), c.Argument(1))
		return r.formatter(func(v goja.Value) []part { return f.parts(r.decimal(v)) })
	})
	add("makeDate", func(c goja.FunctionCall) goja.Value {
		f := r.dateFormat(c.Argument(0), c.Argument(1), "any", "date")
		o := r.formatter(func(v goja.Value) []part { return f.parts(r.time(v)) })
		_ = o.Set("resolved", func(goja.FunctionCall) goja.Value { return r.resolved(f) })
		_ = o.Set("format", func(c goja.FunctionCall) goja.Value {
			return r.vm.ToValue(plainBlanks(joinParts(f.parts(r.time(c.Argument(0))))))
		})
		return o
	})
	add("makeCollator", func(c goja.FunctionCall) goja.Value {
		k := r.collator(c.Argument(0), c.Argument(1))
		o := r.vm.NewObject()
		_ = o.Set("compare", func(c goja.FunctionCall) goja.Value {
			return r.vm.ToValue(k.compare(c.Argument(0).String(), c.Argument(1).String()))
		})
		return o
	})
	add("makePlural", r.makePlural)
	add("phrases", func(c goja.FunctionCall) goja.Value {
		data, tag := r.findLocale(c.Argument(0))
		o := r.vm.NewObject()
		_ = o.Set("locale", tag)
		_ = o.Set("relative", func(c goja.FunctionCall) goja.Value {
			return r.relative(data, c)
		})
		return o
	})
	add("locales", func(c goja.FunctionCall) goja.Value {
		var known []any
		for _, tag := range r.localeTags(c.Argument(0)) {
			name, canonical, err := findLocale(tag)
			if err != nil {
				panic(r.failure("RangeError", wrongLocale+": "+tag))
			}
			if name != "" || c.Argument(1).ToBoolean() {
				known = append(known, canonical)
			}
		}
		return r.vm.NewArray(known...)
	})
}

// formatter makes an object of format and parts.
func (r *runtime) formatter(parts func(goja.Value) []part) *goja.Object {
	o := r.vm.NewObject()
	_ = o.Set("format", func(c goja.FunctionCall) goja.Value { return r.vm.ToValue(joinParts(parts(c.Argument(0)))) })
	_ = o.Set("parts", func(c goja.FunctionCall) goja.Value { return r.partList(parts(c.Argument(0))) })
	return o
}

func (r *runtime) partList(parts []part) goja.Value {
	list := make([]any, len(parts))
	for i, p := range parts {
		o := r.vm.NewObject()
		_ = o.Set("type", p.kind)
		_ = o.Set("value", p.text)
		list[i] = o
	}
	return r.vm.NewArray(list...)
}

// resolved are the options of a date format that programs ask for, most of all its
// time zone.
func (r *runtime) resolved(f *dateFormat) *goja.Object {
	o := r.vm.NewObject()
	set := func(name string, v any) {
		if v != "" {
			_ = o.Set(name, v)
		}
	}
	set("locale", f.locale)
	set("calendar", "gregory")
	set("numberingSystem", "latn")
	set("timeZone", f.zoneName)
	if f.hour != "" || f.timeStyle != "" {
		set("hourCycle", f.hourCycle)
		set("hour12", f.hour12())
	}
	for i, v := range []string{f.weekday, f.year, f.month, f.day, f.hour, f.minute, f.second, f.timeZoneName, f.dateStyle, f.timeStyle} {
		set([]string{"weekday", "year", "month", "day", "hour", "minute", "second", "timeZoneName", "dateStyle", "timeStyle"}[i], v)
	}
	return o
}

// makePlural reads the arguments of Intl.PluralRules.
func (r *runtime) makePlural(c goja.FunctionCall) goja.Value {
	o := r.options(c.Argument(1))
	kind := o.text("type", "cardinal", "ordinal")
	f := r.numberFormat(c.Argument(0), c.Argument(1))
	rules := plural.Cardinal
	if kind == "ordinal" {
		rules = plural.Ordinal
	}
	selected := func(d decimal) string {
		_, shown := f.number(&d)
		return pluralName(pluralCategory(rules, f.data.name, shown))
	}
	object := r.vm.NewObject()
	_ = object.Set("select", func(c goja.FunctionCall) goja.Value { return r.vm.ToValue(selected(r.decimal(c.Argument(0)))) })
	return object
}

// relative is (style, unit, value, numeric): the parts of "in 3 days".
func (r *runtime) relative(data *localeData, c goja.FunctionCall) goja.Value {
	style, unit, value := c.Argument(0).String(), strings.TrimSuffix(c.Argument(1).String(), "s"), c.Argument(2).ToFloat()
	all := data.Relative[style][unit]
	if all == nil {
		panic(r.failure("RangeError", "Invalid unit argument for format() '"+c.Argument(1).String()+"'"))
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		panic(r.failure("RangeError", "The value of the argument must be finite"))
	}
	if c.Argument(3).String() == "auto" {
		if word, ok := all[2][strconv.FormatFloat(value, 'f', -1, 64)]; ok {
			return r.partList([]part{{"literal", word}})
		}
	}
	f := &numberFormat{data: data, style: "decimal", notation: "standard", signDisplay: "never", grouping: "auto", minInt: 1, maxFrac: 3}
	d := decimalOf(math.Abs(value))
	number, shown := f.number(&d)
	direction := 1
	if value < 0 || math.Signbit(value) {
		direction = 0
	}
	return r.partList(fill(all[direction].of(f.category(shown)), func(string) []part { return number }, "literal"))
}
