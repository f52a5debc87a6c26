package index

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
)

// The file of a table of word vectors: the magic, the numbers of dimensions and
// of words as 32 bits each, then for each word its length in one byte, the
// word, a float32 and a signed byte for each dimension; then the CRC-32 of all
// that. Numbers have their lowest byte first.
const vectorMagic = "BROKERV1"

// Bounds on what is read as a table.
const (
	maxDims        = 4096
	maxVectorWords = 2_000_000
	maxVectorLine  = 1 << 20
)

// LoadVectors reads a table that BuildVectors made. The error says what is
// wrong with the file and how to make one.
func LoadVectors(path string) (*Vectors, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("word vectors: %w: make one with broker index --build-vectors SOURCE", err)
	}
	v, err := decodeVectors(b)
	if err != nil {
		return nil, fmt.Errorf("word vectors: %s: %w: make it again with broker index --build-vectors SOURCE", path, err)
	}
	return v, nil
}

var errNoTable = errors.New("is not a table of word vectors")

func decodeVectors(b []byte) (*Vectors, error) {
	const head = len(vectorMagic) + 8
	if len(b) < head+4 || string(b[:len(vectorMagic)]) != vectorMagic {
		return nil, errNoTable
	}
	body := b[:len(b)-4]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(b[len(body):]) {
		return nil, errors.New("is damaged")
	}
	dims := int(binary.LittleEndian.Uint32(b[len(vectorMagic):]))
	count := int(binary.LittleEndian.Uint32(b[len(vectorMagic)+4:]))
	rest := body[head:]
	if dims < 1 || dims > maxDims || count < 1 || count > maxVectorWords || len(rest) < count*(dims+6) {
		return nil, errors.New("is damaged")
	}
	v := &Vectors{dims: dims, rows: make(map[string]int32, count), data: make([]int8, 0, count*dims), scale: make([]float32, 0, count)}
	for row := range count {
		if len(rest) < 1 || len(rest) < 1+int(rest[0])+4+dims {
			return nil, errors.New("is damaged")
		}
		n := int(rest[0])
		v.rows[string(rest[1:1+n])] = int32(row)
		rest = rest[1+n:]
		v.scale = append(v.scale, math.Float32frombits(binary.LittleEndian.Uint32(rest)))
		for _, x := range rest[4 : 4+dims] {
			v.data = append(v.data, int8(x))
		}
		rest = rest[4+dims:]
	}
	return v, nil
}

// BuildVectors makes a table of the first words of source and writes it to the
// file out, which is replaced as a whole. A line of source is a word and its
// numbers, separated by blanks, as many in every line; a first line of two
// numbers is passed over, and so is what search would not look up: words with
// anything but letters and digits, and words that every text has. It returns
// what was written.
func BuildVectors(source io.Reader, words int, out string) (*Vectors, error) {
	v, err := readVectors(source, words)
	if err != nil {
		return nil, err
	}
	f, err := atomicfile.Create(out)
	if err == nil {
		_, err = f.Write(v.encode())
		if err = errors.Join(err, f.Chmod(0o644)); err != nil {
			f.Discard()
		} else {
			err = f.Commit()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("word vectors: %w", err)
	}
	return v, nil
}

func readVectors(source io.Reader, most int) (*Vectors, error) {
	v := &Vectors{rows: map[string]int32{}}
	sc := bufio.NewScanner(source)
	sc.Buffer(nil, maxVectorLine)
	var row []float32
	for n := 1; sc.Scan() && len(v.rows) < min(most, maxVectorWords); n++ {
		parts := strings.Fields(sc.Text())
		if len(parts) == 0 || n == 1 && len(parts) == 2 {
			continue
		}
		if v.dims == 0 {
			v.dims = len(parts) - 1
		}
		if len(parts)-1 != v.dims || v.dims < 2 || v.dims > maxDims {
			return nil, fmt.Errorf("word vectors: line %d: a word and %d numbers expected, got %d fields", n, max(v.dims, 2), len(parts))
		}
		row = row[:0]
		for _, p := range parts[1:] {
			x, err := strconv.ParseFloat(p, 32)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("word vectors: line %d: %q is not a number", n, p)
			}
			row = append(row, float32(x))
		}
		v.keep(parts[0], row)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("word vectors: %w", err)
	}
	if len(v.rows) == 0 {
		return nil, errors.New("word vectors: the source has none: each line is a word and its numbers")
	}
	return v, nil
}

// keep enters a word with its direction, unless search never looks it up.
func (v *Vectors) keep(word string, row []float32) {
	if word != strings.ToLower(word) || len(word) > maxWord || words().stop[word] {
		return
	}
	for _, r := range word {
		if !wordRune(r) {
			return
		}
	}
	if _, ok := v.rows[word]; ok {
		return
	}
	norm, most := 0.0, 0.0
	for _, x := range row {
		norm += float64(x) * float64(x)
		most = max(most, math.Abs(float64(x)))
	}
	if norm == 0 {
		return
	}
	v.rows[word] = int32(len(v.rows))
	v.scale = append(v.scale, float32(most/math.Sqrt(norm)))
	for _, x := range row {
		v.data = append(v.data, int8(math.Round(float64(x)/most*127)))
	}
}

func (v *Vectors) encode() []byte {
	order := make([]string, len(v.rows))
	for w, row := range v.rows {
		order[row] = w
	}
	var b bytes.Buffer
	b.WriteString(vectorMagic)
	put := func(n uint32) { _ = binary.Write(&b, binary.LittleEndian, n) }
	put(uint32(v.dims))
	put(uint32(len(order)))
	for row, w := range order {
		b.WriteByte(byte(len(w)))
		b.WriteString(w)
		put(math.Float32bits(v.scale[row]))
		for _, x := range v.data[row*v.dims : (row+1)*v.dims] {
			b.WriteByte(byte(x))
		}
	}
	put(crc32.ChecksumIEEE(b.Bytes()))
	return b.Bytes()
}
