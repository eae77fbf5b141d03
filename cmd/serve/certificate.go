package main

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mrprism/weights/disk"
)

const (
	authorityFile, certificateFile, keyFile = "serve-authority.pem", "serve-cert.pem", "serve-key.pem"

	years     = 5                    // the authority's
	validity  = 397 * 24 * time.Hour // browsers accept no certificate for more than 398 days
	renewal   = 365 * 24 * time.Hour // after which the next certificate begins
	remaining = 30 * 24 * time.Hour  // a certificate that ends sooner gives way to the next
)

// ownCertificates are the certificates that serve makes for the names and addresses of this
// machine: one after the other, with one key, all signed by an authority that other machines trust.
// The authority's key is not kept, and its constraints allow no other name. When a name is added or
// the last certificate is about to end, all certificates are made anew.
type ownCertificates struct {
	authority []byte            // DER
	leaves    []tls.Certificate // by date
}

// keptOrMade are the certificates in a folder, or new ones that it writes there. It tells say of an
// authority by an earlier version, which had no limits and left its key in the folder.
func keptOrMade(folder string, names []string, now time.Time, say io.Writer) (s ownCertificates, err error) {
	cert, key := filepath.Join(folder, certificateFile), filepath.Join(folder, keyFile)
	kept, err := tls.LoadX509KeyPair(cert, key)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("cannot read %s and %s: %w; remove both, and serve makes new ones", cert, key, err)
	}
	if err == nil && !kept.Leaf.IsCA {
		if s, err = read(folder, kept); err == nil && s.serves(names, now) {
			return s, nil
		}
	}
	if s, err = makeCertificates(folder, names, now); err != nil {
		return s, fmt.Errorf("cannot make a certificate: %w; give your own with -tls CERT,KEY", err)
	}
	if kept.Leaf != nil && kept.Leaf.IsCA {
		fmt.Fprintf(say, "an earlier version made an authority without limits. Its key is removed; remove the authority from the machines that trust it.\n"+
			"its SHA-256: %s\n", fingerprint(kept.Certificate[0]))
	}
	return s, nil
}

// read reads the other certificates beside the kept one.
func read(folder string, kept tls.Certificate) (s ownCertificates, err error) {
	text, err := os.ReadFile(filepath.Join(folder, authorityFile))
	if err != nil {
		return s, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return s, fmt.Errorf("no certificate in %s", authorityFile)
	}
	authority, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return s, err
	}
	s.authority = block.Bytes
	for _, der := range kept.Certificate {
		leaf, err := x509.ParseCertificate(der)
		if err == nil {
			err = leaf.CheckSignatureFrom(authority)
		}
		if err != nil {
			return s, err
		}
		s.leaves = append(s.leaves, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: kept.PrivateKey, Leaf: leaf})
	}
	return s, nil
}

// certificateAt is the certificate to present at a time.
func (s ownCertificates) certificateAt(now time.Time) *tls.Certificate {
	for i := range s.leaves {
		if now.Add(remaining).Before(s.leaves[i].Leaf.NotAfter) {
			return &s.leaves[i]
		}
	}
	return &s.leaves[len(s.leaves)-1]
}

// serves says whether the certificates are valid for all names and for some weeks.
func (s ownCertificates) serves(names []string, now time.Time) bool {
	leaf := s.certificateAt(now).Leaf
	for _, name := range names {
		if leaf.VerifyHostname(name) != nil {
			return false
		}
	}
	return now.After(leaf.NotBefore) && now.Add(remaining).Before(leaf.NotAfter)
}

