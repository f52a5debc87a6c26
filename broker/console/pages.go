package console

import (
	"fmt"
	"html"
	"net/http"
	"strings"

	"github.com/mcpbroker/mcpbroker/docs"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// page is the template of a page of the documentation: its title, the list of all pages, and its
// text.
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s · broker</title>
<link rel="icon" href="../icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="../app.css">
</head>
<body><div id="app">
<a class="skip" href="#main">Skip to the content</a>
<nav class="pages" aria-label="Pages"><p class="brand"><a href="../">broker</a></p>
<ul>
%s</ul></nav>
<main id="main" class="prose" tabindex="-1">
%s</main>
</div></body>
</html>
`

// unknown is the page for an unknown address.
const unknown = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Page not found · broker</title>
<link rel="icon" href="/console/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/console/app.css">
</head>
<body><div id="app"><main class="alone">
<h1>Page not found</h1>
<p>The console has nothing at <code>%s</code>.</p>
<p><a href="/console/">The console</a>, <a href="/console/docs/">its documentation</a></p>
</main></div></body>
</html>
`

// notFound answers a request for an unknown address.
func notFound(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Del("ETag")
	w.WriteHeader(http.StatusNotFound)
	_, _ = fmt.Fprintf(w, unknown, html.EscapeString(gate.Cut(gate.Line(r.URL.Path), 200))) // the client may be gone
}

// serveDocs serves a page of the documentation; an empty name means the index.
func serveDocs(w http.ResponseWriter, r *http.Request, name string) {
	text, ok := docs.Page(name)
	if name == "" {
		text, ok = docs.Page("README")
	}
	if !ok || strings.HasSuffix(name, ".md") {
		notFound(w, r)
		return
	}
	title, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
	var list strings.Builder
	for _, topic := range docs.Topics() {
		current := ""
		if topic.Name == name {
			current = ` aria-current="page"`
		}
		fmt.Fprintf(&list, "<li><a href=\"%s\"%s>%s</a></li>\n", topic.Name, current, html.EscapeString(topic.Title))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, page, html.EscapeString(title), list.String(), docs.HTML(text)) // the client may be gone
}
