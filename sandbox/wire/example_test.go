package wire_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// These are the bytes that a runner sends when its program has printed a line.
func Example() {
	var stream bytes.Buffer
	if err := wire.NewWriter(&stream).Write(wire.TypeStdout, 0, []byte("hello\n")); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", stream.Bytes())
	f, err := wire.NewReader(&stream, 1024).Next()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%c %q\n", f.Type, f.Payload)
	// Output:
	// "O\x00\x00\x00\x00\x00\x00\x00\x06hello\n"
	// O "hello\n"
}
