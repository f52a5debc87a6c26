package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// A language is a catalogue with descriptions in it, and queries with the words in
// other forms.
type language struct {
	name    string
	tools   string // descriptions, one a line
	queries string // the position of the right tool, and a query
}

var languages = []language{
	{"Russian", `Показать портфель клиента
Создать платёж
Поиск сотрудника по имени
Удаление контакта
Отчёт о продажах за месяц
Список складов
Состояние сервера
Журнал событий`, `1 покажи мой портфель
2 работа с платежами
3 найти сотрудников
4 удалить контакты
5 отчеты продаж
6 склад
7 серверы
8 событие из журнала`},
	{"Ukrainian", `Створити платіж
Пошук співробітника за іменем
Видалення контакту
Звіт про продажі за місяць
Список складів
Стан сервера`, `1 платежами
2 співробітники
3 видалити контакти
4 звіти продажів
5 склад
6 сервери`},
	{"Arabic", `إنشاء فاتورة جديدة
حذف العميل
قائمة الملفات
البحث عن موظف
تقرير المبيعات
إرسال رسالة`, `1 الفواتير
2 احذف عملاء
3 ملف
4 الموظفين
5 تقارير مبيعات
6 رسائل`},
	{"Hebrew", `מחיקת קובץ
רשימת לקוחות
שליחת הודעה
חיפוש חשבונית`, `1 הקבצים
2 לקוח
3 הודעות
4 לחשבוניות`},
	{"Greek", `Διαγραφή αρχείου
Λίστα πελατών
Αποστολή μηνύματος
Αναζήτηση παραγγελίας`, `1 αρχεία
2 πελάτης
3 μηνύματα
4 παραγγελίες`},
	{"Turkish", `Dosyayı sil
Müşteri listesi
Fatura oluştur
Çalışanları ara
Sunucunun durumu
Mesaj gönder`, `1 dosyalar
2 müşterileri göster
3 faturalar
4 çalışan bul
5 sunucu
6 mesajları gonder`},
	{"Finnish", `Poista yhteystieto
Luo maksu
Etsi työntekijä nimellä
Näytä asiakkaan salkku
Lähetä viesti`, `1 yhteystiedot
2 maksut
3 työntekijöitä
4 asiakkaat
5 viestejä`},
	{"German", `Rechnung erstellen
Kontakte löschen
Vertrag suchen
Datei hochladen
Bericht über Verkäufe`, `1 Rechnungen
2 lösche einen Kontakt
3 Verträge
4 Dateien
5 Berichte`},
	{"Polish", `Usuń plik
Lista klientów
Utwórz fakturę
Wyszukaj zamówienie
Wyślij wiadomość`, `1 pliki
2 klient
3 faktury
4 zamówień
5 wiadomości`},
	{"Spanish", `Eliminar el contacto
Crear una factura
Buscar empleados
Enviar notificación
Lista de archivos`, `1 contactos
2 facturas
3 empleado
4 notificaciones
5 archivo`},
	{"French", `Supprimer le fichier
Créer une facture
Chercher un employé
Envoyer la notification`, `1 fichiers
2 factures
3 employés
4 notifications`},
	{"Portuguese", `Excluir o arquivo
Criar transação
Buscar funcionários
Lista de pedidos`, `1 arquivos
2 transações
3 funcionário
4 pedido`},
	{"Italian", `Elimina il contatto
Crea una fattura
Cerca dipendente
Invia messaggio`, `1 contatti
2 fatture
3 dipendenti
4 messaggi`},
	{"Czech", `Smazat soubor
Seznam zákazníků
Vytvořit fakturu
Hledat objednávku`, `1 soubory
2 zákazník
3 faktury
4 objednávky`},
	{"Swedish", `Ta bort filen
Skapa faktura
Sök anställd
Skicka meddelande`, `1 filer
2 fakturor
3 anställda
4 meddelanden`},
	{"Dutch", `Bestand verwijderen
Factuur aanmaken
Medewerker zoeken`, `1 bestanden
2 facturen
3 medewerkers`},
	{"Hungarian", `Fájl törlése
Ügyfelek listája
Számla létrehozása`, `1 fájlok
2 ügyfél
3 számlák`},
	{"Hindi", `फ़ाइल हटाएं
ग्राहकों की सूची
चालान बनाएं
कर्मचारी खोजें
संदेश भेजें`, `1 फाइलें
2 ग्राहक
3 चालानों
4 कर्मचारियों
5 संदेशों`},
	{"Thai", `ลบไฟล์ออกจากระบบ
แสดงรายชื่อลูกค้าทั้งหมด
สร้างใบแจ้งหนี้ใหม่
ค้นหาพนักงานตามชื่อ`, `1 ลบไฟล์
2 ลูกค้า
3 ใบแจ้งหนี้
4 พนักงาน`},
	{"Lao", `ລຶບໄຟລ໌ອອກຈາກລະບົບ
ສະແດງລາຍຊື່ລູກຄ້າ
ສ້າງໃບແຈ້ງໜີ້
ຄົ້ນຫາພະນັກງານ`, `1 ໄຟລ໌
2 ລູກຄ້າ
3 ໃບແຈ້ງໜີ້
4 ພະນັກງານ`},
	{"Khmer", `លុបឯកសារចេញពីប្រព័ន្ធ
បង្ហាញបញ្ជីអតិថិជន
ស្វែងរកបុគ្គលិក`, `1 ឯកសារ
2 អតិថិជន
3 បុគ្គលិក`},
	{"Vietnamese", `Xóa tệp
Danh sách khách hàng
Tạo hóa đơn`, `1 tệp tin
2 khách hàng
3 hoá đơn`},
}

