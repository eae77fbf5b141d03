package main

import (
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
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	certificateFile, keyFile = "serve-cert.pem", "serve-key.pem"

	lifetime  = 825 * 24 * time.Hour // browsers accept no longer one from an authority that a user installed
	remaining = 30 * 24 * time.Hour  // a certificate that ends sooner is made anew
)

// selfMade is the certificate in folder for the names and addresses of this machine. If the folder
// has none, or one that lacks a name or is about to end, selfMade makes one, which signs itself.
func selfMade(folder string, names []string, now time.Time) (tls.Certificate, error) {
	cert, key := filepath.Join(folder, certificateFile), filepath.Join(folder, keyFile)
	kept, err := tls.LoadX509KeyPair(cert, key)
	if err == nil && serves(kept.Leaf, names, now) {
		return kept, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tls.Certificate{}, fmt.Errorf("cannot read %s and %s: %w; remove both, and serve makes new ones", cert, key, err)
	}
	if err := makeCertificate(cert, key, names, now); err != nil {
		return tls.Certificate{}, fmt.Errorf("cannot make a certificate: %w; give your own with -tls-cert and -tls-key", err)
	}
	return tls.LoadX509KeyPair(cert, key)
}

// serves says whether a certificate holds for all names and some weeks to come.
func serves(leaf *x509.Certificate, names []string, now time.Time) bool {
	for _, name := range names {
		if leaf.VerifyHostname(name) != nil {
			return false
		}
	}
	return now.After(leaf.NotBefore) && now.Add(remaining).Before(leaf.NotAfter)
}

func makeCertificate(cert, key string, names []string, now time.Time) error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "MrPrism serve"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(key), 0o700); err != nil {
		return err
	}
	// The key comes first: a certificate is never there without its key.
	if err := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o644)
}

// fingerprint is the SHA-256 of a certificate, as browsers show it.
func fingerprint(c tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	text := ""
	for i, b := range sum {
		if i > 0 {
			text += ":"
		}
		text += fmt.Sprintf("%02X", b)
	}
	return text
}

// keyHash is the hash of a certificate's key by which Chrome knows it: the kiosk's browser opens
// 127.0.0.1, for which the clinic's certificate need not be.
func keyHash(c tls.Certificate) string {
	sum := sha256.Sum256(c.Leaf.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// ownNames are the names and addresses by which a listener is reached: its own address, or, if it
// listens at all addresses, the machine's name and all its addresses.
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
	addresses, _ := net.InterfaceAddrs() // without them the other names remain
	for _, a := range addresses {
		if own, ok := a.(*net.IPNet); ok && !own.IP.IsLoopback() && !own.IP.IsLinkLocalUnicast() {
			names = append(names, own.IP.String())
		}
	}
	return names
}
