package index

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/evaluate"
)

// englishTools are described in English only.
var englishTools = []discovery.ListedTool{
	{Name: "send_email", Description: "Send an email."},
	{Name: "create_invoice", Description: "Create an invoice for a customer."},
	{Name: "delete_file", Description: "Delete a file."},
	{Name: "list_events", Description: "List events of a calendar."},
	{Name: "get_forecast", Description: "Weather forecast for a city."},
	{Name: "translate_text", Description: "Translate a text."},
	{Name: "sort_rows", Description: "Sort the rows of a table."},
}

func TestQueriesInOtherLanguagesFindEnglishTools(t *testing.T) {
	x := newIndex(t, catalog(englishTools...))
	for language, queries := range map[string][]string{
		"Russian":    {"отправить письмо", "создай счёт для клиента", "удаление файлов", "события в календаре", "прогноз погоды", "переведи тексты"},
		"Ukrainian":  {"надіслати листа", "створити рахунок", "видалити файли", "події календаря", "прогноз погоди", "переклад тексту"},
		"German":     {"eine Mail verschicken", "Rechnungen erstellen", "lösche die Dateien", "Termine im Kalender", "Wettervorhersage", "Texte übersetzen"},
		"French":     {"envoyer un courriel", "créer une facture", "supprimer le fichier", "événements du calendrier", "prévisions météo", "traduire un texte"},
		"Spanish":    {"enviar un correo", "crear facturas", "eliminar archivos", "eventos del calendario", "pronóstico del tiempo", "traducir un texto"},
		"Portuguese": {"enviar um e-mail", "criar uma fatura", "excluir arquivos", "eventos do calendário", "previsão do tempo", "traduzir um texto"},
		"Italian":    {"inviare una mail", "creare una fattura", "eliminare un file", "eventi del calendario", "previsioni meteo", "tradurre un testo"},
		"Dutch":      {"een mail versturen", "factuur maken", "bestanden verwijderen", "afspraken in de kalender", "weersvoorspelling voor de stad", "tekst vertalen"},
		"Polish":     {"wyślij mail", "utwórz fakturę", "usuń pliki", "wydarzenia w kalendarzu", "prognoza pogody", "przetłumacz tekst"},
		"Turkish":    {"e-posta gönder", "fatura oluştur", "dosyaları sil", "takvimdeki etkinlikler", "hava tahmini", "metni çevir"},
		"Arabic":     {"إرسال بريد", "إنشاء فاتورة", "حذف الملفات", "أحداث التقويم", "توقعات الطقس", "ترجمة النص"},
		"Hebrew":     {"לשלוח מייל", "ליצור חשבונית", "מחיקת קבצים", "אירועים ביומן", "תחזית מזג האוויר", "תרגום טקסט"},
		"Hindi":      {"ईमेल भेजें", "चालान बनाएं", "फ़ाइल हटाएं", "कैलेंडर के कार्यक्रम", "मौसम का पूर्वानुमान", "पाठ का अनुवाद"},
		"Thai":       {"ส่งอีเมล", "สร้างใบแจ้งหนี้", "ลบไฟล์", "กิจกรรมในปฏิทิน", "พยากรณ์อากาศ", "แปลภาษาข้อความ"},
		"Vietnamese": {"gửi email", "tạo hóa đơn", "xóa tệp", "sự kiện trong lịch", "dự báo thời tiết", "dịch văn bản"},
		"Greek":      {"στείλε email", "δημιουργία τιμολογίου", "διαγραφή αρχείου", "γεγονότα του ημερολογίου", "πρόβλεψη καιρού", "μετάφραση κειμένου"},
		"Chinese":    {"发送邮件", "创建发票", "删除文件", "日历活动", "天气预报", "翻译文本"},
		"Japanese":   {"メールを送信", "請求書を作成", "ファイルを削除", "カレンダーのイベント", "天気予報", "テキストを翻訳"},
		"Korean":     {"이메일 보내기", "송장 생성", "파일 삭제", "캘린더 이벤트", "날씨 예보", "텍스트 번역"},
	} {
		for i, q := range queries {
			want := "git_hub__" + englishTools[i].Name
			if got := ids(t, x, Query{Text: q}); len(got) == 0 || got[0] != want {
				t.Errorf("%s: Search(%q) = %v, want %s first", language, q, got, want)
			}
		}
	}
}