// catalog returns the catalogue of one language with tools in other languages, one of
// them English.
func (l language) catalog() *discovery.Catalog {
	var tools []discovery.ListedTool
	for i, text := range strings.Split(l.tools, "\n") {
		tools = append(tools, discovery.ListedTool{Name: fmt.Sprintf("t%d", i+1), Description: text})
	}
	list := []discovery.Listing{{Server: "own", Tools: tools}, {Server: "hub", Tools: issues}}
	for _, other := range languages {
		if other.name == l.name || other.name != "Greek" && other.name != "French" && other.name != "Turkish" {
			continue
		}
		var more []discovery.ListedTool
		for i, text := range strings.Split(other.tools, "\n") {
			more = append(more, discovery.ListedTool{Name: fmt.Sprintf("n%d", i+1), Description: text})
		}
		list = append(list, discovery.Listing{Server: other.name, Tools: more})
	}
	return discovery.NewCatalog(list)
}

func TestOtherFormsOfWordsAreFound(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			x := newIndex(t, l.catalog())
			for line := range strings.SplitSeq(l.queries, "\n") {
				number, query, _ := strings.Cut(line, " ")
				h, err := x.Search(t.Context(), Query{Text: query})
				if err != nil {
					t.Fatal(err)
				}
				if len(h.Hits) == 0 || h.Hits[0].ID != "own__t"+number {
					t.Errorf("Search(%q) = %+v, want t%s first", query, h, number)
				}
			}
		})
	}
}

// Stemmers of other languages must not affect English queries.
func TestEnglishQueriesHaveEnglishForms(t *testing.T) {
	x := newIndex(t, catalog(discovery.ListedTool{Name: "report", Description: "Report a problem."}))
	for query, word := range map[string]string{"list the reportage": "reportage", "find reportaje of this": "reportaje", "show a reportissimo": "reportissimo"} {
		h, err := x.Search(t.Context(), Query{Text: query})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(h.Unmatched, word) {
			t.Errorf("Search(%q) = %+v, want nothing for %q", query, h, word)
		}
	}
}

// A letter counts as one, whatever its number of bytes.
func TestMistypedWordsOfOtherAlphabets(t *testing.T) {
	x := newIndex(t, catalog(
		discovery.ListedTool{Name: "a", Description: "Показать расписание"},
		discovery.ListedTool{Name: "b", Description: "Προβολή καταλόγου"},
		discovery.ListedTool{Name: "c", Description: "פתיחת מחברת"},
	))
	for query, want := range map[string]string{"расаписение": "расписание", "καταλογυο": "καταλογου", "מחבררת": "מחברת"} {
		h, err := x.Search(t.Context(), Query{Text: query})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(h.Repaired, []Repair{{query, want}}) || len(h.Hits) == 0 {
			t.Errorf("Search(%q) = %+v, want it read as %q", query, h, want)
		}
	}
}
