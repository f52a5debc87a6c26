package broker_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/learned"
	"github.com/mcpbroker/mcpbroker/broker/quota"
	"github.com/mcpbroker/mcpbroker/broker/typecheck"
	"github.com/mcpbroker/mcpbroker/broker/vault"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/results"
)

const module = "github.com/mcpbroker/mcpbroker/"

// unnamable returns the types of this module that a program outside it would need and
// cannot name: types of internal packages that can be reached from roots through
// exported fields, methods and parameters. Each is returned with its path.
func unnamable(roots ...reflect.Type) []string {
	var found []string
	seen := make(map[reflect.Type]bool)
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		if seen[t] {
			return
		}
		seen[t] = true
		pkg, own := strings.CutPrefix(t.PkgPath(), module)
		if own && slices.Contains(strings.Split(pkg, "/"), "internal") {
			found = append(found, path+" is "+t.String())
			return
		}
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
			walk(t.Elem(), path)
		case reflect.Map:
			walk(t.Key(), path)
			walk(t.Elem(), path)
		case reflect.Func:
			for in := range t.Ins() {
				walk(in, path)
			}
			for out := range t.Outs() {
				walk(out, path)
			}
		}
		if t.Name() != "" && !own {
			return // skip types of other modules
		}
		if t.Kind() == reflect.Struct {
			for f := range t.Fields() {
				if f.IsExported() {
					walk(f.Type, path+"."+f.Name)
				}
			}
		}
		if t.Name() != "" && t.Kind() != reflect.Interface {
			t = reflect.PointerTo(t)
		}
		for m := range t.Methods() {
			walk(m.Type, path+"."+m.Name)
		}
	}
	for _, t := range roots {
		walk(t, t.Name())
	}
	return found
}

// A program that embeds the broker can name every type that it passes or gets.
func TestEmbeddersCanNameEveryType(t *testing.T) {
	roots := []reflect.Type{
		reflect.TypeFor[options](), reflect.TypeFor[broker.Broker](), reflect.TypeFor[broker.HTTPOptions](),
		reflect.TypeFor[broker.PendingCall](), reflect.TypeFor[broker.SkillPassage](),
		reflect.TypeFor[learned.Store](), reflect.TypeFor[quota.Limiter](), reflect.TypeFor[typecheck.Options](), reflect.TypeFor[vault.Vault](),
	}
	for _, problem := range unnamable(roots...) {
		t.Errorf("%s, which is internal", problem)
	}

	type sample struct {
		Field  map[string][]*results.Page
		Option func(context.Context, results.Gap) error
		Text   interface{ Clean(gate.Text) }
	}
	if found := unnamable(reflect.TypeFor[sample]()); len(found) != 3 {
		t.Errorf("of a sample with three internal types, it finds %q", found)
	}
}
