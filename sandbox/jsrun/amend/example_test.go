package amend_test

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/jsrun/amend"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

func ExampleTree() {
	src, err := script.Read(script.Program{
		Language: sandbox.JavaScript,
		Code:     "const q = [1, 2]; while (q.length) console.log(q.shift()); try { f() } catch (e) { console.log(e.message) }",
	}, amend.CaughtName, amend.QueueName, amend.EvalName, amend.JoinName)
	if err != nil {
		panic(err)
	}
	needs, err := amend.Tree(src.Plain())
	fmt.Println(needs.Queues, needs.Message, needs.Stack, err)
	// Output: true true false <nil>
}

func ExampleSpellOut() {
	fmt.Println(amend.SpellOut(`\p{Emoji_Modifier}`, "u"))
	fmt.Println(amend.SpellOut(`\p{Nope}`, "u"))
	// Output:
	// [\u{1f3fb}-\u{1f3ff}] <nil>
	// [] invalid property name in \p{Nope}
}
