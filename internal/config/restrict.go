package config

import (
	"maps"
	"slices"
	"strings"
)

// Reads returns the references of a server: the variables of the environment, and the entries of
// the keyring together with program references, each sorted.
func (s Server) Reads() (variables, secrets []string) {
	s.eachText(func(text string) string {
		_ = eachPart(text, func(_ string, r *ref) error {
			switch {
			case r == nil, r.kind == folderRef, r.kind == personRef:
			case r.kind == keyringRef, r.kind == programRef:
				secrets = append(secrets, r.name)
			default:
				variables = append(variables, r.name)
			}
			return nil
		})
		return text
	})
	slices.Sort(variables)
	slices.Sort(secrets)
	return slices.Compact(variables), slices.Compact(secrets)
}

// Restricted returns the server with only the references to the variables that it may read.
// Others, and all references to the keyring and to programs, are replaced by their fallback or
// nothing. withheld are those without a fallback, such as "VAR" and "keyring:name", sorted.
func (s Server) Restricted(may []string) (_ Server, withheld []string) {
	out := s.eachText(func(text string) string {
		var b, plain strings.Builder
		flush := func() { // two pieces of plain text must not form a reference
			b.WriteString(strings.ReplaceAll(plain.String(), "${", "$${"))
			plain.Reset()
		}
		err := eachPart(text, func(between string, r *ref) error {
			plain.WriteString(between)
			switch {
			case r == nil:
			case r.kind == keyringRef:
				withheld = append(withheld, "keyring:"+r.name)
			case r.kind == personRef:
				withheld = append(withheld, "person:"+r.name)
			case r.kind == programRef:
				withheld = append(withheld, r.name)
			case r.kind == folderRef, slices.Contains(may, r.name):
				flush()
				b.WriteString("${" + r.name)
				if r.hasFallback {
					b.WriteString(":-" + r.fallback)
				}
				b.WriteString("}")
			case r.hasFallback:
				plain.WriteString(r.fallback)
			default:
				withheld = append(withheld, r.name)
			}
			return nil
		})
		if err != nil {
			return "" // no valid configuration contains such a reference
		}
		flush()
		return b.String()
	})
	slices.Sort(withheld)
	return out, slices.Compact(withheld)
}

// eachText returns a copy of the server with f applied to each text that may contain references.
func (s Server) eachText(f func(string) string) Server {
	s.Args, s.Env, s.Headers = slices.Clone(s.Args), maps.Clone(s.Env), maps.Clone(s.Headers)
	for _, text := range []*string{&s.Command, &s.Dir, &s.URL, &s.OAuth.ClientID, &s.OAuth.ClientSecret} {
		*text = f(*text)
	}
	for i := range s.Args {
		s.Args[i] = f(s.Args[i])
	}
	for _, m := range []map[string]string{s.Env, s.Headers} {
		for k, v := range m {
			m[k] = f(v)
		}
	}
	return s
}
