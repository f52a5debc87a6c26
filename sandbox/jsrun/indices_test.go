package jsrun

import (
	"strings"
	"testing"

	"github.com/dop251/goja"
)

// A text is read once for all matches in it: searching for all of them would
// take time that grows with the square of its length otherwise.
func TestIndicesReadATextOnce(t *testing.T) {
	vm := goja.New()
	l, err := locate("(a)b", "g")
	if err != nil {
		t.Fatal(err)
	}
	text := vm.ToValue(strings.Repeat("ab", 1000)).(goja.String)
	var read *rune
	for i := 0; i < text.Length(); i += 2 {
		spans, err := l.spans(text, i)
		if err != nil || len(spans) != 2 || spans[0] != (span{"", i, i + 2}) || spans[1] != (span{"", i, i + 1}) {
			t.Fatalf("at %d: %v, %v", i, spans, err)
		}
		if read == nil {
			read = &l.runes[0]
		}
		if read != &l.runes[0] {
			t.Fatalf("the text was read again at %d", i)
		}
	}
	if spans, err := l.spans(vm.ToValue("xxab").(goja.String), 2); err != nil || len(spans) != 2 || spans[0].start != 2 {
		t.Errorf("another text: %v, %v", spans, err)
	}
}
