// Command serve is the MrPrism site on this machine: one program that contains the page and the
// weights.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mrprism/internal/program/cli"
	"mrprism/site"
)

const intro = `serve - the MrPrism site on this machine

usage: serve [-addr HOST:PORT] [-host NAME]... [-tls self|CERT,KEY] [-weights FILE,...] [-kiosk] [-watch DIR] [-metrics HOST:PORT]
             [-dicomweb URL [-token FILE] [-authority FILE]]
       serve -kiosk-policy [-addr HOST:PORT] [-tls self]
       serve -check URL

serve gives a browser the page, its WebAssembly programs and the weights. All of them are inside this program, which
contacts no other machine but the archive of -dicomweb. It reads nothing else from disk but certificates, -weights, images in
the folder of -watch, and what goes to the archive. Images stay in the page, which does not send them to serve.
  serve                         the site at http://127.0.0.1:8080/; Ctrl-C stops it

Ctrl-C and SIGTERM stop serve. It takes no new requests, ends what it is sending within 8 s, and exits with 0.

-kiosk also opens Chrome at the page, full-screen, and starts it again when it ends. Each start has a fresh profile. When
for -idle nobody has touched the page and no image has come, Chrome starts anew, and what people saved is deleted. Chrome
ends when serve does, however that ends. Any browser loads the page anew at an address that ends in ?idle=SECONDS.
-kiosk-policy prints policies for Chrome; without them people at the kiosk can reach files and other sites.

-weights offers models of your own in the page's list, with the card NAME.md beside the file, as train writes it, or what the
file says of itself. serve reads the files at its start, and says when one changes.

-watch gives the page the images that come into a folder while serve runs, such as a camera's exports: those in the folder
itself, once they are complete, and no links. Images that come while no page is open wait for the next one, and serve waits for
a folder that is missing or goes. They are for the kiosk's browser alone, or for one that opens the file that serve names,
which other users of this machine cannot read.

-dicomweb has the page offer "Send to archive" for results of DICOM files. When a reader chooses it, the page gives serve the
files, such as a DICOM SEG, with patient and study, and serve sends them by STOW-RS (DICOM PS3.18 10.5). Until the archive has
them they wait in a folder of this user that serve names, whatever ends in between; journal.jsonl there says what was stored
when, and what was refused and why. Whoever reaches the page may send. The token's file is read before each attempt.

-tls self serves other machines over TLS. serve makes certificates for the names and addresses of this machine, for five
years, and an authority for nothing but these, whose key it does not keep. It prints the authority's file: install that on
the other machines as an authority that they trust.

/healthz answers "ok" while serve serves, whatever the Host header. -check asks for an address, such as that one, and
exits with 1 where the answer is not 200. It trusts the certificates of -tls self. -metrics has figures for Prometheus at
/metrics of another address: requests by status, their time, bytes and number at once, memory and the version. They say
nothing of images, addresses or people.
`

const examples = `
examples:
  serve -addr 127.0.0.1:0       at a free port, which serve prints
  serve -kiosk                  this screen shows the page and nothing else
  serve -weights runs/hearts/hearts.best.safetensors    a model of your own too
  serve -watch exports          images that come into the folder exports are opened in the page
  serve -addr :8443 -tls self   for the machines of a local network
  serve -host clinic.example    behind a TLS proxy of that name, for other machines
  serve -addr :8080 -host clinic.example -metrics 127.0.0.1:9090    behind a CDN, with figures for Prometheus
  serve -dicomweb https://pacs.example/dicom-web -token pacs.token    results go to an archive when a reader wants it
  serve -check http://127.0.0.1:8080/healthz    whether it is up

KIOSK.md, beside the source of serve, has a systemd unit and what else a kiosk needs. CDN.md there says what a CDN keeps,
how much serve carries, and how it runs in a container.
Browsers offer WebGPU only on this machine's own address (127.0.0.1, localhost) or over TLS.

exit codes: 0 stopped by Ctrl-C or SIGTERM, or -check found it well; 1 failed, 2 wrong usage
`

