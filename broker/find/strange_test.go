package find

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// Whatever is searched for, the answer is short and without control characters, has
// nothing twice, finds what the words say, and else says what to do.
func TestStrangeQueries(t *testing.T) {
	f, _ := ownCatalogue(t)
	for _, c := range []struct{ name, query, want string }{
		{"a megabyte of words", strings.Repeat("send a mail ", 90_000), "post__send_message"},
		{"a megabyte of one word", strings.Repeat("a", 1<<20), ""},
		{"a megabyte of Chinese", strings.Repeat("发送邮件", 1<<17), "post__send_message"},
		{"a megabyte of emoji", strings.Repeat("😀", 1<<18), "*"},
		{"a megabyte of blanks", strings.Repeat(" ", 1<<20), "*"},
		{"a letter", "a", ""}, {"a digit", "7", ""}, {"a character", "文", ""}, {"a stop word", "the", ""}, {"stop words", "of a and the please", ""},
		{"mixed scripts", "отправить mail 邮件 لفريق", "post__send_message"},
		{"Arabic", "أرسل رسالة", "post__send_message"}, {"Hebrew", "שלח מייל", "post__send_message"},
		{"marks of direction", "\u202esend\u202c a \u200fmail\u200e", "post__send_message"},
		{"emoji", "📧 ➡️ 👩‍💻", "*"}, {"emoji and words", "📧 send mail", "post__send_message"},
		{"code", "const r = await post.sendMessage({ to: ['a'] }); for (let i = 0; i < 10; i++) console.log(r)", "post__send_message"},
		{"a schema", `{"type":"object","properties":{"to":{"type":"array"},"subject":{"type":"string"}},"required":["to"]}`, "?"},
		{"control characters", "send\x00 a\x07 mail\x1b[31m\x7f\r\n\u2028", "post__send_message"},
		{"invalid UTF-8", "send \xff\xfe mail", "post__send_message"}, {"tags", "send\U000e0041\U000e0042 mail", "post__send_message"},
		{"fullwidth", "ｓｅｎｄ　ｍａｉｌ", "post__send_message"}, {"mathematical", "𝓼𝓮𝓷𝓭 𝓶𝓪𝓲𝓵", "post__send_message"}, {"combining", "s̷̢e̴n̵d̶ m̴a̵i̷l̶", "post__send_message"},
		{"punctuation", "!!! ??? ...", "*"}, {"SQL", "'; DROP TABLE tools; --", "store__drop_table"}, {"HTML", "<script>alert(1)</script>", "?"}, {"a pattern", ".*(send|mail)+$", "post__send_message"},
	} {
		a, err := f.Search(t.Context(), SearchRequest{Query: c.query})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		text := gate.Encode(a).String()
		if len(text) > 4000 || !json.Valid([]byte(text)) || gate.Hides(a.Note) {
			t.Errorf("%s: %d bytes, note %q", c.name, len(text), a.Note)
		}
		seen := map[string]bool{}
		for _, h := range a.Tools {
			if seen[h.Name] {
				t.Errorf("%s: %s is there twice", c.name, h.Name)
			}
			seen[h.Name] = true
		}
		switch first := append(a.Tools, SearchHit{})[0].Name; {
		case c.want == "?": // some tools have some of its words
		case c.want == "*" && len(a.Servers) > 0: // without words, it browses
		case c.want != first:
			t.Errorf("%s: %q is first, want %q: %s", c.name, first, c.want, text)
		case first == "" && a.Note == "":
			t.Errorf("%s: an empty answer without a note", c.name)
		}
		if cut := strings.Contains(a.Note, "only the first 1000 characters"); cut != (len([]rune(strings.TrimSpace(c.query))) > maxQuery) {
			t.Errorf("%s: note %q", c.name, a.Note)
		}
	}
}

// A catalogue in one language other than English is searched in that language.
func TestForeignCatalogues(t *testing.T) {
	for _, c := range []struct {
		language string
		tools    map[string]string // descriptions by name
		queries  map[string]string // names by query
	}{
		{"Russian", map[string]string{"t1": "Отправляет письмо получателю.", "t2": "Показывает список счетов клиента.", "t3": "Удаляет файл из папки."}, map[string]string{"отправить письма": "t1", "счёт клиента": "t2", "удалить файлы": "t3"}},
		{"Chinese", map[string]string{"t1": "向收件人发送邮件。", "t2": "列出客户的发票。", "t3": "从文件夹中删除文件。"}, map[string]string{"发送邮件": "t1", "客户发票": "t2", "删除文件": "t3"}},
		{"Arabic", map[string]string{"t1": "يرسل رسالة إلى المستلم.", "t2": "يعرض قائمة فواتير العميل.", "t3": "يحذف ملفا من المجلد."}, map[string]string{"رسالة إلى المستلم": "t1", "فواتير العميل": "t2", "ملف من المجلد": "t3"}},
		{"German", map[string]string{"t1": "Verschickt eine Nachricht an den Empfänger.", "t2": "Zeigt die Rechnungen des Kunden.", "t3": "Löscht eine Datei aus dem Ordner."}, map[string]string{"Nachrichten verschicken": "t1", "Rechnung eines Kunden": "t2", "Datei löschen": "t3"}},
		{"Thai", map[string]string{"t1": "ส่งอีเมลถึงผู้รับ", "t2": "แสดงใบแจ้งหนี้ของลูกค้า", "t3": "ลบไฟล์ออกจากโฟลเดอร์"}, map[string]string{"ส่งอีเมล": "t1", "ใบแจ้งหนี้": "t2", "ลบไฟล์": "t3"}},
	} {
		l := discovery.Listing{Server: "s"}
		for name, about := range c.tools {
			l.Tools = append(l.Tools, discovery.ListedTool{Name: name, Description: about})
		}
		f := finderOf(t, l)
		for query, want := range c.queries {
			a, err := f.Search(t.Context(), SearchRequest{Query: query})
			if err != nil || len(a.Tools) == 0 || a.Tools[0].Name != "s__"+want {
				t.Errorf("%s: %q finds %+v, %v; want %s", c.language, query, a.Tools, err, want)
			}
		}
	}
}

// BenchmarkHundredThousand searches 100,000 tools of 500 servers that resemble each
// other.
func BenchmarkHundredThousand(b *testing.B) {
	verbs := strings.Fields("create list update delete get search send move copy archive export import merge split assign close open start stop run")
	nouns := strings.Fields("issue invoice ticket page row file mail user team pod volume alert board card note deal contact event task order")
	var listings []discovery.Listing
	for s := range 500 {
		l := discovery.Listing{Server: fmt.Sprintf("server%d", s)}
		for i := range 200 {
			verb, noun := verbs[(s+i)%20], nouns[(s*7+i/20)%20]
			l.Tools = append(l.Tools, discovery.ListedTool{Name: fmt.Sprintf("%s_%s_%d", verb, noun, i), Description: fmt.Sprintf("%s a %s of customer %d in region %d.", verb, noun, s, i),
				InputSchema: json.RawMessage(`{"type":"object","properties":{"owner":{"type":"string"},"id":{"type":"string"}},"required":["id"]}`)})
		}
		listings = append(listings, l)
	}
	f := finderOf(b, listings...)
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	for name, query := range map[string]string{"words": "create issue", "a sentence": "send a mail to the team", "a typing error": "sned a mial", "a translation": "отправить письмо", "nothing": "zzzz qqqq", "a server": "server77 archive board", "no words": ""} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := f.Search(b.Context(), SearchRequest{Query: query}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
