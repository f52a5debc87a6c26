package broker_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
)

// Every example in the documentation does what stands below it.
func TestExamplesInTheDocsRun(t *testing.T) {
	doc, err := os.ReadFile("../docs/code.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```ts\n(.*?)```\n```text\n(.*?)```").FindAllStringSubmatch(string(doc), -1)
	if n := strings.Count(string(doc), "```ts\n"); n < 5 || len(examples) != n {
		t.Fatalf("%d examples, of which %d say what they give", n, len(examples))
	}
	for _, e := range examples {
		b := newBroker(t, broker.Options{})
		a := b.Execute(t.Context(), broker.ExecuteRequest{Code: e[1]})
		got := a.Stdout
		if len(a.Result) > 0 {
			got += string(a.Result) + "\n"
		}
		if got != e[2] || a.ExitCode != 0 {
			t.Errorf("%s\ngives %q, code %d, %s; want %q", e[1], got, a.ExitCode, a.Stderr, e[2])
		}
	}
}
