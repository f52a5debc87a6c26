package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// Sources resolve references.
type Sources struct {
	// Env returns an environment variable, like os.LookupEnv. It is required.
	Env func(name string) (value string, ok bool)
	// Keyring returns a secret; its error contains advice and no value. It may be nil.
	Keyring func(name string) (string, error)
	// Program returns the output of a reference's program; its error contains none of that. Nil
	// forbids programs.
	Program func(reference string, argv []string) (string, error)
	// Person returns a secret of the person on whose behalf a server is used; it may be nil.
	Person func(name string) (string, error)
}

// Expand resolves the references in text:
//
//	${VAR}, ${env:VAR}          the variable; one that is not set is an error
//	${VAR:-text}                the variable, or text if it is unset or empty
//	${keyring:name}             the secret of that name in the system's keyring
//	command://program word…     what a program prints, which no shell reads
//	op://vault/item/field       what "op read" prints of it
//	${person:name}              a secret that each person has given
//	${workspaceFolder}          the folder of the project, which is not known here
//	$${                         a plain ${
//
// A program reference is a whole text, or is in ${…} within a longer one.
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
		switch r.kind {
		case programRef:
			return from.program(r.name)
		case folderRef:
			return "", fmt.Errorf("${%s}: there is no project here", r.name)
		case personRef:
			if from.Person == nil {
				return "", fmt.Errorf("${person:%s}: this request does not name a person", r.name)
			}
			return from.Person(r.name)
		}
		v, ok := from.Env(r.name)
		switch {
		case r.hasFallback && v == "":
			return r.fallback, nil
		case !ok:
			return "", fmt.Errorf("environment variable %s is not set: set it, or write a default, as in ${VAR:-text}", r.name)
		}
		return v, nil
	})
}

// program runs the program of a reference.
func (from Sources) program(reference string) (string, error) {
	if from.Program == nil {
		return "", fmt.Errorf("%s: running a program is not allowed here", reference)
	}
	argv, err := program(reference)
	if err != nil {
		return "", err
	}
	v, err := from.Program(reference, argv)
	if err != nil {
		return "", fmt.Errorf("%s: %w", reference, err)
	}
	return v, nil
}

type refKind int

const (
	envRef refKind = iota
	keyringRef
	programRef // its name is the whole reference
	folderRef  // of the client's project
	personRef  // of the person who makes the call
)

// A ref is one ${…} of a string.
type ref struct {
	kind        refKind
	name        string
	fallback    string
	hasFallback bool
}

// A refError reports an invalid reference.
type refError struct {
	off  int // of its "${" in the string
	text string
}

func (e *refError) Error() string { return e.text }

// checkRefs returns the first invalid reference of s, or nil.
func checkRefs(s string) *refError {
	_, err := walkRefs(s, func(ref) (string, error) { return "", nil })
	bad, _ := err.(*refError)
	return bad
}

// secretRef returns the first reference in s to the keyring or to a program, or "".
func secretRef(s string) (first string) {
	_ = eachPart(s, func(_ string, r *ref) error {
		switch {
		case r == nil || first != "":
		case r.kind == keyringRef:
			first = "${keyring:" + r.name + "}"
		case r.kind == programRef:
			first, _, _ = strings.Cut(r.name, " ")
		}
		return nil
	})
	return first
}

// walkRefs replaces the references in s by the result of value.
func walkRefs(s string, value func(ref) (string, error)) (string, error) {
	var b strings.Builder
	err := eachPart(s, func(text string, r *ref) (err error) {
		if r != nil {
			text, err = value(*r)
		}
		b.WriteString(text)
		return err
	})
	if err != nil {
		return "", err
	}
	return b.String(), nil
}

// eachPart calls part with the references in s and the text between them, in order, until it
// returns an error.
func eachPart(s string, part func(text string, r *ref) error) error {
	if isProgramRef(s) {
		r, err := parseRef(s)
		if err != nil {
			return &refError{0, err.Error()}
		}
		return part("", &r)
	}
	for done := 0; done < len(s); {
		rest := s[done:]
		at := strings.Index(rest, "${")
		if at < 0 {
			return part(rest, nil)
		}
		if at > 0 && rest[at-1] == '$' {
			if err := part(rest[:at-1]+"${", nil); err != nil {
				return err
			}
			done += at + 2
			continue
		}
		end := strings.IndexByte(rest[at:], '}')
		if end < 0 {
			return &refError{done + at, `"${" is never closed: write ${VAR}, or $${ for a plain "${"`}
		}
		r, err := parseRef(rest[at+2 : at+end])
		if err != nil {
			return &refError{done + at, err.Error()}
		}
		if err := part(rest[:at], nil); err != nil {
			return err
		}
		if err := part("", &r); err != nil {
			return err
		}
		done += at + end + 1
	}
	return nil
}

// parseRef parses the text between "${" and "}".
func parseRef(body string) (ref, error) {
	if isProgramRef(body) {
		_, err := program(body)
		return ref{kind: programRef, name: body}, err
	}
	if name, ok := strings.CutPrefix(body, "keyring:"); ok {
		if name == "" {
			return ref{}, fmt.Errorf("${keyring:} names no entry: write ${keyring:name}")
		}
		return ref{kind: keyringRef, name: name}, nil
	}
	if name, ok := strings.CutPrefix(body, "person:"); ok {
		if !isSecretName(name) {
			return ref{}, fmt.Errorf("${person:%s} has no valid name: write letters, digits, - and _", clean(name))
		}
		return ref{kind: personRef, name: name}, nil
	}
	name, fallback, hasFallback := strings.Cut(strings.TrimPrefix(body, "env:"), ":-")
	if isFolderName(body) {
		return ref{kind: folderRef, name: body}, nil
	}
	if isVarName(name) {
		return ref{name: name, fallback: fallback, hasFallback: hasFallback}, nil
	}
	shown := name // without the fallback, which may be a secret
	if kind, _, ok := strings.Cut(name, ":"); ok {
		return ref{}, fmt.Errorf("${%s:…} is not known here: write ${VAR}, ${VAR:-text}, ${env:VAR} or ${keyring:name}", clean(kind))
	}
	if v, _, ok := strings.Cut(name, "-"); ok && isVarName(v) {
		return ref{}, fmt.Errorf("${%s-…} is not a reference; did you mean ${%s:-…}?", v, v)
	}
	return ref{}, fmt.Errorf(`${%s} is not a reference: write ${VAR}, ${VAR:-text}, ${env:VAR} or ${keyring:name}, or $${ for a plain "${"`, clean(shown))
}

// isFolderName reports whether a reference is to the folder of the project, or to its name, in the
// syntax of clients.
func isFolderName(s string) bool { return s == "workspaceFolder" || s == "workspaceFolderBasename" }

// clean returns a part of the file for a message.
func clean(s string) string {
	return strings.Trim(quote(s), `"`)
}

// isVarName accepts names of shell variables, and the parentheses of Windows' ProgramFiles(x86).
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

var variableRefs = lazyregexp.New(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}`)

// Variables returns the names of the environment variables that the text of a config refers to,
// including comments, sorted.
func Variables(text []byte) []string {
	var names []string
	for _, m := range variableRefs.FindAllSubmatch(text, -1) {
		if name := string(m[1]); !isFolderName(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
