// Command serve is the MrPrism site on this machine: one static program with the page and the weights inside.
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

The page, its WebAssembly programs and the weights are inside this program; nothing is read from disk and no other machine is
contacted. Images that are opened in the page stay in the page: they are not sent here either. Stop with Ctrl-C.

flags:
`

const examples = `
examples:
  serve                         the site at http://127.0.0.1:8080/
  serve -addr 127.0.0.1:0       at a free port, which is printed

Browsers offer WebGPU only on this machine's own address (127.0.0.1, localhost) or over TLS. To reach the site from another machine, put a
TLS proxy in front and name its host: serve -host clinic.example

exit codes: 0 stopped by Ctrl-C, 1 failed, 2 wrong usage
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

type names []string

func (n *names) String() string { return fmt.Sprint([]string(*n)) }

func (n *names) Set(s string) error { *n = append(*n, s); return nil }

// run serves until ctx ends. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:8080", "address to listen at; port 0 takes a free one")
	var extra names
	flags.Var(&extra, "host", "also answer requests for this `NAME` (as in the Host header); may be repeated")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
		fmt.Fprint(flags.Output(), examples)
	}
	for _, a := range args {
		if a == "-h" || a == "-help" || a == "--help" {
			flags.SetOutput(stdout)
		}
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "serve: unexpected argument %q; see serve -h\n", flags.Arg(0))
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
		return fmt.Errorf("cannot listen at %s: %w", addr, err)
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

// reachable is the address to open on this machine; of a listener at all addresses the loopback one, which browsers trust without https.
func reachable(address net.Addr) string {
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return address.String()
}

// models returns the files of the shipped models and their cards, by name.
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
