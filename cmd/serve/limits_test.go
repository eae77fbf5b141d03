package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// running is serve with some arguments, at a free port.
type running struct {
	address string // that of the site, with "/" at its end
	out     *output
	stop    context.CancelFunc
	code    chan int
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	needSite(t)
	ctx, stop := context.WithCancel(context.Background())
	s := &running{out: &output{}, stop: stop, code: make(chan int, 1)}
	go func() {
		s.code <- run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), s.out, s.out)
	}()
	t.Cleanup(stop)
	s.address = s.said(t, `MrPrism is at (http://127\.0\.0\.1:\d+/)`)
	return s
}

// said waits until serve has printed a line, and returns its part in parentheses.
func (s *running) said(t *testing.T, pattern string) (part string) {
	t.Helper()
	require.Eventually(t, func() bool {
		found := regexp.MustCompile(pattern).FindStringSubmatch(s.out.String())
		if found != nil {
			part = found[1]
		}
		return found != nil
	}, 10*time.Second, 10*time.Millisecond, pattern)
	return part
}

// ended waits for the exit code.
func (s *running) ended(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case code := <-s.code:
		return code
	case <-time.After(within):
		t.Fatal("it does not stop")
		return -1
	}
}

// slowly is a handler that sends as much as no connection buffers, in parts.
func slowly(w http.ResponseWriter, _ *http.Request) {
	part := make([]byte, 32<<10)
	for range 2000 {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// A client that takes each part of an answer in time may take longer than the limit as a whole. One
// that takes nothing loses its connection, and the handler ends.
func TestSlowClients(t *testing.T) {
	const limit = 400 * time.Millisecond
	left := make(chan struct{}, 2)
	server := httptest.NewUnstartedServer(nil)
	server.Config = limited(&http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		slowly(w, r)
		left <- struct{}{}
	})}, limit)
	server.Start()
	defer server.Close()
	ask := func() net.Conn {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		return c
	}
	slow := ask()
	defer slow.Close()
	began, part, received := time.Now(), make([]byte, 4<<20), 0
	for {
		n, err := io.ReadFull(slow, part)
		received += n
		if err != nil {
			break
		}
		time.Sleep(limit / 4)
	}
	assert.Greater(t, received, 2000*32<<10, "all of it, and its headers")
	assert.Greater(t, time.Since(began), 2*limit)
	<-left

	stuck := ask()
	defer stuck.Close()
	select {
	case <-left:
	case <-time.After(20 * limit):
		t.Fatal("the handler waits for a client that reads nothing")
	}
}

// A client that does not end its request loses its connection; so does one with endless headers.
func TestRequestsHaveLimits(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.Config = limited(&http.Server{Handler: http.NotFoundHandler()}, stall)
	assert.Equal(t, []time.Duration{10 * time.Second, 30 * time.Second, 2 * time.Minute},
		[]time.Duration{server.Config.ReadTimeout, server.Config.WriteTimeout, server.Config.IdleTimeout})
	server.Config.ReadTimeout = 300 * time.Millisecond
	server.Start()
	defer server.Close()
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: ")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err = io.ReadAll(c)
	assert.NoError(t, err, "closed by the server, not by the deadline")

	s := start(t)
	for size, want := range map[int]int{8 << 10: 200, 64 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		r, err := http.NewRequest("GET", s.address, nil)
		require.NoError(t, err)
		r.Header.Set("X-Long", strings.Repeat("x", size))
		answer, err := server.Client().Do(r)
		require.NoError(t, err)
		answer.Body.Close()
		assert.Equal(t, want, answer.StatusCode, size)
	}
}

// Serve sends what it is sending before it stops, and takes nothing new meanwhile.
func TestStopsWhenAllIsSent(t *testing.T) {
	s := start(t)
	host := strings.Trim(strings.TrimPrefix(s.address, "http://"), "/")
	c, err := net.Dial("tcp", host)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.(*net.TCPConn).SetReadBuffer(128<<10)) // else the kernel takes it all at once
	fmt.Fprintf(c, "GET /weights/fundus.safetensors HTTP/1.1\r\nHost: %s\r\n\r\n", host)
	reader := bufio.NewReader(c)
	answer, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	s.stop()
	s.said(t, `(stopping)`)
	assert.Eventually(t, func() bool {
		_, err := net.DialTimeout("tcp", host, time.Second)
		return err != nil
	}, time.Second, 10*time.Millisecond, "nothing new")
	select {
	case <-s.code:
		t.Fatal("it stops while it is sending")
	case <-time.After(300 * time.Millisecond):
	}
	content, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	assert.EqualValues(t, answer.ContentLength, len(content))
	assert.Equal(t, 0, s.ended(t, 5*time.Second))
	assert.NotContains(t, s.out.String(), "cut off")
}

// A client that takes nothing holds serve up no longer than the limit.
func TestStopHasALimit(t *testing.T) {
	t.Parallel()
	s := start(t)
	host := strings.Trim(strings.TrimPrefix(s.address, "http://"), "/")
	c, err := net.Dial("tcp", host)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.(*net.TCPConn).SetReadBuffer(4096))
	fmt.Fprintf(c, "GET /weights/fundus.safetensors HTTP/1.1\r\nHost: %s\r\n\r\n", host)
	_, err = c.Read(make([]byte, 1))
	require.NoError(t, err)
	began := time.Now()
	s.stop()
	assert.Equal(t, 0, s.ended(t, ending+3*time.Second))
	assert.InDelta(t, ending.Seconds(), time.Since(began).Seconds(), 1.5)
	assert.Contains(t, s.out.String(), "cut off what was still being sent after 8s")
}
