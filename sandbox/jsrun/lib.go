package jsrun

import (
	"embed"
	"sync"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/sandbox/jsrun/amend"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// Many built-ins are seldom used. The files of lib define them, one file for each topic: a
// function of the natives that it uses (see natives), which returns its definitions. A file is
// compiled once per process, and run when a program first reads one of its globals.
//
//go:embed lib/*.js
var libFiles embed.FS

// libGlobals maps globals that are defined on first use to their files.
var libGlobals = map[string]string{
	"Iterator":        "iterator",
	"DOMException":    "events",
	"Event":           "events",
	"CustomEvent":     "events",
	"EventTarget":     "events",
	"AbortSignal":     "events",
	"AbortController": "events",
	"URL":             "url",
	"URLSearchParams": "url",
	"TextEncoder":     "text",
	"TextDecoder":     "text",
	"atob":            "text",
	"btoa":            "text",
	"Buffer":          "buffer",
	"crypto":          "crypto",
	"Crypto":          "crypto",
	"SubtleCrypto":    "crypto",
	"CryptoKey":       "crypto",
	"WeakRef":         "weak",
	"retry":           "retry",
	"Intl":            "intl",

	"FinalizationRegistry": "weak",
}

// builtinMethods are the methods in the file "builtins", by the object, or for String its
// prototype, that gets them.
var builtinMethods = map[string][]string{
	"Promise":    {"withResolvers", "try"},
	"Object":     {"groupBy"},
	"Map":        {"groupBy"},
	"Array":      {"fromAsync"},
	"String":     {"isWellFormed", "toWellFormed"},
	"Error":      {"isError"},
	"globalThis": {"structuredClone"},
}

// knows reports whether a name is defined without a declaration.
func (r *runtime) knows(name string) bool {
	return libGlobals[name] != "" || r.vm.GlobalObject().Get(name) != nil
}

// absent throws the error for the use of a withheld name.
func (r *runtime) absent(c goja.FunctionCall) goja.Value {
	name := c.Argument(0).String()
	panic(r.failure("Error", name+" is not available: "+script.Withheld[name]))
}

// Library returns the source of a part of this runtime that is written in JavaScript and that
// other engines may need too: "builtins", "iterator", "promises", "revive", "plain" or "retry".
func Library(name string) string {
	text, err := libFiles.ReadFile("lib/" + name + ".js")
	if err != nil {
		panic(err) // the name is a constant
	}
	return string(text)
}

var libPrograms sync.Map // of file names to func() *goja.Program

// libProgram compiles lib/name.js, once. Its name in traces is broker:name, and its frames are
// removed.
func libProgram(name string) *goja.Program {
	once, _ := libPrograms.LoadOrStore(name, sync.OnceValue(func() *goja.Program {
		return goja.MustCompile("broker:"+name, Library(name), true)
	}))
	return once.(func() *goja.Program)()
}

// load runs a file of lib, once per runtime, and returns its definitions.
func (r *runtime) load(name string) *goja.Object {
	if o := r.libs[name]; o != nil {
		return o
	}
	v, err := r.vm.RunProgram(libProgram(name))
	if err != nil {
		panic(err)
	}
	define, _ := goja.AssertFunction(v)
	o := r.callOrThrow(define, r.natives(name)).(*goja.Object)
	r.libs[name] = o
	return o
}

// defineLibs defines a getter for every global of lib.
func (r *runtime) defineLibs() {
	global := r.vm.GlobalObject()
	for name, file := range libGlobals {
		r.lazily(global, name, func() goja.Value { return r.load(file).Get(name) })
	}
	for owner, names := range builtinMethods {
		object := global
		switch owner {
		case "globalThis":
		case "String":
			object = global.Get(owner).(*goja.Object).Get("prototype").(*goja.Object)
		default:
			object = global.Get(owner).(*goja.Object)
		}
		for _, name := range names {
			r.lazily(object, name, func() goja.Value { return r.load("builtins").Get(owner).(*goja.Object).Get(name) })
		}
	}
	// The code that esbuild generates for for await, async generators and using reads these.
	symbol := global.Get("Symbol").(*goja.Object)
	for _, name := range []string{"asyncIterator", "dispose", "asyncDispose"} {
		_ = symbol.DefineDataProperty(name, goja.NewSymbol("Symbol."+name), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	}
	r.defineValue(global, "global", global)
	for _, name := range []string{"map", "filter", "take", "drop", "flatMap", "reduce", "toArray", "forEach", "some", "every", "find"} {
		r.lazily(r.iteratorPrototype, name, func() goja.Value { return r.load("iterator").Get(name) })
	}
}

// lazily defines a property that is computed on its first read, unless goja has it.
func (r *runtime) lazily(object *goja.Object, name string, read func() goja.Value) {
	if object.Get(name) != nil {
		return
	}
	get := r.vm.ToValue(func(goja.FunctionCall) goja.Value {
		v := read()
		r.defineValue(object, name, v)
		return v
	})
	set := r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		r.defineValue(object, name, c.Argument(0))
		return goja.Undefined()
	})
	_ = object.DefineAccessorProperty(name, get, set, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// natives returns the functions in Go for a file of lib. None of them affects anything outside the
// runtime.
func (r *runtime) natives(name string) goja.Value {
	o := r.vm.NewObject()
	add := func(name string, f func(c goja.FunctionCall) goja.Value) { _ = o.Set(name, f) }
	switch name {
	case "regexp":
		add("spellOut", func(c goja.FunctionCall) goja.Value {
			pattern, flags := c.Argument(0).String(), c.Argument(1).String()
			spelled, err := amend.SpellOut(pattern, flags)
			if err != nil {
				panic(r.failure("SyntaxError", "Invalid regular expression: /"+pattern+"/"+flags+": "+err.Error()))
			}
			return r.vm.ToValue(spelled)
		})
		add("canBeEmpty", func(c goja.FunctionCall) goja.Value { // with any flags
			pattern := c.Argument(0).String()
			return r.vm.ToValue(amend.CanBeEmpty(pattern, "") || amend.CanBeEmpty(pattern, "u"))
		})
	case "promises":
		add("caught", r.caught)
		add("raced", r.raced)
	case "text", "buffer", "crypto":
		r.byteNatives(add)
	case "intl":
		r.intlNatives(add)
	case "url":
		r.urlNatives(add)
	}
	return o
}