// Words in their own language come before what they stand for in English.
func TestToolsInTheLanguageOfTheQueryComeFirst(t *testing.T) {
	x := newIndex(t, catalog(append([]discovery.ListedTool{
		{Name: "t1", Description: "Отправить письмо клиенту"}, {Name: "t2", Description: "Rechnung erstellen"}, {Name: "t3", Description: "删除文件"},
	}, englishTools...)...))
	for q, want := range map[string]string{"отправь письмо": "git_hub__t1", "Rechnungen erstellen": "git_hub__t2", "删除文件": "git_hub__t3"} {
		if got := ids(t, x, Query{Text: q}); len(got) < 2 || got[0] != want {
			t.Errorf("Search(%q) = %v, want %s first and an English tool after it", q, got, want)
		}
	}
}

// A phrase of the table is read word by word where no tool has a word for it.
func TestPhrasesThatNoToolHasAreReadWordByWord(t *testing.T) {
	x := newIndex(t, catalog(
		discovery.ListedTool{Name: "close_office", Description: "Close."}, discovery.ListedTool{Name: "change_color", Description: "Change."},
		discovery.ListedTool{Name: "translate_text", Description: "Translate a text."}, discovery.ListedTool{Name: "list_systems", Description: "List systems."},
	))
	for q, want := range map[string]string{
		"ترجمة نصية": "translate_text", "список файловая система": "list_systems", "lista los sistema de archivos": "list_systems", "zmień rozmiar": "change_color",
	} {
		if got := ids(t, x, Query{Text: q}); len(got) == 0 || got[0] != "git_hub__"+want {
			t.Errorf("Search(%q) = %v, want %s first", q, got, want)
		}
	}
}

