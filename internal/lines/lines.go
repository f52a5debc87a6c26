// Package lines reads lines from a peer that may send very long ones, and keeps the last lines.
package lines

import (
	"bufio"
	"errors"
)

// headBytes is the length of the beginning of a line that is too long, for error messages.
const headBytes = 4 << 10

// Read reads up to and including the next newline, or to the end of the input. It returns the
// line, which the caller owns, and its length; of a line of more than limit bytes it returns only
// the beginning. The error is that of the reader, io.EOF after the last line too; it comes with
// the line before it.
func Read(br *bufio.Reader, limit int) (line []byte, size int, err error) {
	for {
		part, err := br.ReadSlice('\n')
		size += len(part)
		if size <= limit || len(line) == 0 {
			line = append(line, part...)
		} else if len(line) > headBytes {
			line = append([]byte(nil), line[:headBytes]...) // release the rest
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, size, err
		}
	}
}
