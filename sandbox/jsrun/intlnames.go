package jsrun

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/dop251/goja"
	"golang.org/x/text/language"
)

// A displayNames is what Intl.DisplayNames knows in one locale.
type displayNames struct {
	Language, Region, Script, Currency map[string]string

	Pattern string // {0} is a language, {1} its script or region
}

var nameFiles sync.Map // of locales to func() *displayNames

// namesOf reads the names of a locale of localeNames, once.
func namesOf(locale string) *displayNames {
	once, _ := nameFiles.LoadOrStore(locale, sync.OnceValue(func() *displayNames {
		n := new(displayNames)
		text, err := localeFiles.ReadFile("intl/names/" + locale + ".json")
		if err == nil {
			err = json.Unmarshal(text, n)
		}
		if err != nil {
			panic(err) // a file of our own
		}
		return n
	}))
	return once.(func() *displayNames)()
}

// zoneNames are the time zones that Intl.supportedValuesOf lists, one a line.
func zoneNames() string {
	text, err := localeFiles.ReadFile("intl/names/zones.txt")
	if err != nil {
		panic(err) // a file of our own
	}
	return string(text)
}

// displayName is (locales, type, code) to the name or undefined, for lib.
func (r *runtime) displayName(c goja.FunctionCall) goja.Value {
	data, _ := r.findLocale(c.Argument(0))
	if name := namesOf(data.name).of(c.Argument(1).String(), c.Argument(2).String()); name != "" {
		return r.vm.ToValue(name)
	}
	return goja.Undefined()
}

func (n *displayNames) of(kind, code string) string {
	switch kind {
	case "region":
		return n.Region[strings.ToUpper(code)]
	case "script":
		return n.Script[code]
	case "currency":
		return n.Currency[code]
	}
	if name := n.Language[code]; name != "" {
		return name
	}
	base, rest, _ := strings.Cut(code, "-")
	name := n.Language[base]
	if name == "" || rest == "" {
		return name
	}
	var more []string
	for part := range strings.SplitSeq(rest, "-") {
		said := n.Region[part]
		if said == "" {
			said = n.Script[part]
		}
		if said == "" {
			return ""
		}
		more = append(more, said)
	}
	return strings.NewReplacer("{0}", name, "{1}", strings.Join(more, ", ")).Replace(n.Pattern)
}

// parseLocale takes a tag apart for Intl.Locale: its language, script and
// region, the tag itself, and the likeliest whole one.
func (r *runtime) parseLocale(c goja.FunctionCall) goja.Value {
	tag := c.Argument(0).String()
	_, canonical, err := findLocale(tag)
	if err != nil {
		panic(r.failure("RangeError", wrongLocale+": "+tag))
	}
	parsed := language.Make(canonical)
	base, script, region := parsed.Raw()
	o := r.vm.NewObject()
	_ = o.Set("baseName", canonical)
	_ = o.Set("language", base.String())
	if text := script.String(); text != "Zzzz" {
		_ = o.Set("script", text)
	}
	if text := region.String(); text != "ZZ" {
		_ = o.Set("region", text)
	}
	likelyBase, _ := parsed.Base()
	likelyScript, _ := parsed.Script()
	likelyRegion, _ := parsed.Region()
	_ = o.Set("maximal", likelyBase.String()+"-"+likelyScript.String()+"-"+likelyRegion.String())
	return o
}
