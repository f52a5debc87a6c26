package jsrun

import (
	"math"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"golang.org/x/text/cases"
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
	r.changeCase(text, "toLocaleLowerCase", cases.Lower)
	r.changeCase(text, "toLocaleUpperCase", cases.Upper)
	r.defineValue(text, "localeCompare", r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		if goja.IsUndefined(c.This) || goja.IsNull(c.This) {
			panic(r.failure("TypeError", "String.prototype.localeCompare called on null or undefined"))
		}
		return r.vm.ToValue(r.collator(c.Argument(1), c.Argument(2)).compare(c.This.String(), c.Argument(0).String()))
	}))
}

// caseLanguages are the languages that have letters of their own in other cases.
var caseLanguages = map[string]bool{"tr": true, "az": true, "lt": true, "el": true}

// changeCase gives String.prototype a method that changes the case of letters as
// a language does; goja's own are for all others.
func (r *runtime) changeCase(prototype *goja.Object, name string, change func(language.Tag, ...cases.Option) cases.Caser) {
	plain, _ := goja.AssertFunction(prototype.Get(name))
	r.defineValue(prototype, name, r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		if tags := r.localeTags(c.Argument(0)); len(tags) > 0 {
			_, canonical, err := findLocale(tags[0])
			if err != nil {
				panic(r.failure("RangeError", wrongLocale+": "+tags[0]))
			}
			if lang, _, _ := strings.Cut(canonical, "-"); caseLanguages[lang] && goja.IsString(c.This) {
				return r.vm.ToValue(change(language.Make(lang)).String(c.This.String()))
			}
		}
		v, err := plain(c.This)
		if err != nil {
			panic(err)
		}
		return v
	}))
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
		return r.formatter(f.numberOptions(), func(v goja.Value) []part { return f.parts(r.decimal(v)) })
	})
	add("makeDate", func(c goja.FunctionCall) goja.Value {
		f := r.dateFormat(c.Argument(0), c.Argument(1), "any", "date")
		o := r.formatter(f.dateOptions(), func(v goja.Value) []part { return f.parts(r.time(v)) })
		_ = o.Set("format", func(c goja.FunctionCall) goja.Value {
			return r.vm.ToValue(plainBlanks(joinParts(f.parts(r.time(c.Argument(0))))))
		})
		return o
	})
	add("makeCollator", func(c goja.FunctionCall) goja.Value {
		k := r.collator(c.Argument(0), c.Argument(1))
		o := r.formatter([]any{"locale", k.locale, "usage", "sort", "sensitivity", k.sensitivity,
			"collation", "default", "numeric", k.numeric}, nil)
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

// formatter makes an object of format, parts and resolved.
func (r *runtime) formatter(resolved []any, parts func(goja.Value) []part) *goja.Object {
	o := r.vm.NewObject()
	if parts != nil {
		_ = o.Set("format", func(c goja.FunctionCall) goja.Value { return r.vm.ToValue(joinParts(parts(c.Argument(0)))) })
		_ = o.Set("parts", func(c goja.FunctionCall) goja.Value { return r.partList(parts(c.Argument(0))) })
	}
	_ = o.Set("resolved", func(goja.FunctionCall) goja.Value {
		options := r.vm.NewObject()
		for i := 0; i+1 < len(resolved); i += 2 {
			if s, ok := resolved[i+1].(string); !ok || s != "" {
				_ = options.Set(resolved[i].(string), resolved[i+1])
			}
		}
		return options
	})
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

func (f *numberFormat) numberOptions() []any {
	list := []any{"locale", f.locale, "numberingSystem", "latn", "style", f.style}
	if f.style == "currency" {
		list = append(list, "currency", f.currency, "currencyDisplay", f.currencyDisplay, "currencySign", "standard")
	}
	list = append(list, "minimumIntegerDigits", f.minInt)
	switch {
	case f.maxSig > 0:
		list = append(list, "minimumSignificantDigits", f.minSig, "maximumSignificantDigits", f.maxSig)
	case f.compactRounding:
		list = append(list, "minimumSignificantDigits", 1, "maximumSignificantDigits", 2)
		fallthrough
	default:
		list = append(list, "minimumFractionDigits", f.minFrac, "maximumFractionDigits", f.maxFrac)
	}
	grouping := any(f.grouping)
	if f.grouping == "false" {
		grouping = false
	}
	list = append(list, "useGrouping", grouping, "notation", f.notation)
	if f.notation == "compact" {
		list = append(list, "compactDisplay", f.compactDisplay)
	}
	return append(list, "signDisplay", f.signDisplay, "roundingMode", "halfExpand")
}

func (f *dateFormat) dateOptions() []any {
	list := []any{"locale", f.locale, "calendar", "gregory", "numberingSystem", "latn", "timeZone", f.zoneName}
	if f.hour != "" || f.timeStyle != "" {
		list = append(list, "hourCycle", f.hourCycle, "hour12", f.hour12())
	}
	return append(list, "weekday", f.weekday, "year", f.year, "month", f.month, "day", f.day, "hour", f.hour, "minute", f.minute,
		"second", f.second, "timeZoneName", f.timeZoneName, "dateStyle", f.dateStyle, "timeStyle", f.timeStyle)
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
	var categories []any
	seen := map[string]bool{}
	for _, n := range []float64{0, 1, 2, 3, 4, 5, 6, 8, 11, 12, 20, 21, 22, 23, 100, 0.5, 1.5, 1e6} {
		seen[selected(decimalOf(n))] = true
	}
	for _, name := range []string{"few", "many", "one", "two", "zero", "other"} {
		if seen[name] {
			categories = append(categories, name)
		}
	}
	object := r.formatter([]any{"locale", f.locale, "type", kind, "minimumIntegerDigits", f.minInt, "minimumFractionDigits", f.minFrac,
		"maximumFractionDigits", f.maxFrac, "pluralCategories", r.vm.NewArray(categories...)}, nil)
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
