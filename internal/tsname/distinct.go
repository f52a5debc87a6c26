package tsname

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Form makes names for one purpose from configured names.
type Form struct {
	// Of returns the usual form of a name.
	Of func(name string) string
	// Sep precedes the part that distinguishes similar names.
	Sep string
	// Drops reports whether Of drops a character that is not ASCII.
	Drops func(name string) bool
}

// Forms of servers and tools.
var (
	Prefixes   = Form{Prefix, "_", notASCII}
	Folders    = Form{Folder, "-", notASCII}
	Namespaces = Form{Namespace, "_", dropsLetters}
	Funcs      = Form{Func, "_", dropsLetters}
)

// Distinct returns the form of each name. No two are equal ignoring case. The result
// depends on the set of names, not on their order. A name gets its usual form if that
// drops only ASCII characters and no other name has the same form; of names with the
// same form, the one that is spelled like it gets it. All others end in a part of their
// hash. Of equal names, only the first counts.
func (f Form) Distinct(names []string) []string {
	usual := make([]string, len(names))
	count, alike := make(map[string]int), make(map[string][]string) // alike: names that equal their form
	for i, name := range names {
		usual[i] = f.Of(name)
		key := strings.ToLower(usual[i])
		count[key]++
		if usual[i] == name {
			if !slices.Contains(alike[key], name) {
				alike[key] = append(alike[key], name)
			}
		}
	}
	taken, seen := make(map[string]bool), make(map[string]int) // seen: the first index of each name
	for i, name := range slices.Backward(names) {
		seen[name] = i
	}
	kept := func(i int) bool {
		if seen[names[i]] != i {
			return false
		}
		key := strings.ToLower(usual[i])
		if count[key] > 1 {
			return usual[i] == names[i] && (len(alike[key]) == 1 || usual[i] == key)
		}
		return usual[i] == names[i] || !f.Drops(names[i])
	}
	for i := range names {
		if kept(i) {
			taken[strings.ToLower(usual[i])] = true
		}
	}
	for i, name := range names {
		if kept(i) {
			continue
		}
		for n := 8; ; n += 8 {
			if usual[i] = f.hashed(name, n); !taken[strings.ToLower(usual[i])] || n > 2*sha256.Size {
				break
			}
		}
		taken[strings.ToLower(usual[i])] = true
	}
	return usual
}

// hashed returns the ASCII part of the form of a name, and n digits of its hash.
func (f Form) hashed(name string, n int) string {
	sum := sha256.Sum256([]byte(name))
	digits := hex.EncodeToString(sum[:])
	text := name
	if f.Drops(name) {
		text = romanize(name)
	}
	text = f.Of(text)
	if strings.Trim(text, "_-.") == "" {
		text = "s"
	}
	return text + f.Sep + digits[:min(n, len(digits))]
}

func notASCII(name string) bool {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// dropsLetters reports whether a name has a character that is neither ASCII nor allowed
// in an identifier.
func dropsLetters(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// romanize returns a name with its Latin, Greek and Cyrillic letters in ASCII, and
// without other non-ASCII characters. It is only approximate; the name also gets a
// hash.
func romanize(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range name {
		text, ok := "", r < utf8.RuneSelf
		if ok {
			text = string(r)
		} else if text, ok = roman[unicode.ToLower(r)]; ok && unicode.IsUpper(r) && text != "" {
			text = strings.ToUpper(text[:1]) + text[1:]
		}
		if !ok {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('-')
		}
		gap = false
		b.WriteString(text)
	}
	return strings.Trim(b.String(), "-_ ")
}

// roman maps letters to ASCII.
var roman = func() map[rune]string {
	m := make(map[rune]string)
	for _, line := range []string{
		"aàáâãåāăąά", "aeäæ", "cçćĉċč", "dďđð", "eèéêëēĕėęěέ", "gĝğġģ", "hĥħ", "iìíîïĩīĭįıίϊΐ", "jĵ", "kķ", "lĺļľŀł", "nñńņňŋ", "oòóôõøōŏőό", "oeöœ", "rŕŗř",
		"sśŝşšș", "ssß", "tţťŧț", "uùúûũūŭůűų", "ueü", "wŵ", "yýÿŷύϋΰ", "zźżž", "thþ",
		"aα", "bβ", "gγ", "dδ", "eε", "zζ", "iηή", "thθ", "iι", "kκ", "lλ", "mμ", "nν", "xξ", "oο", "pπ", "rρ", "sσς", "tτ", "yυ", "fφ", "chχ", "psψ", "oωώ",
		"aа", "bб", "vв", "gгґ", "dд", "eеэ", "yoё", "zhж", "zз", "iиі", "jй", "yiї", "yeє", "kк", "lл", "mм", "nн", "oо", "pп", "rр", "sс", "tт", "uу", "fф", "khх", "tsц", "chч",
		"shш", "shchщ", "ъь", "yы", "yuю", "yaя",
	} {
		ascii := strings.TrimRightFunc(line, func(r rune) bool { return r >= utf8.RuneSelf })
		for _, r := range line[len(ascii):] {
			m[r] = ascii
		}
	}
	return m
}()
