package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// verify is what a machine that trusts the authority says of a certificate.
func verify(t *testing.T, authority []byte, leaf *x509.Certificate, name string, at time.Time) error {
	t.Helper()
	parsed, err := x509.ParseCertificate(authority)
	require.NoError(t, err)
	trusted := x509.NewCertPool()
	trusted.AddCert(parsed)
	if net.ParseIP(name) != nil {
		name = "[" + name + "]"
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: trusted, DNSName: name, CurrentTime: at})
	return err
}

func TestSelfMadeCertificates(t *testing.T) {
	folder, now := filepath.Join(t.TempDir(), "new"), time.Now()
	names := []string{"clinic.example", "192.168.1.5", "fd00::5"}
	first, err := keptOrMade(folder, names, now, io.Discard)
	require.NoError(t, err)
	assert.Regexp(t, `^([0-9A-F]{2}:){31}[0-9A-F]{2}$`, fingerprint(first.authority))
	key, err := os.Stat(filepath.Join(folder, keyFile))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), key.Mode().Perm(), "nobody else reads the key")
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, file := range files { // the authority's key is in none
		content, err := os.ReadFile(filepath.Join(folder, file.Name()))
		require.NoError(t, err)
		_, err = tls.X509KeyPair(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: first.authority}), content)
		assert.Error(t, err, file.Name())
	}

	again, err := keptOrMade(folder, names[1:], now.Add(time.Hour), io.Discard)
	require.NoError(t, err)
	assert.Equal(t, first.authority, again.authority, "it is kept: machines trust it")
	for day := 0; day < years*365; day += 7 { // nobody installs anything for five years
		at := now.AddDate(0, 0, day)
		leaf := again.certificateAt(at).Leaf
		require.LessOrEqual(t, leaf.NotAfter.Sub(leaf.NotBefore), 398*24*time.Hour)
		for _, name := range names {
			require.NoError(t, verify(t, first.authority, leaf, name, at), "%s on day %d", name, day)
		}
		require.Greater(t, leaf.NotAfter.Sub(at), remaining)
	}
	other, err := keptOrMade(folder, []string{"other.example"}, now, io.Discard)
	require.NoError(t, err)
	assert.NotEqual(t, first.authority, other.authority, "another name")
	late, err := keptOrMade(folder, []string{"other.example"}, now.AddDate(years, 0, 5), io.Discard)
	require.NoError(t, err)
	assert.NotEqual(t, other.authority, late.authority, "the last would end soon")

	require.NoError(t, os.WriteFile(filepath.Join(folder, certificateFile), []byte("damaged"), 0o644))
	_, err = keptOrMade(folder, nil, now, io.Discard)
	assert.ErrorContains(t, err, "remove both")
}

// Where the files cannot all be written, there is no certificate without its key.
func TestCertificatesMatchTheirKey(t *testing.T) {
	for _, name := range []string{keyFile, authorityFile, certificateFile} {
		folder, now := t.TempDir(), time.Now()
		_, err := keptOrMade(folder, []string{"clinic.example"}, now, io.Discard)
		require.NoError(t, err)
		path := filepath.Join(folder, name)
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.MkdirAll(filepath.Join(path, "in the way"), 0o700))
		_, err = makeCertificates(folder, []string{"other.example"}, now)
		require.Error(t, err, name)
		require.NoError(t, os.RemoveAll(path))
		_, err = tls.LoadX509KeyPair(filepath.Join(folder, certificateFile), filepath.Join(folder, keyFile))
		require.True(t, err == nil || errors.Is(err, fs.ErrNotExist), "%s: %v", name, err)
		_, err = keptOrMade(folder, []string{"other.example"}, now, io.Discard)
		require.NoError(t, err, name)
	}
}

// Whatever the authority signs, other machines believe it for the given names and addresses alone.
func TestAuthorityIsLimited(t *testing.T) {
	now := time.Now()
	for _, c := range []struct{ given, allowed, refused []string }{
		{[]string{"clinic.example", "192.168.1.5"}, []string{"clinic.example", "192.168.1.5"},
			[]string{"bank.example", "example", "evilclinic.example", "192.168.1.6", "8.8.8.8", "fd00::5"}},
		{[]string{"clinic.example"}, []string{"clinic.example"}, []string{"bank.example", "192.168.1.5", "fd00::5"}},
		{[]string{"192.168.1.5"}, []string{"192.168.1.5"}, []string{"bank.example", "localhost", "192.168.1.4", "fd00::5"}},
		{[]string{"fd00::5"}, []string{"fd00::5"}, []string{"bank.example", "fd00::4", "192.168.1.5"}},
	} {
		authority, key, err := newAuthority(c.given, now)
		require.NoError(t, err)
		assert.True(t, authority.PermittedDNSDomainsCritical)
		says := func(name string) error {
			hosts, addresses := split([]string{name})
			leaf, err := sign(&x509.Certificate{NotBefore: authority.NotBefore, NotAfter: now.Add(time.Hour), DNSNames: hosts, IPAddresses: addresses,
				ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, authority, &key.PublicKey, key)
			require.NoError(t, err)
			return verify(t, authority.Raw, leaf, name, now)
		}
		for _, name := range c.allowed {
			assert.NoError(t, says(name), "%s of %s", name, c.given)
		}
		for _, name := range c.refused {
			var invalid x509.CertificateInvalidError
			require.ErrorAs(t, says(name), &invalid, "%s of %s", name, c.given)
			assert.Equal(t, x509.CANotAuthorizedForThisName, invalid.Reason)
		}
	}
}

// The files of an earlier version are an authority without limits and its key.
func TestAuthorityOfAnEarlierVersion(t *testing.T) {
	folder, now := t.TempDir(), time.Now()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	old := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(2, 0, 0), DNSNames: []string{"clinic.example"},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true}
	old, err = sign(old, old, &private.PublicKey, private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	secret = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	require.NoError(t, os.WriteFile(filepath.Join(folder, keyFile), secret, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, certificateFile), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: old.Raw}), 0o644))

	var said bytes.Buffer
	made, err := keptOrMade(folder, []string{"clinic.example"}, now, &said)
	require.NoError(t, err)
	assert.False(t, made.certificateAt(now).Leaf.IsCA)
	assert.Contains(t, said.String(), fingerprint(old.Raw))
	left, err := os.ReadFile(filepath.Join(folder, keyFile))
	require.NoError(t, err)
	assert.NotEqual(t, string(secret), string(left), "its key is gone")
	said.Reset()
	again, err := keptOrMade(folder, []string{"clinic.example"}, now, &said)
	require.NoError(t, err)
	assert.Equal(t, made.authority, again.authority)
	assert.Empty(t, said.String())
}
