// Package lines reads what comes line by line from a peer that is not trusted
// to keep its lines short, and keeps the last of them.
package lines

import (
	"bufio"
	"errors"
)

// headBytes is how much is kept of a line that is too long: enough to say what
// it was.
const headBytes = 4 << 10

// Read reads up to and with the next newline, or up to the end of the input. It
// returns the line, which the caller owns, and how many bytes it has; a line of
// more than limit bytes is read to its end, but only its beginning is returned.
// The error is that of the reader, io.EOF behind the last line too; a line that
// came before it is returned with it.
func Read(br *bufio.Reader, limit int) (line []byte, size int, err error) {
	for {
		part, err := br.ReadSlice('\n')
		size += len(part)
		if size <= limit || len(line) == 0 {
			line = append(line, part...)
		} else if len(line) > headBytes {
			line = append([]byte(nil), line[:headBytes]...) // let go of the rest
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, size, err
		}
	}
}
