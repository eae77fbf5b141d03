// Package pulse lets a long computation say that it goes on. The page replaces a worker that falls
// silent. While Go computes in a browser, the worker handles no timer and no message, and so the
// computation itself has to say that it lives.
package pulse

import (
	"io"
	"time"
)

var (
	tell  func() // nil: nobody listens
	every time.Duration
	told  time.Time
)

// Listen makes Beat call f, at most once in every interval. Only a program of one thread may call
// Listen, and before the first Beat.
func Listen(f func(), interval time.Duration) { tell, every = f, interval }

// Beat says that the computation goes on. Call it every few milliseconds. If nobody listens, it
// does nothing and any goroutine may call it.
func Beat() {
	if tell == nil {
		return
	}
	if now := time.Now(); now.Sub(told) >= every {
		told = now
		tell()
	}
}

// Reader returns a reader of r that beats with each read.
func Reader(r io.Reader) io.Reader { return reader{r} }

type reader struct{ io.Reader }

func (r reader) Read(p []byte) (int, error) {
	Beat()
	return r.Reader.Read(p)
}

// Writer returns a writer to w that beats with each write.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ io.Writer }

func (w writer) Write(p []byte) (int, error) {
	Beat()
	return w.Writer.Write(p)
}
