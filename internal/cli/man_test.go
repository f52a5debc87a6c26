package cli

import (
	"testing"
)

func TestTextOfManPages(t *testing.T) {
	var r roff
	r.paragraphs("One \\ line - of many…\n.so /etc/passwd\n\n  as it is\n  'too\n\nEnd.")
	want := "One \\e line \\- of many...\n.PP\n\\&.so /etc/passwd\n.PP\n.nf\n  as it is\n  'too\n.fi\n.PP\nEnd.\n"
	if r.String() != want {
		t.Errorf("%q, want %q", r.String(), want)
	}
}
