package site

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// viewer.wasm keeps the page's thread busy while it starts: it comes with the first photograph, which
// the page has painted by then.
func TestViewerComesWithAPhotograph(t *testing.T) {
	s := mock(t, nil)
	var asked atomic.Bool
	held := make(chan struct{})
	handler := s.http.Handler
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/viewer.wasm" {
			asked.Store(true)
			<-held
		}
		handler.ServeHTTP(w, r)
	})
	p := open(t, s, 900, 700)
	p.ready()
	time.Sleep(time.Second)
	assert.False(t, asked.Load())
	p.sample()
	p.until(colours + ` > 1000`)
	assert.Eventually(t, asked.Load, time.Minute, 10*time.Millisecond)
	close(held)
	p.viewed()
	p.clean()
}
