package jsrun

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// A decimal is ±0.DIGITS × 10^exp, as exact as it was given.
type decimal struct {
	negative bool
	digits   string // no zeros in front or behind; empty for 0
	exp      int
	special  string // nan or infinity
}

func decimalOf(f float64) decimal {
	d := decimal{negative: math.Signbit(f)}
	switch {
	case math.IsNaN(f):
		return decimal{special: "nan"}
	case math.IsInf(f, 0):
		d.special = "infinity"
		return d
	case f == 0:
		return d
	}
	// The shortest digits that make the number, as programs see it.
	return d.parse(strconv.FormatFloat(math.Abs(f), 'e', -1, 64))
}

func decimalOfInt(i *big.Int) decimal {
	d := decimal{negative: i.Sign() < 0}
	return d.parse(new(big.Int).Abs(i).String())
}

// parse reads an unsigned decimal number.
func (d decimal) parse(text string) decimal {
	mantissa, exponent, _ := strings.Cut(text, "e")
	e, _ := strconv.Atoi(exponent)
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	d.exp = e + len(whole)
	trimmed := strings.TrimLeft(digits, "0")
	d.exp -= len(digits) - len(trimmed)
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		d.exp = 0
	}
	return d
}

// round keeps n digits, which may be none or fewer; a half goes away from zero.
func (d decimal) round(n int) decimal {
	if n >= len(d.digits) || d.digits == "" {
		return d
	}
	up := n >= 0 && d.digits[n] >= '5'
	d.digits = d.digits[:max(n, 0)]
	if up {
		b := []byte("0" + d.digits)
		i := len(b) - 1
		for b[i] == '9' {
			b[i] = '0'
			i--
		}
		b[i]++
		if b[0] != '0' {
			d.exp++
			d.digits = string(b)
		} else {
			d.digits = string(b[1:])
		}
	}
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		d.exp = 0
	}
	return d
}

// fix writes the digits before and behind the point, at least so many.
func (d decimal) fix(minInt, minFrac int) (whole, fraction string) {
	switch {
	case d.exp <= 0:
		fraction = strings.Repeat("0", -d.exp) + d.digits
	case d.exp >= len(d.digits):
		whole = d.digits + strings.Repeat("0", d.exp-len(d.digits))
	default:
		whole, fraction = d.digits[:d.exp], d.digits[d.exp:]
	}
	if d.digits == "" {
		whole, fraction = "", ""
	}
	whole = strings.Repeat("0", max(0, minInt-len(whole))) + whole
	fraction += strings.Repeat("0", max(0, minFrac-len(fraction)))
	return whole, fraction
}
