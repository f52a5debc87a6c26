package script

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

const (
	// maxSafeInteger is the largest integer up to which a number is exact.
	maxSafeInteger = 1<<53 - 1
	// shortestBeyond is the length of the shortest text of a larger integer.
	shortestBeyond = len("0x20000000000000")
	// maxShownDigits bounds a literal in a message.
	maxShownDigits = 60
	// maxFloatDigits exceeds the integer digits of any finite number.
	maxFloatDigits = 400
)

// mayHoldLargeIntegers reports whether a text contains a word that begins with a digit and is long
// enough for an integer that a number cannot represent. It is much faster than Scan.
func mayHoldLargeIntegers(text string) bool {
	for i := 0; i < len(text); i++ {
		if !isWord(text[i]) && !isDigit(text[i]) {
			continue
		}
		start := i
		for i < len(text) && (isWord(text[i]) || isDigit(text[i])) {
			i++
		}
		if i-start >= shortestBeyond && isDigit(text[start]) {
			return true
		}
	}
	return false
}

// largeIntegers calls report with every integer literal that a number cannot represent
// exactly, and its replacement. Such integers are bigints in results, so a literal that
// a number can represent is also reported if it is compared with a value that may be a
// bigint.
func (s *Tokens) largeIntegers(report func(offset int, message string)) {
	if !mayHoldLargeIntegers(s.Src) {
		return
	}
	for i, t := range s.List {
		if t.Kind != Number {
			continue
		}
		text := s.Text(i)
		becomes, large := largeInteger(text)
		if text, _, _ = strings.Cut(text, "."); !large || becomes == "" && !s.compared(i) {
			continue
		}
		shown := text
		if len(shown) > maxShownDigits {
			shown = shown[:maxShownDigits] + "…"
		}
		message := shown + " is beyond 2^53, where results have bigints and a number is never equal to one: "
		if becomes != "" {
			message = shown + " is beyond 2^53, so as a number it would be " + becomes + ": "
		}
		if before := s.Text(i - 1); s.Text(i+1) == ":" && (before == "{" || before == ",") {
			message += "as a key, write '" + shown + "'"
		} else {
			message += "write " + shown + "n, as results have it"
			if short, ok := shortFloat(text); ok {
				message += ", or " + short + " for a float"
			}
		}
		report(t.Start, message)
	}
}

// comparing are methods that compare their argument like ===.
var comparing = set("get has set delete includes indexOf lastIndexOf is")

// compared reports whether token i is compared without conversion.
func (s *Tokens) compared(i int) bool {
	before := strings.TrimRight(s.Src[:s.List[i].Start], " \t\r\n(-")
	after := strings.TrimLeft(s.Src[s.List[i].End:], " \t\r\n)")
	for _, operator := range []string{"===", "!=="} {
		if strings.HasSuffix(before, operator) || strings.HasPrefix(after, operator) {
			return true
		}
	}
	if s.Text(i-1) == "-" {
		i--
	}
	return s.Text(i-1) == "case" || s.Text(i-1) == "(" && s.Text(i-3) == "." && comparing[s.Text(i-2)]
}

// largeInteger reports whether a number literal is an integer beyond 2^53. It also
// returns the rounded value as JavaScript writes it, if that differs.
func largeInteger(text string) (becomes string, large bool) {
	text = strings.ReplaceAll(text, "_", "")
	if whole, fraction, ok := strings.Cut(text, "."); ok {
		if fraction != "" && isDigit(fraction[0]) {
			return "", false
		}
		text = whole // 5. and 5..toFixed()
	}
	base, digits := 10, text
	if len(text) > 2 && text[0] == '0' {
		switch text[1] | 0x20 {
		case 'x':
			base, digits = 16, text[2:]
		case 'o':
			base, digits = 8, text[2:]
		case 'b':
			base, digits = 2, text[2:]
		}
	}
	if digits = strings.TrimLeft(digits, "0"); len(digits) > maxFloatDigits {
		return "another one", strings.Trim(digits, "0123456789abcdefABCDEF") == ""
	}
	value, ok := new(big.Int).SetString(digits, base) // fails for a bigint or an exponent
	if !ok || value.Cmp(big.NewInt(maxSafeInteger)) <= 0 {
		return "", false
	}
	f, _ := new(big.Float).SetInt(value).Float64()
	if becomes = strconv.FormatFloat(f, 'f', -1, 64); becomes == value.String() {
		return "", true
	}
	if f >= 1e21 {
		becomes = strconv.FormatFloat(f, 'g', -1, 64)
	}
	return becomes, true
}

// shortFloat returns an integer of a few digits and many zeros as a float.
func shortFloat(text string) (string, bool) {
	text = strings.ReplaceAll(text, "_", "")
	digits := strings.TrimRight(text, "0")
	if len(digits) > 3 || strings.Trim(digits, "0123456789") != "" {
		return "", false
	}
	return fmt.Sprintf("%se%d", digits, len(text)-len(digits)), true
}
