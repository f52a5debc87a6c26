package config

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/redact"
)

// A Setting is an effective value.
type Setting struct {
	// Key is its path, such as "broker.sandbox.memory".
	Key string `json:"key"`
	// Value is the value as written, with secrets replaced by the names of references, such as
	// ${VAR}.
	Value string `json:"value"`
	// From is FILE:LINE, "default", or the source that overrides both.
	From string `json:"from"`
}

// Settings returns the values in a file in order, followed by the defaults of missing ones. They
// contain no secrets.
func Settings(path string, data []byte) ([]Setting, error) {
	if _, err := Parse(path, data); err != nil {
		return nil, err
	}
	c := newCollector(data)
	root, ok := parseSyntax(c)
	if !ok {
		return nil, c.report(path)
	}
	root.Standardize()
	l := lister{c: c, file: filepath.Base(path), seen: make(map[string]bool)}
	l.value("", root)
	l.defaults("broker", reflect.ValueOf(Broker{}.WithDefaults()))
	return l.list, nil
}

type lister struct {
	c    *collector
	file string
	seen map[string]bool
	list []Setting
}

// maxSetting bounds a displayed value.
const maxSetting = 400

// hidden are the keys whose values are, or may contain, credentials: only the names of references
// in them are shown.
var hidden = []string{"env", "headers", "args", "tokens", "adminToken", "stateKey", "state", "clientSecret", "clientId", "url", "serverUrl", "httpUrl", "command", "cwd", "defaults", "$schema", "inputs"}

// value lists the value of a key: objects by member, others on one line.
func (l *lister) value(key string, v hujson.Value) {
	if o, ok := v.Value.(*hujson.Object); ok && len(o.Members) > 0 {
		for _, m := range o.Members {
			name := gate.Cut(gate.Line(m.Name.Value.(hujson.Literal).String()), 80)
			l.value(strings.TrimPrefix(key+"."+name, "."), m.Value)
		}
		return
	}
	if v.Value.Kind() == 'n' {
		return
	}
	line, _ := l.c.position(v.StartOffset)
	l.seen[key] = true
	l.list = append(l.list, Setting{key, shown(key, v), l.file + ":" + strconv.Itoa(line)})
}

// shown returns a value for display.
func shown(key string, v hujson.Value) string {
	v = v.Clone()
	v.Minimize()
	text := string(v.Pack())
	if slices.ContainsFunc(strings.Split(key, "."), func(part string) bool { return slices.Contains(hidden, part) }) {
		return names(text)
	}
	if s, ok := v.Value.(hujson.Literal); ok && v.Value.Kind() == '"' {
		text = s.String()
	}
	return gate.Cut(gate.Line(redact.Text(text)), maxSetting)
}

// names returns the references in a JSON text, without their fallbacks.
func names(text string) string {
	var found []string
	var texts []string
	var one string
	if json.Unmarshal([]byte(text), &one) == nil {
		texts = []string{one}
	} else if json.Unmarshal([]byte(text), &texts) != nil {
		return "(set)"
	}
	for _, s := range texts {
		_ = eachPart(s, func(_ string, r *ref) error {
			switch {
			case r == nil:
			case r.kind == keyringRef:
				found = append(found, "${keyring:"+r.name+"}")
			case r.kind == programRef:
				found = append(found, "(of a program)")
			default:
				found = append(found, "${"+r.name+"}")
			}
			return nil
		})
	}
	if len(found) == 0 {
		return "(set)"
	}
	return gate.Cut(gate.Line(strings.Join(found, " ")), maxSetting)
}

// defaults lists the settings in a struct that have a default, by key.
func (l *lister) defaults(key string, v reflect.Value) {
	for f, value := range v.Fields() {
		name := key + "." + f.Tag.Get("name")
		if value.Kind() == reflect.Struct {
			l.defaults(name, value)
			continue
		}
		if f.Tag.Get("default") != "" && !l.seen[name] {
			l.list = append(l.list, Setting{name, settingText(reflect.Indirect(value).Interface()), "default"})
		}
	}
}
