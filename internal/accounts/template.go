package accounts

import (
	"bytes"
	"html/template"
	"net/http"
	"sync"
)

// A view is the data of a page.
type view struct {
	Title, Person, Server string
	row
	Servers []row
	Secrets []string
	Page    string // of the authorization server
	Host    string // of Page
	Issuer  string // the owner of the page
	Problem string
	Again   string // the address for signing in again
	List    string // the page of all accounts
}

// A row is a server and a person's account.
type row struct {
	Name, At  string
	Connected bool
}

var pages = sync.OnceValue(func() *template.Template { return template.Must(template.New("").Parse(pageTexts)) })

const pageTexts = `
{{define "top"}}<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Title}}</title>
<style>body{font:16px/1.5 sans-serif;max-width:40em;margin:3em auto;padding:0 1em;color-scheme:light dark}input,button{font:inherit;padding:.3em .8em}label{display:block;margin:.6em 0}input{width:100%;box-sizing:border-box}td{padding:.3em 1em .3em 0}</style></head><body><h1>{{.Title}}</h1>{{end}}
{{define "bottom"}}</body></html>
{{end}}
{{define "confirm"}}{{template "top" .}}
<p>Go on only if you are <strong>{{.Person}}</strong> and have just asked your agent for this.</p>
{{if .Server}}<p>You are about to connect <em>your own</em> account of the server <strong>{{.Server}}</strong>. What the agents of {{.Person}} do there is done with it.</p>{{end}}
<p>If somebody has sent you this link, close the page: your account would be theirs to use.</p>
<form method="post"><button>I am {{.Person}}: go on</button></form>{{template "bottom"}}{{end}}
{{define "list"}}{{template "top" .}}
<p>You are <strong>{{.Person}}</strong>. These servers work with an account of your own.</p>
<table>{{range .Servers}}<tr><td><a href="{{.At}}">{{.Name}}</a></td><td>{{if .Connected}}connected{{else}}not connected{{end}}</td></tr>{{else}}<tr><td>There are none.</td></tr>{{end}}</table>{{template "bottom"}}{{end}}
{{define "server"}}{{template "top" .}}
<p>You are <strong>{{.Person}}</strong>. {{if .Connected}}Your account of <strong>{{.Server}}</strong> is connected.{{else}}Your agents can use <strong>{{.Server}}</strong> when you have connected an account of it.{{end}}</p>
<form method="post" autocomplete="off">{{range .Secrets}}<label>{{.}} <input type="password" name="secret-{{.}}" required></label>{{end}}
<p><button>{{if .Connected}}Connect another account{{else}}Connect{{end}}</button></p></form>
{{if .Connected}}<form method="post"><button name="do" value="disconnect">Disconnect</button></form>{{end}}{{template "bottom"}}{{end}}
{{define "go"}}{{template "top" .}}
<p>You are <strong>{{.Person}}</strong>. To connect your account of <strong>{{.Server}}</strong>, sign in at <strong>{{.Host}}</strong>. What you allow there goes to the authorization server <strong>{{.Issuer}}</strong>.</p>
<p><a href="{{.Page}}" rel="noreferrer">Go on at {{.Host}}</a></p>{{template "bottom"}}{{end}}
{{define "done"}}{{template "top" .}}
<p>{{if .Connected}}The agents of <strong>{{.Person}}</strong> use your account of <strong>{{.Server}}</strong> from now on.{{else}}The agents of <strong>{{.Person}}</strong> can use <strong>{{.Server}}</strong> no more.{{end}} You can close this page.</p>
<p><a href="{{.List}}">Your accounts</a></p>{{template "bottom"}}{{end}}
{{define "failed"}}{{template "top" .}}<p>{{.Problem}}</p>{{if .Again}}<p><a href="{{.Again}}">Sign in again</a></p>{{end}}{{template "bottom"}}{{end}}
`

// writePage sends a page that runs no scripts and cannot be framed.
func (a *Service) writePage(w http.ResponseWriter, status int, name string, v view) {
	v.List = a.base().JoinPath("connect").String()
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, name, v); err != nil {
		a.o.Logger.Error("show a page", "page", name, "err", err)
		http.Error(w, "this page cannot be shown", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin") // forms must send their origin
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the browser may be gone
}
