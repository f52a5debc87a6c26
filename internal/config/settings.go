package config

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

// The fields of Broker and Server, and of the structs in them, are the settings. The tags of a
// field define the setting, and its comment documents it:
//
//	name         its key in the file; "tools.allow" is the key "allow" of the object "tools"
//	also         other names of it, which are read too
//	read         how a text, or each text of a list, is read: a key of textReaders, or
//	             "own" if the reader of its object reads it by code
//	words        the texts that it may be
//	least, most  the smallest and the largest number or size
//	default      the value if the file leaves it out
//	reload       "live" if a running broker applies a change, "restart" if it does so when it
//	             is started again; sections have none, nor servers, profiles and tokens: "live"

// textReaders are the readers of texts by their names in tags.
var textReaders = map[string]func(c *collector, where string, to *string) field{
	"":              (*collector).text,
	"clientSecret":  (*collector).clientSecret,
	"command":       (*collector).command,
	"compiler":      (*collector).compiler,
	"containerPath": (*collector).containerPath,
	"database":      (*collector).database,
	"dimension":     (*collector).dimension,
	"filled":        (*collector).filled,
	"hostPort":      (*collector).hostPort,
	"layer":         (*collector).layer,
	"metadataURL":   (*collector).metadataURL,
	"objects":       (*collector).objects,
	"pattern":       (*collector).pattern,
	"quotaTools":    (*collector).quotaTools,
	"reference":     (*collector).refText,
	"secret":        (*collector).secret,
	"secureURL":     (*collector).secureURL,
	"tools":         (*collector).toolPattern,
	"url":           (*collector).url,
	"variable":      (*collector).variable,
}

// settings returns the schema of the settings in the struct that s points to. own reads
// the keys that it contains, and of returns the name of a key in messages.
func (c *collector) settings(s any, of func(key string) string, own schema) schema {
	return c.part(s, "", of, own)
}

// part is like settings, for those whose names begin with prefix, such as "tools.". The schema
// has the rest of the names.
func (c *collector) part(s any, prefix string, of func(key string) string, own schema) schema {
	out := make(schema)
	v := reflect.ValueOf(s).Elem()
	for f, value := range v.Fields() {
		name, within := strings.CutPrefix(f.Tag.Get("name"), prefix)
		if !within || name == "" || strings.Contains(name, ".") || own[name] != nil {
			continue
		}
		for _, key := range append(strings.Fields(f.Tag.Get("also")), name) {
			out[key] = c.setting(f.Tag, prefix+key, value.Addr().Interface(), of)
		}
	}
	maps.Copy(out, own)
	return out
}

// setting returns the reader of a setting with the given tags and name, which stores its
// value in to.
func (c *collector) setting(tag reflect.StructTag, name string, to any, of func(key string) string) field {
	where := of(name)
	switch to := to.(type) {
	case *string:
		if words := strings.Fields(tag.Get("words")); len(words) > 0 {
			return c.choice(name, to, words...)
		}
		return textReaders[tag.Get("read")](c, where, to)
	case *[]string:
		return c.list(where, to, func(where string, to *string) field { return textReaders[tag.Get("read")](c, where, to) })
	case *int:
		most, _ := strconv.Atoi(tag.Get("most"))
		return c.count(where, to, most)
	case *int64:
		least, _ := parseSize(tag.Get("least"))
		most, _ := parseSize(tag.Get("most"))
		return c.size(where, to, least, most)
	case *bool:
		return c.boolean(where, to)
	case **bool:
		return c.optionalBool(where, to)
	case *time.Duration:
		return c.duration(where, to)
	case **time.Duration:
		return c.optionalDuration(where, to)
	}
	within := func(key string) string { return of(name + "." + key) }
	return func(v hujson.Value) { c.object(v, where, c.settings(to, within, nil)) }
}

// setDefaults sets the zero settings in the struct v to the defaults in their tags.
func setDefaults(v reflect.Value) {
	for f, value := range v.Fields() {
		text, ok := f.Tag.Lookup("default")
		switch {
		case value.Kind() == reflect.Struct:
			setDefaults(value)
		case ok && value.IsZero():
			value.Set(reflect.ValueOf(defaultValue(value.Interface(), text)))
		}
	}
}

// defaultValue returns the value of a setting that has the type of v, from the text of a
// tag. TestSettingsAreComplete checks the texts.
func defaultValue(v any, text string) any {
	switch v.(type) {
	case int:
		n, _ := strconv.Atoi(text)
		return n
	case int64:
		n, _ := parseSize(text)
		return n
	case *bool:
		return new(text == "true")
	case time.Duration:
		d, _ := parseDuration(text)
		return d
	}
	return text
}

// NeedRestart returns the keys of the settings, such as "sandbox.runner", that differ
// between b and now and that a running broker does not apply.
func (b Broker) NeedRestart(now Broker) []string {
	return needRestart(reflect.ValueOf(b.WithDefaults()), reflect.ValueOf(now.WithDefaults()), "")
}

func needRestart(a, b reflect.Value, prefix string) (keys []string) {
	for i := range a.NumField() {
		field, x, y := a.Type().Field(i), a.Field(i), b.Field(i)
		key := prefix + field.Tag.Get("name")
		switch field.Tag.Get("reload") {
		case "":
			if x.Kind() == reflect.Struct {
				keys = append(keys, needRestart(x, y, key+".")...)
			}
		case "restart":
			if !reflect.DeepEqual(x.Interface(), y.Interface()) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// settingText returns a value as written in the file.
func settingText(v any) string {
	switch v := v.(type) {
	case time.Duration:
		return v.String()
	case int64:
		return writeSize(v)
	}
	return fmt.Sprint(v)
}
