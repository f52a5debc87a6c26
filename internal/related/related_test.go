package related

import (
	"encoding/binary"
	"slices"
	"testing"
)

// table encodes words of one letter's difference between stem and word.
func table(entries ...Entry) string {
	b := binary.LittleEndian.AppendUint32([]byte(Magic), uint32(len(entries)))
	at := len(b)
	b = append(b, make([]byte, 4*len(entries))...)
	number := map[string]int{}
	for i, e := range entries {
		number[e.Stem] = i
	}
	for i, e := range entries {
		binary.LittleEndian.PutUint32(b[at+4*i:], uint32(len(b)))
		b = append(append(b, byte(len(e.Stem))), e.Stem...)
		b = append(append(b, 0, byte(len(e.Word))), e.Word...)
		b = append(b, byte(len(e.Related)))
		for _, n := range e.Related {
			b = binary.LittleEndian.AppendUint16(b, uint16(number[n.Stem]))
			b = append(b, byte(n.Weight*255))
		}
	}
	return string(b)
}

func TestTableFindsRelatedWords(t *testing.T) {
	d := table(Entry{"car", "car", []Neighbour{{Stem: "vehicl", Weight: 1}}},
		Entry{"queri", "query", nil},
		Entry{"vehicl", "vehicle", []Neighbour{{Stem: "car", Weight: 1}, {Stem: "queri", Weight: .2}}})
	table, err := Read(d)
	if err != nil || table.Len() != 3 {
		t.Fatalf("Read: %v, %v", table, err)
	}
	want := []Neighbour{{"car", "car", 1}, {"queri", "query", .2}}
	if got := slices.Collect(table.Of("vehicl")); !slices.Equal(got, want) {
		t.Errorf("Of(vehicl) = %v, want %v", got, want)
	}
	for _, stem := range []string{"", "a", "queri", "zebra", "vehicle"} {
		if got := slices.Collect(table.Of(stem)); len(got) > 0 {
			t.Errorf("Of(%q) = %v, want nothing", stem, got)
		}
	}
}

func TestReadRefusesOtherFiles(t *testing.T) {
	good := table(Entry{"car", "car", nil})
	for _, d := range []string{"", "related1", good[:11], "related2" + good[8:], Magic + "\xff\xff\xff\xff" + good[12:]} {
		if _, err := Read(d); err == nil {
			t.Errorf("Read(%q): no error", d)
		}
	}
}
