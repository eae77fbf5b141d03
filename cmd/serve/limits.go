package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Limits for clients.
const (
	asking      = 10 * time.Second // for a request, of which serve reads no content
	stall       = 30 * time.Second // for each part of an answer, at most 32 KiB
	waiting     = 2 * time.Minute  // between two requests of a connection
	headerBytes = 16 << 10         // of a request's headers, beside 4 KiB that net/http adds
	ending      = 8 * time.Second  // for what is being sent when serve stops; `docker stop` kills after 10
)

// limited makes a server wait for no client longer than these limits. On a slow connection a whole
// answer may take long, if the client takes each part of it within d. WriteTimeout would limit the
// whole answer.
func limited(server *http.Server, d time.Duration) *http.Server {
	server.ReadTimeout, server.WriteTimeout, server.IdleTimeout, server.MaxHeaderBytes = asking, d, waiting, headerBytes
	inner := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(&patientWriter{w, http.NewResponseController(w), d}, r)
	})
	return server
}

// patientWriter gives each part of an answer its own time.
type patientWriter struct {
	http.ResponseWriter
	connection *http.ResponseController
	limit      time.Duration
}

// Unwrap is for http.ResponseController.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *patientWriter) Write(part []byte) (int, error) {
	if err := w.connection.SetWriteDeadline(time.Now().Add(w.limit)); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(part)
}

// finish stops a server after it has finished its present answers, or after the time for that.
func finish(server *http.Server, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), ending)
	defer cancel()
	if server.Shutdown(ctx) == nil {
		return nil
	}
	fmt.Fprintf(stdout, "cut off what was still being sent after %v\n", ending)
	return server.Close()
}
