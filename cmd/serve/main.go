// Command serve is the MrPrism site on this machine: one program that contains the page and the
// weights.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"mrprism/site"
	"mrprism/weights"
	"mrprism/weights/shipped"
)

const usage = `serve - the MrPrism site on this machine

usage: serve [-addr HOST:PORT] [-host NAME]...

serve gives a browser the page, its WebAssembly programs and the weights. All of them are inside this program: it reads
nothing from disk and contacts no other machine. Images stay in the page, which does not send them to serve.
  serve                         the site at http://127.0.0.1:8080/; Ctrl-C stops it

flags:
`

const examples = `
examples:
  serve -addr 127.0.0.1:0       at a free port, which serve prints
  serve -host clinic.example    behind a TLS proxy of that name, for other machines

Browsers offer WebGPU only on this machine's own address (127.0.0.1, localhost) or over TLS.

exit codes: 0 stopped by Ctrl-C, 1 failed, 2 wrong usage
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run serves until ctx ends. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	addr := flags.String("addr", "127.0.0.1:8080", "`HOST:PORT` to listen at; port 0 takes a free port")
	var extra []string
	flags.Func("host", "also answer requests whose Host header has this `NAME`; may be repeated", func(name string) error {
		extra = append(extra, name)
		return nil
	})
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		fmt.Fprint(stdout, examples)
		return 0
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		fmt.Fprintf(stderr, "serve: %v; see serve -h\n", err)
		return 2
	}
	if err := serve(ctx, *addr, extra, stdout); err != nil {
		fmt.Fprintln(stderr, "serve:", err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, addr string, extra []string, stdout io.Writer) error {
	built, err := site.Built()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use: stop the other program, or choose another port with -addr 127.0.0.1:8081", addr)
	} else if err != nil {
		return fmt.Errorf("cannot listen at %s: %w; give another HOST:PORT with -addr, such as 127.0.0.1:8081", addr, err)
	}
	models, err := models()
	if err != nil {
		listener.Close()
		return err
	}
	handler, err := site.Handler(built, models, append(site.Hosts(listener.Addr()), extra...))
	if err != nil {
		listener.Close()
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	fmt.Fprintf(stdout, "MrPrism is at http://%s/ (Ctrl-C stops it)\n", reachable(listener.Addr()))
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		fmt.Fprintln(stdout, "stopping")
		limited, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if err := server.Shutdown(limited); err != nil {
			return server.Close()
		}
		return nil
	}
}

// reachable is the address to open on this machine. For a listener at all addresses it is the
// loopback address, which browsers trust without https.
func reachable(address net.Addr) string {
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return address.String()
}

// models returns the files of the shipped models and their cards by name.
func models() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, entry := range weights.Shipped().Models {
		for _, name := range []string{entry.File, entry.Card} {
			content, err := shipped.File(name)
			if err != nil {
				return nil, err
			}
			files[name] = content
		}
	}
	return files, nil
}
