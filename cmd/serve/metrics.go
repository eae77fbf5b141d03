package main

import (
	"fmt"
	"io"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"mrprism/internal/program/version"
)

// metrics are the figures of a server. No label has an address: that of -watch is secret.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec   // by code
	seconds  *prometheus.HistogramVec // from the request to the end of the answer
	bytes    *prometheus.HistogramVec // of answers as sent, compressed or not
	inFlight prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mrprism_requests_total", Help: "Requests by HTTP status."}, []string{"code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mrprism_request_seconds", Help: "Time from a request to the end of its answer.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10), // to 26 s
		}, nil),
		bytes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mrprism_response_bytes", Help: "Bytes of an answer's content as it is sent.",
			Buckets: prometheus.ExponentialBuckets(256, 4, 9), // to 16 MiB
		}, nil),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "mrprism_requests_in_flight", Help: "Requests that are being answered."}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.bytes, m.inFlight, buildInfo(),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// buildInfo is 1, with the version and the commit from which serve was built.
func buildInfo() prometheus.Collector {
	labels := prometheus.Labels{"version": version.Number(), "revision": version.Commit(), "go": runtime.Version()}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "mrprism_build_info", Help: "1; what serve was built of.", ConstLabels: labels},
		func() float64 { return 1 })
}

// around counts the requests to h.
func (m *metrics) around(h http.Handler) http.Handler {
	h = promhttp.InstrumentHandlerCounter(m.requests, h)
	h = promhttp.InstrumentHandlerResponseSize(m.bytes, h)
	h = promhttp.InstrumentHandlerDuration(m.seconds, h)
	return promhttp.InstrumentHandlerInFlight(m.inFlight, h)
}

// serve answers /metrics at an address until close is called.
func (m *metrics) serve(address string, stdout io.Writer) (close func() error, err error) {
	listener, err := listen("-metrics", address, "127.0.0.1:9090")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	server := limited(&http.Server{Handler: mux}, stall)
	go server.Serve(listener)
	fmt.Fprintf(stdout, "figures for Prometheus are at http://%s/metrics\n", reachable(listener.Addr()))
	return server.Close, nil
}
