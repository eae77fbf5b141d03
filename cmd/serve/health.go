package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"
)

// health answers /healthz, by which load balancers and containers see that the server works. Their
// requests have host names that are not the site's.
func health(site http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" || r.Method != http.MethodGet && r.Method != http.MethodHead {
			site.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		io.WriteString(w, "ok\n")
	})
}

const checkTime = 5 * time.Second // for an answer to check

// check asks for an address, and returns an error unless it answers 200. It trusts the certificates
// that serve makes on this machine.
func check(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("-check %s: %w; give a URL such as http://127.0.0.1:8080/healthz", address, err)
	}
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: trusted()}}}
	defer client.CloseIdleConnections()
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("-check: %w; give the address that serve prints, with healthz at its end", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("-check: %s answers %s", address, answer.Status)
	}
	return nil
}
