package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcpbroker/mcpbroker/internal/wordstem"
)

// maxTexts bounds the texts of one file, so that a large API does not decide alone.
const maxTexts = 1500

// A corpus is all text that was read, as stems.
type corpus struct {
	stop  map[string]bool
	ids   map[string]int32 // by stem
	stems []string
	count []int
	tools []int            // how often in the descriptions of tools and APIs
	forms []map[string]int // how the stem is written
	texts [][]int32
	seen  map[string]bool
	known map[string]int32 // by word; -1 says nothing

	synonyms map[[2]int32]float64
}

func newCorpus() *corpus {
	return &corpus{stop: map[string]bool{}, ids: map[string]int32{}, seen: map[string]bool{}, known: map[string]int32{}, synonyms: map[[2]int32]float64{}}
}

func (c *corpus) readStopWords(lexicon string) error {
	b, err := os.ReadFile(lexicon)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "stop:"); ok {
			for _, w := range strings.FieldsFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || r == '\'' }) {
				c.stop[w] = true
			}
		}
	}
	return nil
}

func (c *corpus) read(path string, from []string) error {
	name := filepath.Base(path)
	switch {
	case strings.HasSuffix(name, ".jsonl"):
		return c.readTools(path, from)
	case strings.HasSuffix(name, "-api.json"), name == "docs-2.json":
		return c.readDescriptions(path)
	case strings.HasPrefix(name, "data."):
		return c.readWordNet(path)
	}
	return nil
}

// readTools reads the recorded tools of some sources.
func (c *corpus) readTools(path string, from []string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var t struct {
			Name, Description, Source string
			InputSchema               json.RawMessage
		}
		if err := json.Unmarshal(sc.Bytes(), &t); err != nil {
			return err
		}
		if !slices.Contains(from, t.Source) {
			continue
		}
		for range 2 { // they are few, and what the search is for
			c.add(t.Name+" "+t.Description, true)
			c.seen = map[string]bool{}
		}
	}
	return sc.Err()
}

// readDescriptions reads the descriptions of a JSON file, each with the name of what it
// describes.
func (c *corpus) readDescriptions(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	n := 0
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if id, ok := v["id"].(string); ok {
				name = id
			}
			for _, k := range slices.Sorted(maps.Keys(v)) {
				inner := k
				if k == "description" || k == "base" || k == "title" {
					inner = name
				}
				walk(inner, v[k])
			}
		case []any:
			for _, e := range v {
				walk(name, e)
			}
		case string:
			if strings.Count(v, " ") >= 3 && n < maxTexts && c.add(name+" "+v, true) {
				n++
			}
		}
	}
	walk("", v)
	return nil
}

// readWordNet reads one data file: its words are near their glosses, and related to the
// other words of their synset.
func (c *corpus) readWordNet(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := sc.Text()
		if strings.HasPrefix(line, "  ") { // the licence
			continue
		}
		data, gloss, ok := strings.Cut(line, " | ")
		fields := strings.Fields(data)
		if !ok || len(fields) < 5 {
			return errors.New("not a data file of WordNet")
		}
		n, err := strconv.ParseInt(fields[3], 16, 32)
		if err != nil {
			return err
		}
		c.addSynset(fields[4:], int(n), gloss)
	}
	return sc.Err()
}

func (c *corpus) addSynset(fields []string, n int, gloss string) {
	var words []string
	var ids []int32
	for i := 0; i < n && 2*i < len(fields); i++ {
		w := fields[2*i]
		if strings.ToLower(w) != w { // a name of somebody or of a place
			return
		}
		words = append(words, strings.ReplaceAll(w, "_", " "))
		if id := c.id(w, false); id >= 0 && !strings.ContainsAny(w, "_-'.") {
			ids = append(ids, id)
		}
	}
	c.add(strings.Join(words, " ")+" "+gloss, false)
	for _, a := range ids {
		for _, b := range ids {
			if a != b {
				c.synonyms[[2]int32{a, b}]++
			}
		}
	}
}

var tag = regexp.MustCompile(`<[^>]*>|https?://\S+`)

// add adds a text, unless it was added before.
func (c *corpus) add(text string, tool bool) bool {
	text = tag.ReplaceAllString(text, " ")
	if len(text) > 600 {
		text = text[:600]
	}
	if c.seen[text] {
		return false
	}
	c.seen[text] = true
	var list []int32
	for _, w := range split(text) {
		if id := c.id(w, tool); id >= 0 {
			list = append(list, id)
		}
	}
	if len(list) < 2 {
		return false
	}
	c.texts = append(c.texts, list)
	return true
}

// id counts a word and returns the number of its stem, or -1 for one that says nothing.
func (c *corpus) id(w string, tool bool) int32 {
	id, ok := c.known[w]
	if !ok {
		id = -1
		if len(w) > 1 && len(w) < 24 && !c.stop[w] {
			s := wordstem.Of(w)
			if id, ok = c.ids[s]; !ok {
				id = int32(len(c.stems))
				c.ids[s] = id
				c.stems = append(c.stems, s)
				c.count, c.tools, c.forms = append(c.count, 0), append(c.tools, 0), append(c.forms, map[string]int{})
			}
		}
		c.known[w] = id
	}
	if id >= 0 {
		c.count[id]++
		c.forms[id][w]++
		if tool {
			c.tools[id]++
		}
	}
	return id
}

// split returns the words of ASCII letters in a text, in lower case; names are taken
// apart.
func split(text string) []string {
	var list []string
	text = string(bytes.Map(func(r rune) rune {
		if r < unicode.MaxASCII {
			return r
		}
		return ' '
	}, []byte(text)))
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		start := 0
		for i := 1; i <= len(run); i++ {
			if i == len(run) || upper(run[i]) && (!upper(run[i-1]) || i+1 < len(run) && !upper(run[i+1])) {
				list = append(list, strings.ToLower(run[start:i]))
				start = i
			}
		}
	}
	return list
}

func upper(c byte) bool { return 'A' <= c && c <= 'Z' }