func main() { cli.Main(run) }

const selfMade = "self"

// options are the flags.
type options struct {
	addr    string
	hosts   []string
	tls     string // selfMade, or the files of a certificate and its key; empty: no TLS
	kiosk   bool
	idle    time.Duration
	policy  bool     // print the kiosk's policies instead of serving
	watch   string   // a folder; empty: none
	weights []string // files of models beside those that ship
	metrics string   // where the figures are served; empty: nowhere
	checked string   // an address to check instead of serving

	dicomweb         string // the address of a DICOM archive; empty: none
	token, authority string // files for the archive, or empty
}

func (o *options) register(flags *flag.FlagSet) {
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080", "`HOST:PORT` to listen at; port 0 takes a free port")
	flags.Func("host", "also answer requests whose Host header has this `NAME`; may be repeated", func(name string) error {
		o.hosts = append(o.hosts, name)
		return nil
	})
	flags.StringVar(&o.tls, "tls", "", "serve over TLS: self, with a certificate that serve makes; or `CERT,KEY`, the files (PEM) of your certificate, with those that signed it, and of its key")
	flags.BoolVar(&o.kiosk, "kiosk", false, "open Chrome full-screen at the page, and keep it open")
	flags.BoolVar(&o.policy, "kiosk-policy", false, "print the policies that keep Chrome at the page of -addr, and serve nothing")
	flags.DurationVar(&o.idle, "idle", 5*time.Minute, "with -kiosk: `TIME` without a touch after which the page starts anew, such as 90s; 0 for never")
	flags.StringVar(&o.watch, "watch", "", "open the images in the page that come into this `DIR`")
	flags.Func("weights", "offer the models in these `FILE,...` of weights too", func(files string) error {
		o.weights = append(o.weights, strings.Split(files, ",")...)
		return nil
	})
	flags.StringVar(&o.metrics, "metrics", "", "`HOST:PORT` of the figures for Prometheus, at /metrics; not for everyone to reach")
	flags.StringVar(&o.dicomweb, "dicomweb", "", "send results to the DICOM archive at this `URL`, of STOW-RS, when a reader wants it")
	flags.StringVar(&o.token, "token", "", "`FILE` with the archive's token")
	flags.StringVar(&o.authority, "authority", "", "`FILE` (PEM) of the authority of the archive's certificate, beside those that this machine trusts")
	flags.StringVar(&o.checked, "check", "", "ask for this `URL` once, and serve nothing")
}

// check returns an error of usage.
func (o *options) check() error {
	switch {
	case o.tls != "" && o.tls != selfMade && strings.Count(o.tls, ",") != 1:
		return fmt.Errorf("-tls %s: give self, or CERT,KEY: the files of a certificate and of its key", o.tls)
	case o.idle < 0:
		return fmt.Errorf("-idle %v is below 0", o.idle)
	case o.watch != "" && o.tls == "" && !loopback(o.addr):
		return fmt.Errorf("-watch at %s would send images without encryption: add -tls self, or listen at 127.0.0.1", o.addr)
	case o.dicomweb == "" && o.token+o.authority != "":
		return errors.New("-token and -authority are for an archive: name it with -dicomweb URL")
	case o.dicomweb == "":
		return nil
	case o.tls == "" && !loopback(o.addr):
		return fmt.Errorf("-dicomweb at %s would take results without encryption: add -tls self, or listen at 127.0.0.1", o.addr)
	}
	at, err := url.Parse(o.dicomweb)
	switch {
	case err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.User != nil || at.RawQuery != "" || at.Fragment != "":
		return errors.New("-dicomweb: give a URL without a password, such as https://pacs.example/dicom-web")
	case o.token != "" && at.Scheme == "http" && !loopback(net.JoinHostPort(at.Hostname(), "80")):
		return errors.New("-token would be sent without encryption: give -dicomweb an https address")
	}
	return nil
}

