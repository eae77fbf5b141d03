package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mrprism/site"
	"mrprism/weights"
	"mrprism/weights/shipped"
)

// listen listens at the address of a flag. The message of an error proposes the address other.
func listen(flag, address, other string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use: stop the other program, or choose another port with %s %s", address, flag, other)
	} else if err != nil {
		return nil, fmt.Errorf("cannot listen at %s: %w; give another HOST:PORT with %s, such as %s", address, err, flag, other)
	}
	return listener, nil
}

// server answers requests for the site at an address, over TLS if the options ask for that.
func (o *options) server(address net.Addr, stdout io.Writer) (s *http.Server, scheme string, err error) {
	built, err := site.Built()
	if err != nil {
		return nil, "", err
	}
	models, err := models(o.weights, o.dicomweb != "")
	if err != nil {
		return nil, "", err
	}
	scheme, hosts := "http", append(site.Hosts(address), o.hosts...)
	var config *tls.Config
	switch o.tls {
	case "":
	default:
		cert, key, _ := strings.Cut(o.tls, ",")
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, "", fmt.Errorf("cannot use -tls %s: %w", o.tls, err)
		}
		config = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }}
	case selfMade:
		folder, err := certificates()
		if err != nil {
			return nil, "", err
		}
		own, err := keptOrMade(folder, ownNames(address, o.hosts), time.Now(), stdout)
		if err != nil {
			return nil, "", err
		}
		config = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own.certificateAt(time.Now()), nil }}
		fmt.Fprintf(stdout, "install this certificate on the machines that use the page: %s\nits SHA-256: %s, valid until %s\n",
			filepath.Join(folder, authorityFile), fingerprint(own.authority), own.leaves[len(own.leaves)-1].Leaf.NotAfter.Format(time.DateOnly))
	}
	if config != nil {
		config.MinVersion = tls.VersionTLS12
		scheme, hosts = "https", append(hosts, site.Hosts(address, ownNames(address, o.hosts)...)...)
	}
	handler, err := site.Handler(built, models, hosts)
	if err != nil {
		return nil, "", err
	}
	return &http.Server{Handler: handler, TLSConfig: config}, scheme, nil
}

// reachable is the address to open on this machine. For a listener at all addresses it is the
// loopback address, which browsers trust without https.
func reachable(address net.Addr) string {
	if tcp, ok := address.(*net.TCPAddr); ok && (tcp.IP == nil || tcp.IP.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return address.String()
}

// models returns the files of the shipped models and their cards by name, and those of other
// weights. archive is that of weights.Offer.
func models(others []string, archive bool) (map[string][]byte, error) {
	files, err := weights.Offer(others, archive)
	if err != nil {
		return nil, fmt.Errorf("-weights: %w; name files that train or export wrote", err)
	}
	for _, entry := range weights.Shipped().Models {
		for _, name := range []string{entry.File, entry.Card} {
			if files[name], err = shipped.File(name); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// stamps are those of files; zero of a file that is not there.
func stamps(paths []string) []stamp {
	all := make([]stamp, len(paths))
	for i, path := range paths {
		if info, err := os.Stat(path); err == nil {
			all[i] = stamp{info.Size(), info.ModTime()}
		}
	}
	return all
}

// tellChanges says, until stop is closed, which of the files changed after serve had read them.
func tellChanges(paths []string, read []stamp, stop <-chan struct{}, stdout io.Writer) {
	for {
		select {
		case <-time.After(watchEvery):
		case <-stop:
			return
		}
		now := stamps(paths)
		for i, path := range paths {
			if now[i] != read[i] {
				fmt.Fprintf(stdout, "%q has changed. The page gets the weights that serve read at its start; start serve again for the new ones\n", path)
			}
		}
		read = now
	}
}
