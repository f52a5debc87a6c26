package script_test

import (
	"fmt"
	"os"

	"github.com/mcpbroker/mcpbroker/broker/script"
)

// A person saves a script; what it takes is the type of its function main.
func ExampleStore_Save() {
	dir, err := os.MkdirTemp("", "scripts")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	s, err := script.Store{Dir: dir}.Save(script.Script{Name: "stale", Code: "export async function main(input: { owner: string; days?: number }) {\n  // …\n}\n"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Signature(), s.Version)
	// Output: scripts.stale(input: { owner: string; days?: number }) 1
}
