package main

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
)

// private is the part of the site for one browser, which has its cookie. Other users of this
// machine reach the same address. They can read every command line and perhaps the log, and so the
// cookie is in neither. The kiosk's browser receives it through a pipe. Any other browser receives
// it through an address that works once, in a file that only the user of serve can read.
type private struct {
	http.ServeMux
	cookie *http.Cookie
	log    io.Writer

	mu   sync.Mutex
	file string // with the address; empty: none
	once string // the end of the address
	site string // the page's own address
}

const (
	privately = "/private/" // the path of this part
	opening   = privately + "open"
)

// newPrivate makes the part of a server at a port. The cookie's name has the port: ports of a host
// share cookies.
func newPrivate(port string, secure bool, log io.Writer) *private {
	return &private{log: log, cookie: &http.Cookie{
		Name: "mrprism-" + port, Value: rand.Text(), Path: privately, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure,
	}}
}

// offer writes a file into a folder. A browser that opens the file receives the cookie and shows
// the page of site.
func (p *private) offer(folder, site string) (file string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.file, p.site = filepath.Join(folder, "open.html"), site
	return p.file, p.renew()
}

// renew writes the file with a new address.
func (p *private) renew() error {
	p.once = rand.Text()
	address := html.EscapeString(p.site + opening[1:] + "?" + p.once)
	text := fmt.Sprintf("<!doctype html><meta charset=utf-8><meta http-equiv=refresh content='0; url=%s'>\n<p>This address works once: <a href='%[1]s'>%[1]s</a>\n", address)
	if err := os.WriteFile(p.file+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(p.file+".new", p.file)
}

func (p *private) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	out.Header().Set("Cache-Control", "no-store")
	if r.URL.Path == opening {
		p.open(out, r)
		return
	}
	has, err := r.Cookie(p.cookie.Name)
	site := r.Header.Get("Sec-Fetch-Site")
	if err != nil || !sameSecret(has.Value, p.cookie.Value) || site != "" && site != "same-origin" {
		http.Error(out, "Only the page that the user of serve opened may ask for this.", http.StatusForbidden)
		return
	}
	p.ServeMux.ServeHTTP(out, r)
}

// open answers requests for the address in the file.
func (p *private) open(out http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == "" || !sameSecret(r.URL.RawQuery, p.once) {
		http.Error(out, "This address has been used. Open the file again that serve names.", http.StatusForbidden)
		return
	}
	if err := p.renew(); err != nil {
		p.once = ""
		fmt.Fprintf(p.log, "no other browser can open the page: %v\n", err)
	}
	http.SetCookie(out, p.cookie)
	http.Redirect(out, r, "/?watch", http.StatusSeeOther)
}

func sameSecret(a, b string) bool {
	return b != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
