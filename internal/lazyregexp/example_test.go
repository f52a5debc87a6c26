package lazyregexp_test

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

var word = lazyregexp.New(`(\w)(\w*)`)

func Example() {
	fmt.Println(word.MatchString("a b"), word.FindString("one two"), word.FindAllString("one two", -1), word.ReplaceAllString("one two", "$2$1"))
	fmt.Println(word.FindStringIndex(" one"), word.FindStringSubmatch("one"), word.FindStringSubmatchIndex(" one"))
	// Output:
	// true one [one two] neo wot
	// [1 4] [one o ne] [1 4 1 2 2 4]
}
