package docker

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
)

// A demux reads the stream of a container without a terminal: blocks of
//
//	stream(1) zero(3) length(4, big endian) bytes(length)
//
// It reads what was written to stdout, and keeps the beginning of what was written to stderr as
// the text of a crash. It is not safe for concurrent use.
type demux struct {
	r     io.Reader
	left  uint32 // remaining bytes of the current block of stdout
	crash bytes.Buffer
}

const streamStderr = 2

// Read implements io.Reader.
func (d *demux) Read(p []byte) (int, error) {
	for d.left == 0 {
		if err := d.next(); err != nil {
			return 0, err
		}
	}
	n, err := d.r.Read(p[:min(uint64(len(p)), uint64(d.left))])
	d.left -= uint32(n)
	return n, err
}

// next reads the header of a block, and the rest of a block of another stream.
func (d *demux) next() error {
	var h [8]byte
	if _, err := io.ReadFull(d.r, h[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(h[4:])
	if h[0] != streamStderr {
		d.left = size
		return nil
	}
	keep := min(int64(size), max(0, int64(host.CrashBytes-d.crash.Len())))
	if _, err := io.CopyN(&d.crash, d.r, keep); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, d.r, int64(size)-keep)
	return err
}
