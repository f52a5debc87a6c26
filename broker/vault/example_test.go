package vault_test

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker/vault"
)

func Example() {
	v := vault.New("", nil, slog.New(slog.DiscardHandler))
	v.Saw("", "crm", []byte(`{"mail":"kim@example.com"}`))
	shown := v.Hide("", "write to kim@example.com", vault.Settings{Personal: true})
	fmt.Println(strings.Contains(shown, "kim"), vault.HasTokens([]byte(shown)))
	args, err := v.Reveal("", "crm", []byte(`{"text":"`+shown+`"}`), false)
	fmt.Println(string(args), err)
	_, err = v.Reveal("", "web", []byte(`{"text":"`+shown+`"}`), false)
	fmt.Println(err != nil)
	// Output:
	// false true
	// {"text":"write to kim@example.com"} <nil>
	// true
}