// loopback reports whether an address can be reached only from this machine.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// run serves until ctx ends. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := cli.NewGroups()
	flags.Add("flags", o.register)
	p := cli.Program{Name: "serve", Intro: intro, Examples: examples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		if len(rest) > 0 {
			return cli.Wrong("unexpected argument %q", rest[0])
		}
		if err := o.check(); err != nil {
			return cli.Wrong("%w", err)
		}
		switch {
		case o.checked != "":
			return check(ctx, o.checked)
		case o.policy:
			return o.managed(stdout)
		}
		return serve(ctx, o, stdout)
	})
}

// serve serves the site until ctx ends.
func serve(ctx context.Context, o options, stdout io.Writer) (err error) {
	screen, err := o.screen(stdout)
	if err != nil {
		return err
	}
	listener, err := listen("-addr", o.addr, "127.0.0.1:8081")
	if err != nil {
		return err
	}
	defer listener.Close()
	read := stamps(o.weights)
	server, scheme, err := o.server(listener.Addr(), stdout)
	if err != nil {
		return err
	}
	if server.TLSConfig != nil {
		listener = tls.NewListener(listener, server.TLSConfig)
		shown, _ := server.TLSConfig.GetCertificate(nil) // all certificates have one key
		screen.trust(shown)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if len(o.weights) > 0 {
		go tellChanges(o.weights, read, ctx.Done(), stdout)
	}
	address := scheme + "://" + reachable(listener.Addr()) + "/"
	fmt.Fprintf(stdout, "MrPrism is at %s (Ctrl-C stops it)\n", address)
	if o.kiosk || o.watch != "" {
		own, err := claim(listener.Addr().String())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, own.release()) }()
		if err := o.forOne(ctx, screen, server.Handler, address, own.path, stdout); err != nil {
			return err
		}
	}
	if o.dicomweb != "" {
		to, err := o.openArchive(stdout)
		if err != nil {
			return err
		}
		defer to.lock.Close()
		site.Mount(server.Handler, archiving, to)
		go to.run(ctx)
	}
	if o.metrics != "" {
		figures := newMetrics()
		server.Handler = figures.around(server.Handler)
		close, err := figures.serve(o.metrics, stdout)
		if err != nil {
			return err
		}
		defer close()
	}
	server.Handler = health(server.Handler)
	limited(server, stall)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	closed := screen.show(ctx)
	select {
	case err := <-failed:
		stop()
		<-closed
		return err
	case <-ctx.Done():
		fmt.Fprintln(stdout, "stopping")
		<-closed
		return finish(server, stdout)
	}
}

// forOne adds the private part of the site, for one browser: the kiosk's or the user's own. place
// is a folder that only the user can read.
func (o *options) forOne(ctx context.Context, screen *kiosk, handler http.Handler, address, place string, stdout io.Writer) error {
	at, err := url.Parse(address)
	if err != nil {
		return err
	}
	own := newPrivate(at.Port(), at.Scheme == "https", stdout)
	site.Mount(handler, privately, own)
	if o.watch != "" {
		folder, err := watch(o.watch, stdout)
		if err != nil {
			return err
		}
		own.Handle(privately, folder)
		go folder.run(ctx.Done())
	}
	if screen == nil {
		file, err := own.offer(place, address)
		if err == nil {
			fmt.Fprintf(stdout, "to see the images that come into %q, open this file, which only you can read: %s\n", o.watch, file)
		}
		return err
	}
	own.Handle(privately+"idle", screen)
	screen.cookie, screen.folder = own.cookie, place
	screen.address = func() string {
		wishes := url.Values{}
		if o.watch != "" {
			wishes.Set("watch", "")
		}
		if o.idle > 0 {
			wishes.Set("idle", strconv.Itoa(max(1, int(o.idle.Seconds()))))
			wishes.Set("kiosk", "")
		}
		return address + "?" + wishes.Encode()
	}
	fmt.Fprint(stdout, warning(screen.browser, policyFolder(screen.browser), address))
	return nil
}
