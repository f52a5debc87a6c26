package postgres_test

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/state/postgres"
)

// Nothing is connected before it is used. Migrate makes the tables.
func ExampleConnect() {
	d, err := postgres.Connect("postgres://broker:secret@db.example:5432/broker?sslmode=verify-full", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	fmt.Println(d.Name())
	// Output: broker on db.example:5432
}
