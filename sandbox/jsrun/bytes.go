package jsrun

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// maxRandom bounds the random bytes of one request.
const maxRandom = 1 << 16

// byteNatives adds the natives for the files of lib that process bytes.
func (r *runtime) byteNatives(add func(string, func(goja.FunctionCall) goja.Value)) {
	buffer := func(b []byte) goja.Value { return r.vm.ToValue(r.vm.NewArrayBuffer(b)) }
	add("toBytes", func(c goja.FunctionCall) goja.Value {
		return buffer(encodeText(c.Argument(0), c.Argument(1).String()))
	})
	add("toText", r.toText)
	add("toBase64", func(c goja.FunctionCall) goja.Value {
		encoding := base64.StdEncoding
		if c.Argument(3).ToBoolean() {
			encoding = base64.RawURLEncoding
		}
		return r.vm.ToValue(encoding.EncodeToString(r.bytes(c.Arguments)))
	})
	add("fromBase64", func(c goja.FunctionCall) goja.Value {
		b, ok := decodeBase64(c.Argument(0).String(), c.Argument(1).ToBoolean())
		if !ok {
			return goja.Null()
		}
		return buffer(b)
	})
	add("random", func(c goja.FunctionCall) goja.Value {
		b := make([]byte, min(max(c.Argument(0).ToInteger(), 0), maxRandom))
		r.tape.fill(b)
		return buffer(b)
	})
	add("digest", func(c goja.FunctionCall) goja.Value {
		h := hashes[c.Argument(0).String()]()
		h.Write(r.bytes(c.Arguments[1:]))
		return buffer(h.Sum(nil))
	})
	add("hmac", func(c goja.FunctionCall) goja.Value {
		h := hmac.New(hashes[c.Argument(0).String()], r.bytes(c.Arguments[1:2]))
		h.Write(r.bytes(c.Arguments[2:]))
		return buffer(h.Sum(nil))
	})
}

var hashes = map[string]func() hash.Hash{
	"SHA-1": sha1.New, "SHA-256": sha256.New, "SHA-384": sha512.New384, "SHA-512": sha512.New,
}

// bytes reads the arguments (buffer, offset, length), of which the last two are optional. It
// returns the memory of the buffer itself.
func (r *runtime) bytes(args []goja.Value) []byte {
	buffer, ok := argument(args, 0).Export().(goja.ArrayBuffer)
	if !ok || buffer.Detached() {
		panic(r.failure("TypeError", "the data must be an ArrayBuffer or a view of one"))
	}
	b := buffer.Bytes()
	if len(args) < 3 {
		return b
	}
	start := min(max(args[1].ToInteger(), 0), int64(len(b)))
	return b[start:min(start+max(args[2].ToInteger(), 0), int64(len(b)))]
}

// encodeText converts a string to bytes. Base64 has a function of its own.
func encodeText(v goja.Value, encoding string) []byte {
	s, ok := v.(goja.String)
	if !ok || encoding == "utf8" {
		return []byte(v.String()) // half of a surrogate pair becomes U+FFFD
	}
	n := s.Length()
	switch encoding {
	case "hex":
		b, _ := hex.DecodeString(s.String()) // the digits before any other character
		return b
	case "utf16le":
		var b []byte
		for i := range n {
			b = binary.LittleEndian.AppendUint16(b, s.CharAt(i))
		}
		return b
	}
	b := make([]byte, n) // latin1
	for i := range n {
		b[i] = byte(s.CharAt(i))
	}
	return b
}

// decodeBase64 reads base64 and base64url, with or without padding. If strict, it fails
// like atob; otherwise it skips other characters, as Node does.
func decodeBase64(text string, strict bool) ([]byte, bool) {
	if strict {
		if len(text)%4 == 0 {
			text = strings.TrimSuffix(strings.TrimSuffix(text, "="), "=")
		}
		b, err := base64.RawStdEncoding.DecodeString(text)
		return b, err == nil
	}
	text, _, _ = strings.Cut(text, "=")
	text = strings.Map(func(c rune) rune {
		if c == '+' || c == '/' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
			return c
		}
		return -1
	}, strings.NewReplacer("-", "+", "_", "/").Replace(text))
	if len(text)%4 == 1 {
		text = text[:len(text)-1]
	}
	b, _ := base64.RawStdEncoding.DecodeString(text)
	return b, true
}

// toText implements (buffer, offset, length, encoding, fatal, stream). It returns the text, and
// the number of bytes at the end that are incomplete.
func (r *runtime) toText(c goja.FunctionCall) goja.Value {
	b := r.bytes(c.Arguments[:3])
	left := 0
	var text goja.Value
	switch encoding := c.Argument(3).String(); encoding {
	case "utf8":
		if c.Argument(5).ToBoolean() {
			left = incomplete(b)
			b = b[:len(b)-left]
		}
		if c.Argument(4).ToBoolean() && !utf8.Valid(b) {
			panic(r.failure("TypeError", "The encoded data was not valid for encoding utf-8"))
		}
		text = r.vm.ToValue(repaired(b))
	case "utf16le":
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = binary.LittleEndian.Uint16(b[2*i:])
		}
		left = len(b) % 2
		text = goja.StringFromUTF16(units)
	case "hex":
		text = r.vm.ToValue(hex.EncodeToString(b))
	default:
		units := make([]uint16, len(b))
		for i, c := range b {
			units[i] = uint16(c)
			switch d := charmap.Windows1252.DecodeByte(c); {
			case encoding == "ascii":
				units[i] &= 0x7f
			case encoding == "windows1252" && d != utf8.RuneError: // otherwise a control character
				units[i] = uint16(d)
			}
		}
		text = goja.StringFromUTF16(units)
	}
	return r.vm.NewArray(text, left)
}

// incomplete returns the number of bytes at the end of b that begin a character.
func incomplete(b []byte) int {
	for n := 1; n <= min(3, len(b)); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}

// repaired decodes UTF-8, with U+FFFD for invalid bytes.
func repaired(b []byte) string {
	text, _ := unicode.UTF8.NewDecoder().Bytes(b) // it replaces invalid bytes
	return string(text)
}
