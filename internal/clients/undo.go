package clients

import (
	"os"
	"reflect"
)

// original is what a record's backup holds, if that is still what it was.
func (rec *record) original() ([]byte, bool) {
	if rec.Before == "" {
		return nil, false
	}
	backup, err := os.ReadFile(rec.Backup)
	return backup, err == nil && sum(backup) == rec.Before
}

// editsAgain are the Edits of a second install: those of the first, and then
// what the second does. Nil if that is not known.
func (r Request) editsAgain(old *record, mv *move) []change {
	backup, ok := old.original()
	if !ok || len(old.Edits) == 0 {
		return nil
	}
	first, ok := applyChanges(backup, old.Edits)
	if !ok {
		return nil
	}
	second, err := r.edit(first, old, mv)
	if err != nil {
		return nil
	}
	edits, _ := changesBetween(backup, second)
	return edits
}

// undo takes out of now, a file that was edited since, what install did to it,
// and leaves what the user did, byte for byte: comments, commas, the order of
// servers. wanted is a file that says what the result has to say. Where both
// have edited the same place it is the result.
func (r Request) undo(rec *record, now, wanted []byte) []byte {
	backup, ok := rec.original()
	if !ok || len(rec.Edits) == 0 {
		return wanted
	}
	installed, ok := applyChanges(backup, rec.Edits)
	if !ok {
		return wanted
	}
	mine, ok := changesBetween(installed, now)
	if !ok {
		return wanted
	}
	want, err := r.Client.format.values(wanted)
	if err != nil {
		return wanted
	}
	ours := inverse(backup, rec.Edits)
	for _, order := range [][2][]change{{ours, mine}, {mine, ours}} {
		joined, ok := join(order[0], order[1])
		if !ok {
			continue
		}
		text, _ := applyChanges(installed, joined)
		if got, err := r.Client.format.values(text); err == nil && reflect.DeepEqual(got, want) {
			return text
		}
	}
	return wanted
}
