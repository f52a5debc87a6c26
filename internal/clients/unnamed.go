package clients

import (
	"os"
	"slices"
)

// Unnamed returns the variables that r.Config names and the entry of the broker in the
// client's file does not, although the client passes on only those that the entry names.
// Install adds them. It returns none if the client does not start the broker with r.Config.
func Unnamed(r Request) ([]string, error) {
	const any = "A"
	if sameJSON(r.Client.entry(Launch{}), r.Client.entry(Launch{variables: []string{any}})) {
		return nil, nil // it needs no names
	}
	path, err := r.target()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil // without the file it does not start the broker
	}
	j, err := openJournal(r.Journal)
	if err != nil {
		return nil, err
	}
	old := j.record(path)
	if old == nil {
		return nil, nil
	}
	fields, err := r.Client.format.servers(text, r.Client.root)
	if err != nil {
		return nil, err
	}
	r.nameVariables(nil)
	for _, f := range fields {
		if f.Key != old.Name || !mentions(plain(f.Value), r.Config) {
			continue
		}
		return slices.DeleteFunc(slices.Clone(r.Launch.variables), func(name string) bool { return mentions(plain(f.Value), name) }), nil
	}
	return nil, nil
}

// mentions reports whether a value, as encoding/json reads it, has a text as a key, as an
// element or as a value.
func mentions(value any, text string) bool {
	switch v := value.(type) {
	case string:
		return v == text
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return mentions(e, text) })
	case map[string]any:
		for key, e := range v {
			if key == text || mentions(e, text) {
				return true
			}
		}
	}
	return false
}