// English queries with words that exist in other languages stay English.
func TestEnglishQueriesAreNotTranslated(t *testing.T) {
	x := newIndex(t, catalog(englishTools...))
	for _, q := range []string{"list the events", "sort the rows in a table", "serach fils", "delete file on a dir", "taal liste", "kubectl argocd pod"} {
		h, err := x.Search(t.Context(), Query{Text: q, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range h.Replaced {
			if strings.Contains(strings.Join(r.To, " "), "card") {
				t.Errorf("Search(%q) replaced %v", q, r)
			}
		}
	}
	for _, q := range []string{"zebra", "kapi", "sorta"} { // stems like words of other languages
		h, err := x.Search(t.Context(), Query{Text: q})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range h.Replaced {
			t.Errorf("Search(%q) replaced %v", q, r)
		}
	}
	for q, want := range map[string]string{"serach clendar": "git_hub__list_events", "sort rows": "git_hub__sort_rows"} {
		if got := ids(t, x, Query{Text: q}); len(got) == 0 || got[0] != want {
			t.Errorf("Search(%q) = %v, want %s first", q, got, want)
		}
	}
}

// The table has words for each language in each line, and a stop word is no other word.
func TestTranslationsAreWhole(t *testing.T) {
	names := strings.Fields("ru uk de fr es pt it nl pl tr ar he hi th vi el zh ja ko")
	list, err := parseTranslations(translationsFile, names)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(translationsFile) {
		if line[0] == '#' {
			continue
		}
		columns := strings.Split(strings.TrimSpace(line), "|")
		for i, c := range columns {
			if strings.TrimSpace(c) == "" {
				t.Errorf("%s has no word for %q", columns[0], names[max(0, i-1)])
			}
		}
		n++
	}
	for _, tongue := range list {
		if len(tongue.words) < 850 || len(tongue.stop) == 0 {
			t.Errorf("%s has %d words and %d stop words", tongue.name, len(tongue.words), len(tongue.stop))
		}
	}
	if n < 1000 {
		t.Errorf("%d lines", n)
	}
}

// Queries of languages-apart.jsonl are recorded English queries, translated before the
// table was extended.
func TestQueriesInOtherLanguagesOverRecordedTools(t *testing.T) {
	needRetrieval(t)
	c := loadTools(t, filepath.Join(retrieval, "tools_core.jsonl"))
	x := newIndex(t, c)
	for file, floor := range map[string]float64{"testdata/languages.jsonl": .8, "testdata/languages-apart.jsonl": .7} {
		queries := loadQueries(t, file)
		r, err := evaluate.Run(t.Context(), queries, searcher(x, c))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range append(r.Sets, r.All) {
			t.Logf("%s of %s: hit@1 %.3f, @5 %.3f", f.Set, file, f.Hit1, f.Hit5)
			if f.Hit5 < floor {
				t.Errorf("%s of %s: hit@5 %.3f, want %.3f", f.Set, file, f.Hit5, floor)
			}
		}
		for _, q := range queries {
			if len(ids(t, x, Query{Text: q.Text})) == 0 {
				t.Errorf("%s: no hit for %q", q.Set, q.Text)
			}
		}
	}
}

func TestShortFormsFindWhatTheyStandFor(t *testing.T) {
	x := newIndex(t, catalog(
		discovery.ListedTool{Name: "kubernetes_pods"}, discovery.ListedTool{Name: "github_stars"}, discovery.ListedTool{Name: "postgres_tables"},
		discovery.ListedTool{Name: "javascript_lint"}, discovery.ListedTool{Name: "bucket_objects"}, discovery.ListedTool{Name: "open_pull_request"},
	))
	for q, want := range map[string]string{
		"k8s": "kubernetes_pods", "gh": "github_stars", "pg": "postgres_tables", "js": "javascript_lint", "s3": "bucket_objects", "PR": "open_pull_request", "PRs": "open_pull_request",
	} {
		if got := ids(t, x, Query{Text: q}); len(got) == 0 || !slices.Contains(got[:1], "git_hub__"+want) {
			t.Errorf("Search(%q) = %v, want %s first", q, got, want)
		}
	}
}

// Queries that are no question get an answer in time, whatever they consist of.
func TestStrangeQueries(t *testing.T) {
	x := newIndex(t, catalog(englishTools...))
	for name, q := range map[string]string{
		"a megabyte": strings.Repeat("send письмо 文件 ", 1<<16), "a letter": "x", "only stop words": "the of and to", "only foreign stop words": "der die das und",
		"scripts mixed": "send письмо 文件 קובץ ไฟล์", "right to left": "\u202eliame dnes\u202c", "emoji": "📧📎🗑️", "code": "func main() { fmt.Println(`x`) }",
		"a schema": `{"type":"object","properties":{"to":{"type":"string"}}}`, "control characters": "\x00\x01send\x1b[31m email\x7f", "not UTF-8": "send \xff\xfe email",
		"one long word": strings.Repeat("я", 100_000), "one long run": strings.Repeat("文件", 50_000), "marks only": strings.Repeat("\u0301", 1000), "underscores": strings.Repeat("_", 4000),
	} {
		start := time.Now()
		h, err := x.Search(t.Context(), Query{Text: q, Explain: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("%s: %v", name, took)
		}
		for _, w := range h.Unmatched {
			if !utf8.ValidString(w) || len(w) > 200 {
				t.Errorf("%s: unmatched %q", name, w)
			}
		}
	}
	if got := ids(t, x, Query{Text: "\x00\x01send\x1b[31m email\x7f"}); len(got) == 0 || got[0] != "git_hub__send_email" {
		t.Errorf("with control characters: %v", got)
	}
	if got := ids(t, x, Query{Text: "send письмо"}); len(got) == 0 || got[0] != "git_hub__send_email" {
		t.Errorf("mixed scripts: %v", got)
	}
}
