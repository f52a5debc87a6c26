// Package lazyregexp provides regular expressions that are compiled on first use. Package
// variables then cost nothing in processes that do not use them, most importantly the bridges to
// the daemon.
package lazyregexp

import (
	"regexp"
	"sync"
)

// A Regexp is a regular expression. Its methods are those of [regexp.Regexp].
type Regexp struct {
	compiled func() *regexp.Regexp
}

// New returns a regular expression. It does not compile text, which must be valid: a test must use
// it.
func New(text string) *Regexp {
	return &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (r *Regexp) Match(b []byte) bool                  { return r.compiled().Match(b) }
func (r *Regexp) MatchString(s string) bool            { return r.compiled().MatchString(s) }
func (r *Regexp) FindString(s string) string           { return r.compiled().FindString(s) }
func (r *Regexp) FindStringIndex(s string) []int       { return r.compiled().FindStringIndex(s) }
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}
func (r *Regexp) FindSubmatch(b []byte) [][]byte         { return r.compiled().FindSubmatch(b) }
func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}
func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}
func (r *Regexp) ReplaceAllString(s, to string) string { return r.compiled().ReplaceAllString(s, to) }

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}

func (r *Regexp) ReplaceAllStringFunc(s string, f func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, f)
}

func (r *Regexp) ReplaceAllFunc(b []byte, f func([]byte) []byte) []byte {
	return r.compiled().ReplaceAllFunc(b, f)
}
