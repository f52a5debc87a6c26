package lines

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

func TestLongLinesAreCutNotKept(t *testing.T) {
	const buffer = 16
	br := bufio.NewReaderSize(strings.NewReader("short\n"+strings.Repeat("x", 100_000)+"\nlast"), buffer)
	want := []struct {
		line string // what it begins with
		size int
		err  error
	}{{"short\n", 6, nil}, {"xxxxxxxx", 100_001, nil}, {"last", 4, io.EOF}}
	for i, w := range want {
		line, size, err := Read(br, 10_000)
		if size != w.size || err != w.err || !strings.HasPrefix(string(line), w.line) {
			t.Errorf("line %d: %d bytes, %v; want %d, %v", i, size, err, w.size, w.err)
		}
		if size <= 10_000 && len(line) != size || len(line) > headBytes+buffer {
			t.Errorf("line %d: %d of %d bytes are kept", i, len(line), size)
		}
	}
}

func TestLineBelongsToTheCaller(t *testing.T) {
	br := bufio.NewReaderSize(strings.NewReader("first\nother\n"), 16)
	first, _, err := Read(br, 100)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(br, 100); err != nil {
		t.Fatal(err)
	}
	if string(first) != "first\n" {
		t.Errorf("after the next Read the line is %q", first)
	}
}

func TestLineAsLongAsTheLimitIsWhole(t *testing.T) {
	text := strings.Repeat("x", 99) + "\n"
	line, size, err := Read(bufio.NewReaderSize(strings.NewReader(text), 16), len(text))
	if string(line) != text || size != len(text) || err != nil {
		t.Errorf("Read = %d bytes, %d, %v", len(line), size, err)
	}
}
