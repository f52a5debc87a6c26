package files

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

func TestDocumentsSuite(t *testing.T) {
	statetest.Documents{
		New:  func(t testing.TB) string { return t.TempDir() },
		Open: func(_ testing.TB, at string) state.Documents { return OpenDocuments(at) },
	}.Run(t)
}

func TestNamesOfDocumentsStayInTheirFolder(t *testing.T) {
	d := OpenDocuments(t.TempDir())
	for _, name := range []string{"", ".", "..", "../a", "a/b", ".hidden"} {
		if d.SetDocument(t.Context(), name, []byte("x")) == nil {
			t.Errorf("%q is the name of a document", name)
		}
	}
}
