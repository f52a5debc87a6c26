package hint_test

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbroker/mcpbroker/broker/run/hint"
)

func ExampleShape() {
	fmt.Println(hint.Shape(json.RawMessage(`[{"id":1,"title":"a"},{"id":2,"title":"b"}]`)))
	// Output: 2 × {id: number, title: string}
}