// newAuthority is an authority that can sign for the names and addresses alone.
func newAuthority(names []string, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	c := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "MrPrism serve, authority of " + now.UTC().Format(time.DateOnly)},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add((years-1)*renewal + validity),
		KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, PermittedDNSDomainsCritical: true,
	}
	hosts, addresses := split(names)
	c.PermittedDNSDomains = hosts
	if len(hosts) == 0 {
		c.PermittedDNSDomains = []string{"invalid"} // none would allow all; no host is called so
	}
	for _, ip := range addresses {
		c.PermittedIPRanges = append(c.PermittedIPRanges, &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))})
	}
	if len(addresses) == 0 {
		c.ExcludedIPRanges = []*net.IPNet{{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, {IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	c, err = sign(c, c, &key.PublicKey, key)
	return c, key, err
}

// split sorts names from addresses. IPv4 addresses have four bytes.
func split(names []string) (hosts []string, addresses []net.IP) {
	for _, name := range names {
		if ip := net.ParseIP(name); ip == nil {
			hosts = append(hosts, name)
		} else if four := ip.To4(); four != nil {
			addresses = append(addresses, four)
		} else {
			addresses = append(addresses, ip)
		}
	}
	return hosts, addresses
}

func sign(template, by *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, by, public, key) // draws its number
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func makeCertificates(folder string, names []string, now time.Time) (s ownCertificates, err error) {
	authority, signing, err := newAuthority(names, now)
	if err != nil {
		return s, err
	}
	s.authority = authority.Raw
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return s, err
	}
	var chain []byte
	hosts, addresses := split(names)
	for year := range years {
		from := authority.NotBefore.Add(time.Duration(year) * renewal)
		leaf, err := sign(&x509.Certificate{
			Subject: pkix.Name{CommonName: "MrPrism serve"}, DNSNames: hosts, IPAddresses: addresses, NotBefore: from, NotAfter: from.Add(validity),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
		}, authority, &private.PublicKey, signing)
		if err != nil {
			return s, err
		}
		s.leaves = append(s.leaves, tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: private, Leaf: leaf})
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})...)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return s, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return s, err
	}
	// The certificates go before their key changes, and come last. If serve is killed in between,
	// there are none, and its next start makes all anew.
	if err := os.Remove(filepath.Join(folder, certificateFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	for _, file := range []struct {
		name    string
		content []byte
		mode    fs.FileMode
	}{
		{keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600},
		{authorityFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.authority}), 0o644},
		{certificateFile, chain, 0o644},
	} {
		if err := replace(filepath.Join(folder, file.name), file.content, file.mode); err != nil {
			return s, err
		}
	}
	return s, nil
}

// replace writes a file, whole or not at all. The file is on the disk before replace returns.
func replace(path string, content []byte, mode fs.FileMode) error {
	file, err := disk.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return cmp.Or(disk.Move(path+".new", path), disk.SyncName(path))
}

// trusted are the authorities that this machine trusts, and that of its own certificates.
func trusted() *x509.CertPool {
	all, err := x509.SystemCertPool()
	if err != nil {
		all = x509.NewCertPool()
	}
	if folder, err := certificates(); err == nil {
		if own, err := os.ReadFile(filepath.Join(folder, authorityFile)); err == nil {
			all.AppendCertsFromPEM(own)
		}
	}
	return all
}

// certificates is the folder of the certificates that serve makes.
func certificates() (string, error) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("no folder for the certificate: %w; give your own with -tls CERT,KEY", err)
	}
	return filepath.Join(folder, "mrprism"), nil
}

// fingerprint is the SHA-256 of a certificate (DER), as browsers show it.
func fingerprint(certificate []byte) string {
	return strings.ReplaceAll(fmt.Sprintf("% X", sha256.Sum256(certificate)), " ", ":")
}

// keyHash is the hash of a certificate's key, by which Chrome can trust it: the kiosk's browser
// opens 127.0.0.1, which the clinic's certificate need not name.
func keyHash(c *tls.Certificate) string {
	sum := sha256.Sum256(c.Leaf.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// ownNames are the names and addresses at which a listener is reached: its own address, or, if it
// listens at all addresses, the machine's name and all addresses of the machine.
func ownNames(address net.Addr, extra []string) []string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return extra
	}
	names := append([]string{host}, extra...)
	ip := net.ParseIP(host)
	if ip == nil || !ip.IsUnspecified() {
		if ip != nil && ip.IsLoopback() {
			names = append(names, "localhost")
		}
		return names
	}
	names = append([]string{"localhost", "127.0.0.1", "::1"}, extra...)
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	addresses, _ := net.InterfaceAddrs() // if this fails, the other names remain
	for _, a := range addresses {
		if own, ok := a.(*net.IPNet); ok && !own.IP.IsLoopback() && !own.IP.IsLinkLocalUnicast() {
			names = append(names, own.IP.String())
		}
	}
	return names
}
