package intl_test

import (
	"fmt"
	"log"

	"github.com/mcpbroker/mcpbroker/sandbox/jsrun/intl"
)

func ExampleNumber_Format() {
	name, _, err := intl.Find("de")
	if err != nil {
		log.Fatal(err)
	}
	german := intl.Number{Locale: intl.Get(name), Style: "decimal", Notation: "standard", SignDisplay: "auto", Grouping: "auto", MinInt: 1, MaxFrac: 2}
	fmt.Println(german.Format(intl.Float(1234567.891)))
	// Output: 1.234.567,89
}
