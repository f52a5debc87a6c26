package redact

import (
	"slices"
	"strings"
)

// number finds personal data in a number, by its first digit at i.
func number(text string, i int) Span {
	if i > 0 && (isDigit(text[i-1]) || isAlpha(text[i-1])) {
		return Span{}
	}
	s := ssn(text, i)
	if s.End == 0 {
		s = card(text, i)
	}
	if s.End == 0 && text[i] == '0' && i+6 < len(text) && text[i+1] == '0' && says(text, i, "tel", "phone", "call", "ring", "fax", "mobil") {
		if p := phone(text[i+1:], 0); p.End > 0 {
			s = Span{Type: p.Type, Start: i, End: i + 1 + p.End}
		}
	}
	return s
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

// email finds the address whose @ is at i.
func email(text string, i, least int) Span {
	start := i
	for start > least && i-start < 64 && (isAlpha(text[start-1]) || isDigit(text[start-1]) || strings.IndexByte(".+-%'!#&*=?^{}~", text[start-1]) >= 0) {
		start--
	}
	for start < i && strings.IndexByte(".'*=&?{}!#^~-", text[start]) >= 0 {
		start++
	}
	if start == i || text[i-1] == '.' {
		return Span{}
	}
	end, lastDot, labels := i+1, -1, 0
	for end < len(text) && end-i < 255 {
		c := text[end]
		if c == '.' {
			if end == i+1 || text[end-1] == '.' || end+1 == len(text) || !isAlpha(text[end+1]) && !isDigit(text[end+1]) || text[end+1] == '_' {
				break
			}
			lastDot = end
			labels++
		} else if (!isAlpha(c) || c == '_') && !isDigit(c) && c != '-' {
			break
		}
		end++
	}
	for end > i && text[end-1] == '-' {
		end--
	}
	if lastDot < 0 || end-lastDot < 3 {
		return Span{}
	}
	top := strings.ToLower(text[lastDot+1 : end])
	for j := range len(top) {
		if !isAlpha(top[j]) {
			if strings.HasPrefix(top, "xn--") {
				break
			}
			return Span{}
		}
	}
	switch top {
	case "png", "jpg", "jpeg", "gif", "svg", "webp", "js", "mjs", "ts", "tsx", "jsx", "css", "json", "map", "html", "md", "txt", "yml", "yaml", "zip", "tgz":
		return Span{}
	}
	// git@host:path, user@host/path of an address, ${user}@host
	if end+1 < len(text) && text[end] == ':' && text[end+1] > ' ' && !isDigit(text[end+1]) && text[end+1] != '"' && text[end+1] != '\'' {
		return Span{}
	}
	if text[start:i] == "git" || start >= 3 && text[start-3:start] == "://" || start > 0 && (text[start-1] == ':' && inAddress(text, start) || text[start-1] == '/' && start > 1 && text[start-2] == '/') {
		return Span{}
	}
	return Span{Type: "email", Start: start, End: end}
}

// inAddress reports whether "://" precedes start without a blank between them.
func inAddress(text string, start int) bool {
	from := max(0, start-200)
	i := strings.LastIndex(text[from:start], "://")
	return i >= 0 && !strings.ContainsAny(text[from+i:start], " \n\t\"'<>")
}

// phone finds the number in international form whose plus sign is at i.
func phone(text string, i int) Span {
	if i > 0 && (isDigit(text[i-1]) || isAlpha(text[i-1]) || strings.IndexByte("+-.:/*^)=&", text[i-1]) >= 0 && !labelled(text[:i])) {
		return Span{}
	}
	var digits [16]byte
	n, end, groups := 0, i+1, 0
	for j := i + 1; j < len(text) && n <= 15; j++ {
		c := text[j]
		switch {
		case isDigit(c):
			if n == 15 {
				return Span{}
			}
			digits[n] = c
			n++
			end = j + 1
			if want := exactLength(digits[:n]); n == want && (j+1 == len(text) || !isDigit(text[j+1])) {
				j = len(text)
			}
			continue
		case c == ' ' || c == '-' || c == '.' || c == '(' || c == ')' || c == '/':
			if j > i+1 && j+1 < len(text) && (isDigit(text[j+1]) || (text[j+1] == '(' || text[j+1] == ' ') && c != text[j+1] && j+2 < len(text) && (isDigit(text[j+2]) || text[j+2] == '(')) {
				groups++
				continue
			}
		}
		break
	}
	if n < 8 || slices.ContainsFunc(unassigned, func(code string) bool { return strings.HasPrefix(string(digits[:n]), code) }) {
		return Span{}
	}
	if want := exactLength(digits[:n]); want > 0 && n != want {
		return Span{}
	}
	if groups == 0 && n < 9 || groups > 6 {
		return Span{}
	}
	if end < len(text) && (isAlpha(text[end]) || text[end] == '%' || text[end] == ':' && end+1 < len(text) && isDigit(text[end+1])) {
		return Span{}
	}
	return Span{Type: "phone", Start: i, End: end}
}

// labelled reports whether a text ends with a word that announces a phone number, or with a sign
// that may precede one.
func labelled(before string) bool {
	if before == "" {
		return true
	}
	switch before[len(before)-1] {
	case ':', '=':
		return !strings.HasSuffix(before, "::") // tel:+…, phone=+…
	}
	return false
}

// exactLength returns the number of digits in numbers of a country, or 0 if it varies.
func exactLength(d []byte) int {
	s := string(d)
	for _, c := range []struct {
		code string
		n    int
	}{{"1", 11}, {"7", 11}, {"33", 11}, {"34", 11}, {"48", 11}, {"351", 12}, {"41", 11}, {"45", 10}, {"47", 10}, {"420", 12}, {"421", 12}, {"30", 12}, {"91", 12}} {
		if strings.HasPrefix(s, c.code) {
			return c.n
		}
	}
	return 0
}

// unassigned are prefixes that belong to no country.
var unassigned = strings.Fields("0 28 83 89 210 214 215 217 219 259 292 293 294 295 296 384 388 422 424 425 426 427 428 429 693 694 695 696 697 698 699 " +
	"801 802 803 804 805 806 807 809 851 854 857 858 859 884 885 887 889 969 978 990 991 997 999")

// says reports whether one of the words occurs shortly before i.
func says(text string, i int, words ...string) bool {
	before := strings.ToLower(text[max(0, i-24):i])
	for _, w := range words {
		if strings.Contains(before, w) {
			return true
		}
	}
	return false
}

// ssn finds a US social security number at i.
func ssn(text string, i int) Span {
	if i+11 > len(text) || (text[i+3] != '-' || text[i+6] != '-') && (text[i+3] != ' ' || text[i+6] != ' ' || !says(text, i, "ssn", "social security")) || i+11 < len(text) && (isDigit(text[i+11]) || isAlpha(text[i+11]) || text[i+11] == '-') {
		return Span{}
	}
	if i > 0 && strings.IndexByte("-+./#", text[i-1]) >= 0 {
		return Span{}
	}
	for j, c := range []byte(text[i : i+11]) {
		if j != 3 && j != 6 && !isDigit(c) {
			return Span{}
		}
	}
	area := text[i : i+3]
	if area == "000" || area == "666" || area[0] == '9' || text[i+4:i+6] == "00" || text[i+7:i+11] == "0000" {
		return Span{}
	}
	return Span{Type: "ssn", Start: i, End: i + 11}
}

// card finds the number of a payment card at i.
func card(text string, i int) Span {
	if i > 0 && (strings.IndexByte("+-.,:/#", text[i-1]) >= 0 && !(text[i-1] == ':' || text[i-1] == '#') || text[i-1] == '-') {
		return Span{}
	}
	var d [20]byte
	n, end := 0, i
	sep := byte(0)
	groups := [8]int{}
	g := 0
	for j := i; j < len(text) && n < 20; j++ {
		c := text[j]
		if isDigit(c) {
			d[n] = c
			n++
			groups[g]++
			end = j + 1
			continue
		}
		if (c == ' ' || c == '-') && (sep == 0 || sep == c) && j+1 < len(text) && isDigit(text[j+1]) && g < 7 && groups[g] >= 4 {
			if n >= 13 && issued(d[:n]) && luhn(d[:n]) && plausible(groups[:g+1]) {
				break
			}
			sep = c
			g++
			continue
		}
		break
	}
	if n < 14 || n > 19 || !issued(d[:n]) || !luhn(d[:n]) || !plausible(groups[:g+1]) {
		return Span{}
	}
	if end < len(text) && (isAlpha(text[end]) || (text[end] == '-' || text[end] == '.') && end+1 < len(text) && (isDigit(text[end+1]) || isAlpha(text[end+1]))) {
		return Span{}
	}
	return Span{Type: "card", Start: i, End: end}
}

// plausible reports whether digits are grouped as on cards, or not grouped.
func plausible(groups []int) bool {
	if len(groups) == 1 {
		return true
	}
	if len(groups) == 3 && groups[0] == 4 && groups[1] == 6 && (groups[2] == 5 || groups[2] == 4) {
		return true
	}
	for i, n := range groups {
		if n != 4 && (i < len(groups)-1 || n > 4) {
			return false
		}
	}
	return len(groups) >= 4
}

// issued reports whether the first digits belong to an issuer whose cards have that many digits.
func issued(d []byte) bool {
	n := len(d)
	four := int(d[0]-'0')*1000 + int(d[1]-'0')*100 + int(d[2]-'0')*10 + int(d[3]-'0')
	switch {
	case d[0] == '4', four >= 5100 && four <= 5599, four >= 2221 && four <= 2720, four == 6011, four >= 6440 && four <= 6599, four >= 3528 && four <= 3589, four >= 6200 && four <= 6299:
		return n == 16
	case four/100 == 34, four/100 == 37:
		return n == 15
	case four >= 3000 && four <= 3059, four/100 == 36, four/100 == 38, four/100 == 39:
		return n == 14
	}
	return false
}

func luhn(d []byte) bool {
	sum, zeros := 0, 0
	for i := range d {
		c := int(d[len(d)-1-i] - '0')
		if c == 0 {
			zeros++
		}
		if i%2 == 1 {
			if c *= 2; c > 9 {
				c -= 9
			}
		}
		sum += c
	}
	return sum%10 == 0 && zeros < len(d)-3
}

// ibanLengths are the lengths of the IBANs of countries.
var ibanLengths = func() map[string]int {
	m := map[string]int{}
	for n, list := range map[int]string{15: "NO", 16: "BE", 18: "DK FI FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK", 21: "CH HR LI LV", 22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL",
		24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HU LB NI PL SV", 29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU"} {
		for c := range strings.FieldsSeq(list) {
			m[c] = n
		}
	}
	return m
}()

// iban finds the account number at i.
func iban(text string, i int) Span {
	if i+5 > len(text) || !isDigit(text[i+3]) || i > 0 && (isDigit(text[i-1]) || isAlpha(text[i-1])) {
		return Span{}
	}
	want := ibanLengths[text[i:i+2]]
	if want == 0 {
		return Span{}
	}
	var code [34]byte
	n, end := 0, i
	for j := i; j < len(text) && n < want; j++ {
		c := text[j]
		switch {
		case isDigit(c) || c >= 'A' && c <= 'Z':
			code[n] = c
			n++
			end = j + 1
			continue
		case c == ' ' && n%4 == 0 || c == '-' && n%4 == 0:
			continue
		}
		return Span{}
	}
	if n != want || end < len(text) && (isDigit(text[end]) || isAlpha(text[end])) {
		return Span{}
	}
	rest := 0
	for k := range n {
		c := code[(k+4)%n]
		if isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	if rest != 1 {
		return Span{}
	}
	return Span{Type: "iban", Start: i, End: end}
}
