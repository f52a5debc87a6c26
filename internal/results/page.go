package results

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// A Page describes the list that a call returned.
type Page struct {
	// Items is the number of items.
	Items int
	// Asked is the number of requested items; 0 if unknown.
	Asked int
	// Cursor is set if the result contains a cursor or says that there are more items;
	// Ended if it says that there are none.
	Cursor, Ended bool
	// Query is the arguments without those that choose a page: calls with the same
	// Query read the same list.
	Query string
}

// More reports whether the list may continue.
func (p Page) More() bool { return p.Cursor || !p.Ended && p.Asked > 1 && p.Items == p.Asked }

const (
	// maxPageBytes and maxQueryBytes bound the results and arguments that are searched.
	maxPageBytes  = 4 << 20
	maxQueryBytes = 4 << 10
	// maxPageDepth bounds the depth of objects that are searched for a list, and
	// maxPageParts the number of lists and objects.
	maxPageDepth = 4
	maxPageParts = 50
)

// Names of these in APIs, without case and punctuation.
var (
	pageSizes = words("limit perpage pagesize pagelimit first top take rows maxresults maxitems maxrecords numresults resultsperpage itemsperpage recordsperpage count size")
	pagePlace = words(`page offset cursor after before startingafter endingbefore pagetoken nexttoken nextpagetoken nextcursor start skip startat startindex
		pagenumber pageindex continuationtoken startcursor endcursor marker exclusivestartkey scrollid pagecursor`)
	pageNexts = words(`nextcursor nextpagetoken nexttoken nextpage next nextlink nexturl nextpageurl nextpageuri continuationtoken nextoffset nextmarker nextpagecursor odatanextlink`)
	pageMores = words("hasmore hasnextpage hasnext morerecords moreavailable istruncated")
	pageTotal = words("total totalcount totalresults totalsize totalitems totalrecords")
	pageLists = words("items data results records values nodes edges entries rows list hits objects")
	// pageAbout are objects that describe how a list continues.
	pageAbout = words("meta metadata pagination paging pageinfo links responsemetadata page")
)

func words(s string) []string { return strings.Fields(s) }

// plainName returns a name without case and punctuation.
func plainName(s string) string {
	if len(s) > 40 {
		return ""
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z':
			return r
		}
		return -1
	}, s)
}

// PageOf returns the page in the result of a call. ok is false if the result is neither
// a list nor contains one at a known place.
func PageOf(args, value json.RawMessage) (p Page, ok bool) {
	kind := first(value)
	if kind != '[' && kind != '{' || len(value) > maxPageBytes || len(args) > maxQueryBytes {
		return p, false
	}
	var query strings.Builder
	if !readQuery(args, &query, &p, 0) {
		return p, false
	}
	if p.Asked <= 1 && !speaksOfPages(value) {
		return p, false
	}
	p.Query = query.String()
	ok = p.read(value, 0)
	return p, ok
}

// readQuery writes the arguments that do not choose a page. It returns false if they are
// not JSON.
func readQuery(args json.RawMessage, query *strings.Builder, p *Page, depth int) bool {
	if first(args) != '{' {
		return len(args) == 0 || jsonscan.Valid(args)
	}
	return nil == members(args, func(name string, value json.RawMessage) bool {
		switch plain := plainName(name); {
		case slices.Contains(pageSizes, plain):
			if n, err := strconv.Atoi(string(bytes.Trim(value, `" `))); err == nil && n > 0 {
				p.Asked = n
			}
		case slices.Contains(pagePlace, plain) && first(value) != '{':
		case first(value) == '{' && depth < 2:
			query.WriteString(name + "{")
			readQuery(value, query, p, depth+1)
			query.WriteString("}")
		default:
			query.WriteString(name + ":")
			query.Write(value)
			query.WriteByte(',')
		}
		return true
	})
}

// edge is the length of both ends of a result that are searched for names of cursors.
const edge = 2 << 10

var pageSigns = [][]byte{[]byte("next"), []byte("Next"), []byte("more"), []byte("More"), []byte("ontinuation"), []byte("runcated")}

// speaksOfPages reports whether a result may have a cursor.
func speaksOfPages(v json.RawMessage) bool {
	head, tail := v[:min(len(v), edge)], v[max(0, len(v)-edge):]
	return slices.ContainsFunc(pageSigns, func(s []byte) bool { return bytes.Contains(head, s) || bytes.Contains(tail, s) })
}

// read finds the list of a result, and the fields that describe it.
func (p *Page) read(v json.RawMessage, depth int) (found bool) {
	if first(v) == '[' {
		s := jsonscan.New(v)
		_, p.Items = s.SkipCount()
		return s.End()
	}
	var lists, named []int // counts of items
	var inner []json.RawMessage
	total := -1
	err := countedMembers(v, func(name string, value json.RawMessage, items int) bool {
		plain := plainName(name)
		p.readSign(plain, value, &total)
		switch first(value) {
		case '[':
			lists = append(lists, items)
			if slices.Contains(pageLists, plain) {
				named = append(named, items)
			}
		case '{':
			if slices.Contains(pageAbout, plain) {
				_ = members(value, func(name string, value json.RawMessage) bool {
					p.readSign(plainName(name), value, &total)
					return true
				})
			} else {
				inner = append(inner, value)
			}
		}
		return len(lists)+len(inner) <= maxPageParts
	})
	switch {
	case err != nil:
	case len(named) == 1:
		p.Items, found = named[0], true
	case len(lists) == 1:
		p.Items, found = lists[0], true
	case len(lists) == 0 && len(inner) == 1 && depth < maxPageDepth:
		found = p.read(inner[0], depth+1)
	}
	if found && total >= 0 && total <= p.Items {
		p.Ended = true
	}
	return found
}

// readSign reads a field that says whether a list continues.
func (p *Page) readSign(name string, value json.RawMessage, total *int) {
	switch {
	case slices.Contains(pageMores, name):
		p.Cursor = p.Cursor || string(value) == "true"
		p.Ended = p.Ended || string(value) == "false"
	case slices.Contains(pageNexts, name):
		switch text := string(value); {
		case text == "null" || text == `""` || text == "false" || text == "0" || text == "{}":
			p.Ended = true
		case name == "next" && !strings.Contains(text, "/") && first(value) == '"': // text with another meaning
		case first(value) != '[':
			p.Cursor = true
		}
	case slices.Contains(pageTotal, name):
		if n, err := strconv.Atoi(string(value)); err == nil {
			*total = n
		}
	}
}
