package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// store is a DICOM archive that takes files by STOW-RS. Source: PS3.18 10.5.
type store struct {
	address  string // where files are sent
	token    string // a file, or empty
	client   *http.Client
	patience time.Duration // for an answer, beside the time to send
}

// slowest is the rate, in bytes a second, below which sending counts as broken off.
const slowest = 64 << 10

// later is why an archive does not have files yet: they may be sent again.
type later struct {
	why    string        // for the page
	detail error         // for the log; nil: why says all
	after  time.Duration // that the archive asks to wait; 0: it does not say
	token  bool          // another token is needed
}

func (l *later) Error() string { return cmp.Or(l.detail, errors.New(l.why)).Error() }

// newStore is the archive of -dicomweb.
func (o *options) newStore() (*store, error) {
	transport, authorities := http.DefaultTransport.(*http.Transport).Clone(), trusted()
	if o.authority != "" {
		text, err := os.ReadFile(o.authority)
		if err == nil && !authorities.AppendCertsFromPEM(text) {
			err = fmt.Errorf("%s has no certificate in PEM", o.authority)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot use -authority: %w; name the file of the authority that signed the archive's certificate", err)
		}
	}
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}
	transport.ExpectContinueTimeout = 2 * time.Second
	asIs := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // files go nowhere else
	return &store{strings.TrimRight(o.dicomweb, "/") + "/studies", o.token, &http.Client{Transport: transport, CheckRedirect: asIs}, time.Minute}, nil
}

// authorize adds the token that the file has now.
func (s *store) authorize(r *http.Request) error {
	if s.token == "" {
		return nil
	}
	text, err := os.ReadFile(s.token)
	token := strings.TrimSpace(string(text))
	if err == nil && (token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })) {
		err = fmt.Errorf("%s does not hold one token", s.token)
	}
	if err != nil {
		return &later{why: "serve cannot read its token", detail: err, token: true}
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// send sends a body, whose parts are files, and says in files which of them the archive has. The
// error is a *later, or else final.
func (s *store) send(ctx context.Context, boundary string, body []byte, files []instance) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience+time.Duration(len(body)/slowest)*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, bytes.NewReader(body))
	if err == nil {
		err = s.authorize(r)
	}
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", `multipart/related; type="application/dicom"; boundary=`+boundary)
	r.Header.Set("Accept", "application/dicom+json")
	r.Header.Set("Expect", "100-continue") // a refusal comes before the files go
	answer, err := s.client.Do(r)
	var text []byte
	if err == nil {
		defer answer.Body.Close()
		text, err = io.ReadAll(io.LimitReader(answer.Body, 4<<20))
	}
	if wrong := new(tls.CertificateVerificationError); errors.As(err, &wrong) {
		return &later{why: "serve does not trust the archive’s certificate", detail: fmt.Errorf("%w; give its authority with -authority", err)}
	} else if err != nil {
		return &later{why: "the archive does not answer", detail: err}
	}
	says := "the archive answers " + answer.Status
	switch code := answer.StatusCode; {
	case code == http.StatusOK || code == http.StatusAccepted || code == http.StatusConflict:
		return stored(code, text, files)
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return &later{why: "the archive refuses the token of serve", detail: errors.New(says + "; change the token's file"), token: true}
	case code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError:
		return &later{why: says, after: retryAfter(answer.Header.Get("Retry-After"))}
	case code == http.StatusRequestEntityTooLarge:
		return errors.New("the archive takes no files this large")
	}
	return errors.New(says)
}

// retryAfter reads that header: seconds or a date; 0 for neither. Source: RFC 9110 10.2.3.
func retryAfter(text string) time.Duration {
	n, _ := strconv.Atoi(text)
	if at, err := http.ParseTime(text); err == nil {
		return time.Until(at)
	}
	return time.Duration(n) * time.Second
}

// outcome is what an archive says of a file. Source: PS3.18 annexes F and I.2.
type outcome struct {
	UID     struct{ Value []string } `json:"00081155"`
	Warning struct{ Value []int }    `json:"00081196"`
	Failure struct{ Value []int }    `json:"00081197"`
}

// duplicate is the failure of a file that the archive has already.
const duplicate = 0x0111

// stored reads the answer: 200 all files are stored, 202 some, or with warnings, 409 none.
func stored(status int, text []byte, files []instance) error {
	var said struct {
		Failed struct{ Value []outcome } `json:"00081198"`
		Stored struct{ Value []outcome } `json:"00081199"`
	}
	_ = json.Unmarshal(text, &said) // of what it does not say, the status decides
	has, failed := map[string]string{}, map[string]int{}
	for _, one := range said.Failed.Value {
		uid, code := strings.Join(one.UID.Value, ""), append(one.Failure.Value, 0)[0]
		if failed[uid] = code; code == duplicate {
			delete(failed, uid)
			has[uid] = ""
		}
	}
	for _, one := range said.Stored.Value {
		has[strings.Join(one.UID.Value, "")] = ""
		if len(one.Warning.Value) > 0 {
			has[one.UID.Value[0]] = fmt.Sprintf("warning %04X", one.Warning.Value[0])
		}
	}
	n, why, full := 0, "", true
	for i := range files {
		f := &files[i]
		code, no := failed[f.UID]
		warning, yes := has[f.UID]
		f.Stored, f.Why = !no && (yes || status == http.StatusOK), warning
		if !f.Stored {
			f.Why = reason(code)
			n, why, full = n+1, cmp.Or(why, f.Why), full && code>>8 == 0xa7
		}
	}
	says := fmt.Sprintf("%d of %d files are refused: %s", n, len(files), why)
	switch {
	case n == 0:
		return nil
	case full:
		return &later{why: says}
	}
	return errors.New(says)
}

// reason says what a failure means. Source: PS3.18 I.2.2.
func reason(code int) string {
	switch {
	case code == 0:
		return "the archive does not say why"
	case code>>8 == 0xa7:
		return fmt.Sprintf("the archive is full (%04X)", code)
	case code == 0x0122:
		return "the archive takes no files of this kind (0122)"
	}
	return fmt.Sprintf("the archive cannot process it (%04X)", code)
}
