package tables

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"sync"
	"testing"
)

// plainDigest is digestOf in one piece.
func plainDigest(values ...any) []byte {
	var b []byte
	add := func(kind byte, n uint64) { b = binary.BigEndian.AppendUint64(append(b, kind), n) }
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			add('0', 0)
		case int64:
			add('i', uint64(v))
		case string:
			add('s', uint64(len(v)))
			b = append(b, v...)
		}
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// TestDigestsDoNotDependOnPieces has texts that end before, at and after the ends of the
// pieces in which they are hashed.
func TestDigestsDoNotDependOnPieces(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 1<<10)
	var wg sync.WaitGroup
	for _, n := range []int{0, 1, 4077, 4078, 4086, 4087, 4088, 4096, 8183, 8192, 9000, len(text)} {
		wg.Go(func() {
			row := []any{text[:n], int64(-n), nil, text[:n/2], "end"}
			if got := digestOf(row...); !bytes.Equal(got, plainDigest(row...)) {
				t.Errorf("texts of %d bytes: %x", n, got)
			}
		})
	}
	wg.Wait()
}

func TestDigestsAllocateLittle(t *testing.T) {
	row := []any{"execution", int64(1), strings.Repeat("x", 10<<10), nil, "server", "tool", "server__tool", "ok", "read", "allowed"}
	if n := testing.AllocsPerRun(100, func() { digestOf(row...) }); n > 3 {
		t.Errorf("%v allocations, want at most 3", n)
	}
}
