package redact_test

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/internal/redact"
)

func ExampleFind() {
	text := "Mail kim@example.com, ring +33 1 70 18 12 34."
	spans := redact.Find(text)
	fmt.Println(redact.Replace(text, spans, redact.Mark))
	n := 0
	fmt.Println(redact.Replace(text, spans, func(kind, _ string) string {
		n++
		return fmt.Sprintf("«%s:%d»", kind, n)
	}))
	// Output:
	// Mail «email», ring «phone».
	// Mail «email:1», ring «phone:2».
}
