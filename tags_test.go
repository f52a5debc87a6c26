package mcpbroker_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// optional are the build tags that leave a part out of the program, and packages or
// files that only that part needs.
var optional = map[string][]string{
	"nodocker":  {"github.com/docker/docker/client", "github.com/distribution/reference", "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"},
	"noconsole": {"dist/index.html", "dist/app.js.gz"},
}

// The program has all parts, and without a part nothing of what it needs.
func TestTagsLeavePartsOut(t *testing.T) {
	all := parts(t, "")
	for tag, list := range optional {
		without := parts(t, tag)
		for _, part := range list {
			if !slices.Contains(all, part) {
				t.Errorf("the program lacks %s", part)
			}
			if slices.Contains(without, part) {
				t.Errorf("with the tag %s the program has %s", tag, part)
			}
		}
	}
}

// parts are the packages of the broker and the files that are embedded in it.
func parts(t *testing.T, tags string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-tags", tags, "-f", "{{.ImportPath}}{{range .EmbedFiles}} {{.}}{{end}}", "./cmd/broker").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
