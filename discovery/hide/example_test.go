package hide_test

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/discovery/hide"
)

func ExampleHider_In() {
	h := hide.New(map[string]string{"xoxb-1234-5678": "${SLACK_TOKEN}"})
	fmt.Println(h.In("invalid_auth: token xoxb-1234-5678"))
	// Output: invalid_auth: token ${SLACK_TOKEN}
}
