// Words makes the table of related words that the search ships with, index/related.bin.
//
//	go run . -o ../../index/related.bin -stop ../../index/words.txt SOURCE...
//
// It reads which words stand near which in texts about tools, and what WordNet says of
// them; two words are related if they stand near the same words. A source is a file or
// a folder:
//
//	*.jsonl           recorded tools: {"name", "description", "inputSchema", "source"}
//	*-api.json        Google's API descriptions (module google.golang.org/api, BSD-3-Clause)
//	docs-2.json       Amazon's (module github.com/aws/aws-sdk-go, Apache-2.0)
//	data.noun, …      WordNet 3.0 (Debian's wordnet-base, WordNet licence)
//
// Of the recorded tools only the sources in -from count: those whose licence allows it,
// and none on which the search is measured. The same sources give the same table.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	out := flag.String("o", "related.bin", "file to write")
	stop := flag.String("stop", "../../index/words.txt", "the lexicon, for its stop words")
	from := flag.String("from", "mcp-zero,metorial", "sources of recorded tools that count, by comma")
	show := flag.String("show", "", "print the related words of these, by comma")
	flag.Parse()
	if err := run(*out, *stop, strings.Split(*from, ","), flag.Args()); err != nil {
		log.Fatal("words: ", err)
	}
	if *show != "" {
		if err := printRelated(*out, strings.Split(*show, ",")); err != nil {
			log.Fatal("words: ", err)
		}
	}
}

func run(out, lexicon string, from, sources []string) error {
	c := newCorpus()
	if err := c.readStopWords(lexicon); err != nil {
		return err
	}
	for _, s := range sources {
		err := filepath.WalkDir(s, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if err := c.read(path, from); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(c.texts) == 0 {
		return fmt.Errorf("no text in the sources")
	}
	log.Printf("%d texts, %d stems", len(c.texts), len(c.stems))
	v := c.vocabulary()
	m := c.near(v)
	log.Printf("vocabulary %d, %d pairs of words", len(v.ids), m.len())
	space := m.reduce(dimensions)
	list := relate(v, space, c.synonyms)
	b := encode(list)
	log.Printf("%d words, %d bytes", len(list), len(b))
	return os.WriteFile(out, b, 0o644)
}
