package config

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// overrides reads changes of a server's tools.
func (c *collector) overrides(v hujson.Value, of func(string) string, to *map[string]Override) {
	renamed := make(map[string]string)
	c.members(v, of("tools.override"), func(tool string, _, value hujson.Value) {
		where := func(k string) string { return of(fmt.Sprintf("tools.override.%s.%s", gate.Cut(tool, 60), k)) }
		var o Override
		seen := c.object(value, of("tools.override."+gate.Cut(tool, 60)), c.settings(&o, where, schema{"defaults": c.jsonMap(where("defaults"), &o.Defaults)}))
		switch other, taken := renamed[o.Name]; {
		case o.Name == "":
		case !toolNames.MatchString(o.Name):
			c.fail(seen["name"], "%s is %s: use letters, digits, \"_\", \"-\" and \".\", at most 64", where("name"), quote(o.Name))
		case taken:
			c.fail(seen["name"], "%s: %s is the name of %s already", where("name"), quote(o.Name), quote(other))
		default:
			renamed[o.Name] = tool
		}
		for _, p := range o.Hide {
			if p == "" {
				c.fail(seen["hide"], "%s: a parameter needs a name", where("hide"))
			}
		}
		o.Hide = slices.DeleteFunc(o.Hide, func(p string) bool { return p == "" })
		if *to == nil {
			*to = make(map[string]Override)
		}
		(*to)[tool] = o
	})
}

var toolNames = lazyregexp.New(`^[A-Za-z0-9_.-]{1,64}$`)

// jsonMap reads an object with values of any type.
func (c *collector) jsonMap(where string, to *map[string]json.RawMessage) field {
	return func(v hujson.Value) {
		c.members(v, where, func(name string, _, value hujson.Value) {
			value = value.Clone()
			value.Standardize()
			value.Minimize()
			if *to == nil {
				*to = make(map[string]json.RawMessage)
			}
			(*to)[name] = value.Pack()
		})
	}
}
