package main

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/mcpbroker/mcpbroker/internal/related"
)

// Which words are related, and how many of them.
const (
	leastCosine   = 0.42
	synonymCosine = 0.15 // of two words that WordNet has in one synset
	synonymBonus  = 0.2
	maxRelated    = 10
	// commonest is how many of the words that APIs use most are related to nothing:
	// create, status and response stand near everything. The lexicon has them.
	commonest = 200
)

// relate lists the words with those that are related to them.
func relate(v *vocabulary, space [][]float32, synonyms map[[2]int32]float64) []related.Entry {
	return relateAll(v, space, synonyms, commonest)
}

func relateAll(v *vocabulary, space [][]float32, synonyms map[[2]int32]float64, commonest int) []related.Entry {
	common := map[int32]bool{}
	byTools := slices.Clone(v.ids)
	slices.SortStableFunc(byTools, func(a, b int32) int { return cmp.Compare(v.tools[b], v.tools[a]) })
	for _, id := range byTools[:min(len(byTools), commonest)] {
		common[id] = true
	}
	var targets []int32 // rows
	for row, id := range v.ids {
		if !common[id] && v.tools[id] >= leastTools && len(targets) < maxTargets {
			targets = append(targets, int32(row))
		}
	}
	lists := make([][]related.Neighbour, len(v.ids))
	parallel(len(v.ids), func(row int) {
		for _, t := range targets {
			if int(t) == row || common[v.ids[row]] {
				continue
			}
			w := dot(space[row], space[t])
			switch {
			case synonyms[[2]int32{v.ids[row], v.ids[t]}] > 0 && w >= synonymCosine:
				w += synonymBonus
			case w < leastCosine:
				continue
			}
			lists[row] = append(lists[row], related.Neighbour{Stem: v.stems[v.ids[t]], Weight: min(w, 1)})
		}
		slices.SortFunc(lists[row], func(a, b related.Neighbour) int {
			return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Stem, b.Stem))
		})
		lists[row] = slices.Clip(lists[row][:min(len(lists[row]), maxRelated)])
	})
	used := map[string]bool{}
	for _, l := range lists {
		for _, n := range l {
			used[n.Stem] = true
		}
	}
	var list []related.Entry
	for row, id := range v.ids {
		if len(lists[row]) > 0 || used[v.stems[id]] {
			list = append(list, related.Entry{Stem: v.stems[id], Word: v.written(id), Related: lists[row]})
		}
	}
	slices.SortFunc(list, func(a, b related.Entry) int { return cmp.Compare(a.Stem, b.Stem) })
	return list
}

// written returns the most frequent form of a stem.
func (c *corpus) written(id int32) string {
	best, n := "", 0
	for w, k := range c.forms[id] {
		if k > n || k == n && w < best {
			best, n = w, k
		}
	}
	return best
}

// encode returns the table in the form that related.Table reads.
func encode(list []related.Entry) []byte {
	at := map[string]int{}
	for i, e := range list {
		at[e.Stem] = i
	}
	b := []byte(related.Magic)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(list)))
	offsets := len(b)
	b = append(b, make([]byte, 4*len(list))...)
	for i, e := range list {
		binary.LittleEndian.PutUint32(b[offsets+4*i:], uint32(len(b)))
		same := 0
		for same < min(len(e.Stem), len(e.Word)) && e.Stem[same] == e.Word[same] {
			same++
		}
		b = append(append(b, byte(len(e.Stem))), e.Stem...)
		b = append(append(b, byte(same), byte(len(e.Word)-same)), e.Word[same:]...)
		b = append(b, byte(len(e.Related)))
		for _, n := range e.Related {
			b = binary.LittleEndian.AppendUint16(b, uint16(at[n.Stem]))
			b = append(b, byte(math.Round(n.Weight*255)))
		}
	}
	return b
}

func printRelated(path string, stems []string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	t, err := related.Read(string(b))
	if err != nil {
		return err
	}
	for _, s := range stems {
		fmt.Printf("%s:", s)
		for n := range t.Of(s) {
			fmt.Printf(" %s %.2f", n.Word, n.Weight)
		}
		fmt.Println()
	}
	return nil
}
