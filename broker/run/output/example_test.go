package output_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker/run/output"
)

func ExampleCapture() {
	c := &output.Capture{Limit: 12}
	fmt.Fprint(c, "abcdefghij", "klmnopqrst")
	fmt.Println(c.Text(6))
	// Output: abcd… [truncated: 14 of 20 characters] …st  true
}

// The output of calls that are repeated is dropped, and a writer beside it gets everything once.
func TestRestart(t *testing.T) {
	for _, first := range []string{"", "ab", "abcd", "zażółć"} {
		var seen strings.Builder
		c := &output.Capture{Limit: 100, Tee: &seen}
		fmt.Fprint(c, first)
		c.Restart()
		fmt.Fprint(c, first, "end")
		if text, _, cut := c.Text(100); text != first+"end" || cut || seen.String() != first+"end" {
			t.Errorf("after %q: %q, and beside it %q", first, text, &seen)
		}
	}
}
