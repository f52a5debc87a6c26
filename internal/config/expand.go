package config

import (
	"fmt"
	"strings"
)

// Sources are where the values of references come from.
type Sources struct {
	// Env finds an environment variable, as os.LookupEnv does. It is required.
	Env func(name string) (value string, ok bool)
	// Keyring finds a secret; its error says what to do and holds no value. Nil
	// means that there is no keyring.
	Keyring func(name string) (string, error)
}

// Expand resolves the references in text:
//
//	${VAR}, ${env:VAR}          the variable; one that is not set is an error
//	${VAR:-text}                the variable, or text if it is unset or empty
//	${keyring:name}             the secret of that name in the system's keyring
//	$${                         a plain ${
//
// A "$" without "{" is kept. Errors name the variable, never a value.
func (from Sources) Expand(text string) (string, error) {
	return walkRefs(text, func(r ref) (string, error) {
		if r.kind == keyringRef {
			if from.Keyring == nil {
				return "", fmt.Errorf("${keyring:%s}: there is no keyring here: use ${VAR}", r.name)
			}
			v, err := from.Keyring(r.name)
			if err != nil {
				return "", fmt.Errorf("${keyring:%s}: %w", r.name, err)
			}
			return v, nil
		}
		v, ok := from.Env(r.name)
		switch {
		case r.hasFallback && v == "":
			return r.fallback, nil
		case !ok:
			return "", fmt.Errorf("environment variable %s is not set: set it, or write ${%s:-text} for a default", r.name, r.name)
		}
		return v, nil
	})
}

type refKind int

const (
	envRef refKind = iota
	keyringRef
)

// A ref is one ${…} of a string.
type ref struct {
	kind        refKind
	name        string
	fallback    string
	hasFallback bool
}

// A refError is a reference that is written wrong.
type refError struct {
	off  int // of its "${" in the string
	text string
}

func (e *refError) Error() string { return e.text }

// checkRefs reports the first reference of s that is written wrong, or nil.
func checkRefs(s string) *refError {
	_, err := walkRefs(s, func(ref) (string, error) { return "", nil })
	bad, _ := err.(*refError)
	return bad
}

// walkRefs replaces the references of s with what value says.
func walkRefs(s string, value func(ref) (string, error)) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); {
		n := strings.Index(s[i:], "${")
		if n < 0 {
			b.WriteString(s[i:])
			break
		}
		at := i + n
		if at > i && s[at-1] == '$' {
			b.WriteString(s[i:at-1] + "${")
			i = at + 2
			continue
		}
		b.WriteString(s[i:at])
		end := strings.IndexByte(s[at:], '}')
		if end < 0 {
			return "", &refError{at, `"${" is never closed: write ${VAR}, or $${ for a plain "${"`}
		}
		r, err := parseRef(s[at+2 : at+end])
		if err != nil {
			return "", &refError{at, err.Error()}
		}
		v, err := value(r)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
		i = at + end + 1
	}
	return b.String(), nil
}

// parseRef reads what stands between "${" and "}".
func parseRef(body string) (ref, error) {
	if name, ok := strings.CutPrefix(body, "keyring:"); ok {
		if name == "" {
			return ref{}, fmt.Errorf("${keyring:} names no entry: write ${keyring:name}")
		}
		return ref{kind: keyringRef, name: name}, nil
	}
	name, fallback, hasFallback := strings.Cut(strings.TrimPrefix(body, "env:"), ":-")
	if isVarName(name) {
		return ref{name: name, fallback: fallback, hasFallback: hasFallback}, nil
	}
	shown := name // not the fallback, which may be a secret
	if kind, _, ok := strings.Cut(name, ":"); ok {
		return ref{}, fmt.Errorf("${%s:…} is not known here: write ${VAR}, ${VAR:-text}, ${env:VAR} or ${keyring:name}", clean(kind))
	}
	if v, _, ok := strings.Cut(name, "-"); ok && isVarName(v) {
		return ref{}, fmt.Errorf("${%s-…} is no reference; did you mean ${%s:-…}?", v, v)
	}
	return ref{}, fmt.Errorf(`${%s} is no reference: write ${VAR}, ${VAR:-text}, ${env:VAR} or ${keyring:name}, or $${ for a plain "${"`, clean(shown))
}

// clean makes a piece of the file fit for a message.
func clean(s string) string {
	return strings.Trim(quote(s), `"`)
}

// isVarName accepts the names of shells, and the brackets of Windows'
// ProgramFiles(x86).
func isVarName(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '_', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '(' || c == ')'):
		default:
			return false
		}
	}
	return s != ""
}
