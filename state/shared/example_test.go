package shared_test

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/state/shared"
)

// Nothing is connected before it is used. Prepare creates the tables.
func ExampleOpen() {
	b, err := shared.Open("postgres://broker:secret@db.example:5432/broker?sslmode=verify-full", shared.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	fmt.Println(b.Listings() != nil)
	// Output: true
}
