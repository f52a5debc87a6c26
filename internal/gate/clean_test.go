package gate_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

func TestWhatAReaderSeesStays(t *testing.T) {
	for _, s := range []string{
		"", "plain", "two\nlines\tand a tab", "of\r\nWindows", "äöü ß é", "日本語 한국어 中文", "العربية می\u200cخواهم", "हिन्दी क्\u200dष", "עברית",
		"❤️ 👍🏽 👨\u200d👩\u200d👧 🏳️\u200d🌈 1️⃣ ℹ️ ©️", "a − b × c ≠ π", "「quoted」 “quoted” …", "zażółć gęślą jaźń", "\u00a0no\u202fbreak", "\u06dd \u0600",
	} {
		if got := gate.Clean(s); got != s {
			t.Errorf("Clean(%q) = %q", s, got)
		}
		if got := gate.TerminalText(s); got != strings.ReplaceAll(s, "\r", "") {
			t.Errorf("TerminalText(%q) = %q", s, got)
		}
	}
}

// hidden has one or more characters of every class that no reader sees.
var hidden = []string{
	"\x00", "\x07", "\x08", "\x0b", "\x0c", "\x0e", "\x1a", "\x1b", "\x1c", "\x7f", "\r", // C0
	"\u0080", "\u0085", "\u0090", "\u009b", "\u009f", // C1
	"\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069", // direction
	"\u00ad", "\u034f", "\u115f", "\u1160", "\u17b4", "\u180e", "\u200b", "\u200c", "\u200d", "\u2028", "\u2029", "\u2060", "\u2063", "\u2065",
	"\u206a", "\u2800", "\u3164", "\ufeff", "\uffa0", "\ufff0", "\ufff9", "\ufffe", "\U0001d173", // without a shape
	"\U000e0001", "\U000e0041", "\U000e007f", "\U000e0000", "\U000e0fff", // tags
	"\u180b", "\ufe00", "\ufe0e", "\ufe0f", "\U000e0100", "\U000e01ef", // variation selectors
}

func TestWhatNoReaderSeesIsGone(t *testing.T) {
	for _, h := range hidden {
		if got := gate.Clean("a" + h + "b"); got != "ab" {
			t.Errorf("Clean(a %+q b) = %+q", h, got)
		}
		for _, got := range []string{gate.Terminal("a" + h + "b"), gate.TerminalText("a" + h + "b")} {
			if got != "a·b" && got != "a b" {
				t.Errorf("on a terminal, a %+q b = %+q", h, got)
			}
		}
		if got := gate.Spelt("a" + h + "b"); !strings.HasPrefix(got, `a\u`) || gate.Hides(got) {
			t.Errorf("Spelt(a %+q b) = %+q", h, got)
		}
		if got := gate.Clean(h + h + h); got != "" {
			t.Errorf("Clean(%+q) = %+q", h+h+h, got)
		}
	}
	if got := gate.Clean("a\xffb\xf0\x9f"); got != "a\ufffdb\ufffd\ufffd" {
		t.Errorf("not UTF-8: %+q", got)
	}
}

// Joiners and the selector of emoji are kept where they change what is seen, so
// that a row of them carries nothing.
func TestJoinersCarryNothing(t *testing.T) {
	for in, want := range map[string]string{
		"❤\ufe0f\ufe0f\ufe0f":  "❤\ufe0f",
		"👨\u200d\u200d\u200d👩": "👨\u200d👩",
		"م\u200c\u200d\u200cی": "م\u200cی",
		"x\ufe0f\u200d\u200cy": "xy",
		"\U0001f3f4\U000e0067": "🏴",
	} {
		if got := gate.Clean(in); got != want {
			t.Errorf("Clean(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func TestTerminalIsOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"name\r\nApproved: yes":    "name Approved: yes",
		"a\tb\nc\vd\u2028e\u0085f": "a b c d e f",
		"\x1b[31mred\x1b]0;t\x07":  "·[31mred·]0;t·",
		"\u009b2J":                 "·2J",
		"abc\u202etxt.exe":         "abc·txt.exe",
	} {
		if got := gate.Terminal(in); got != want {
			t.Errorf("Terminal(%+q) = %q, want %q", in, got, want)
		}
	}
	if got, want := gate.TerminalText("a\r\n\tb\rc\x1b[2J"), "a\n\tb·c·[2J"; got != want {
		t.Errorf("TerminalText = %q, want %q", got, want)
	}
}

func TestEscapeSequencesGoWhole(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m":    "red",
		"\x1b]0;title\x07x":       "x",
		"\x1b]8;;http://a\x1b\\x": "x",
		"\x1b]0;never ends":       "]0;never ends",
		"\x1b[\u00e4x":            "[\u00e4x",
		"\x1b":                    "",
	} {
		if got := gate.Clean(in); got != want {
			t.Errorf("Clean(%+q) = %q, want %q", in, got, want)
		}
	}
}

func TestLineAndCut(t *testing.T) {
	if got, want := gate.Line(" a\n\n b\t\u200bc "), "a b c"; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
	for in, want := range map[string]string{"abcd": "abcd", "abcde": "abc…", "äöüß": "äöüß", "äöüßx": "äöü…", "ab cd": "ab…"} {
		if got := gate.Cut(in, 4); got != want {
			t.Errorf("Cut(%q, 4) = %q, want %q", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, h := range hidden {
		f.Add("a" + h + "b")
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := gate.Clean(s)
		if !utf8.ValidString(got) || gate.Hides(got) || len(got) > 3*len(s) {
			t.Errorf("Clean(%+q) = %+q", s, got)
		}
		if got := gate.Terminal(s); gate.Terminal(got) != got || strings.ContainsAny(got, "\n\t\r\x1b") {
			t.Errorf("Terminal(%+q) = %+q", s, got)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	for name, s := range map[string]string{
		"ascii":  strings.Repeat("the quick brown fox jumps over the lazy dog\n", 1000),
		"german": strings.Repeat("zwölf Boxkämpfer jagen Viktor über den Deich\n", 1000),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				gate.Clean(s)
			}
		})
	}
}

func TestCleaningWhatIsCleanCostsNoMemory(t *testing.T) {
	for _, s := range []string{"plain\ntext", "zwölf Boxkämpfer", `{"json":"text \" \n"}`} {
		if n := testing.AllocsPerRun(10, func() { gate.Clean(s) }); n > 0 {
			t.Errorf("Clean(%q) allocates %g times", s, n)
		}
	}
}
