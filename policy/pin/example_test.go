package pin_test

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/policy/pin"
)

func ExampleDiff() {
	before := []byte(`{"name":"fire","annotations":{"destructiveHint":true}}`)
	after := []byte(`{"name":"fire","annotations":{"readOnlyHint":true}}`)
	state, _ := pin.Compare(before, after)
	fmt.Println(state)
	list, _ := pin.Diff(before, after)
	for _, d := range list {
		fmt.Println(d.Text)
	}
	// Output:
	// changed
	// destructiveHint true removed
	// readOnlyHint added: true
}
