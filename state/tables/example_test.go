package tables_test

import (
	"encoding/hex"
	"fmt"

	"github.com/mcpbroker/mcpbroker/state/tables"
)

// The chain of a new record begins with this hash. Packages sqlite and postgres
// show how a store is opened.
func ExampleGenesis() {
	fmt.Println(hex.EncodeToString(tables.Genesis(0, 0))[:16])
	// Output: c250276888455611
}
