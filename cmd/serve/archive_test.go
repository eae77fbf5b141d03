package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/dicom"
	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/site"
	"mrprism/weights/disk"
)

// pacs stands in for an archive. It answers as said, one answer after the other, and then 200.
type pacs struct {
	*httptest.Server
	mu     sync.Mutex
	says   []http.HandlerFunc
	asked  []time.Time
	tokens []string
	stored map[string]int // attempts with 200 by SOP Instance UID
}

func newPACS(t *testing.T, secure bool, says ...http.HandlerFunc) *pacs {
	p := &pacs{says: says, stored: map[string]int{}}
	p.Server = httptest.NewUnstartedServer(p)
	if p.Config.ErrorLog = log.New(io.Discard, "", 0); secure {
		p.StartTLS()
	} else {
		p.Start()
	}
	t.Cleanup(p.Close)
	return p
}

func (p *pacs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked, p.tokens = append(p.asked, time.Now()), append(p.tokens, r.Header.Get("Authorization"))
	if len(p.says) > 0 {
		say := p.says[0]
		p.says = p.says[1:]
		p.mu.Unlock()
		say(w, r)
		return
	}
	defer p.mu.Unlock()
	for _, uid := range received(r) {
		p.stored[uid]++
	}
}

// received are the SOP Instance UIDs in a request; nil if it is none of STOW-RS.
func received(r *http.Request) (uids []string) {
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/related" || parameters["type"] != "application/dicom" || r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/studies") {
		return nil
	}
	for parts := multipart.NewReader(r.Body, parameters["boundary"]); ; {
		part, err := parts.NextPart()
		if err != nil || part.Header.Get("Content-Type") != "application/dicom" {
			return uids
		}
		content, _ := io.ReadAll(part)
		uid, _, _ := dicom.Names(content)
		uids = append(uids, uid)
	}
}

func (p *pacs) attempts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

func (p *pacs) has() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stored
}

// status answers with a status, header lines and a text.
func status(code int, text string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, text)
	}
}

// sender is an archive of serve for p, with a spool of its own or that of an earlier one.
type sender struct {
	*archive
	http *httptest.Server
	out  *output
	end  func()
}

func sending(t *testing.T, p *pacs, folder string, change func(o *options)) *sender {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", folder)
	o := &options{dicomweb: p.URL + "/dicom-web/"}
	if change != nil {
		change(o)
	}
	s := &sender{out: &output{}}
	var err error
	s.archive, err = o.openArchive(s.out)
	require.NoError(t, err)
	s.first, s.longest = 10*time.Millisecond, 100*time.Millisecond
	s.http = httptest.NewServer(limited(&http.Server{Handler: s.archive}, stall).Handler)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { s.run(ctx); close(ended) }()
	s.end = sync.OnceFunc(func() { stop(); <-ended; s.http.Close(); s.lock.Close() })
	t.Cleanup(s.end)
	return s
}

// slice is a DICOM file of a study; its SOP Instance UID ends in 1000 + 10 n.
func slice(n int, study string) []byte {
	return dicomtest.Slice(4, 4, make([]byte, 16), float64(n), map[uint32]string{dicomtest.Study: study})
}

// post posts files as the page does.
func (s *sender) post(t *testing.T, files ...[]byte) (id string, code int, text string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, f := range files {
		part, err := form.CreateFormFile("file", "blob")
		require.NoError(t, err)
		part.Write(f)
	}
	form.Close()
	r, err := http.Post(s.http.URL+archiving, form.FormDataContentType(), &body)
	require.NoError(t, err)
	defer r.Body.Close()
	content, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	var said struct{ ID string }
	_ = json.Unmarshal(content, &said)
	return said.ID, r.StatusCode, string(content)
}

// sends posts files that are taken.
func (s *sender) sends(t *testing.T, files ...[]byte) (id string) {
	t.Helper()
	id, code, text := s.post(t, files...)
	require.Equal(t, 200, code, text)
	return id
}

// becomes waits for a state, and returns why.
func (s *sender) becomes(t *testing.T, id, state, why string) string {
	t.Helper()
	var is struct{ State, Why string }
	require.Eventually(t, func() bool {
		r, err := http.Get(s.http.URL + archiving + "?ids=none," + id)
		require.NoError(t, err)
		defer r.Body.Close()
		all := map[string]struct{ State, Why string }{}
		require.NoError(t, json.NewDecoder(r.Body).Decode(&all))
		is = all[id]
		return is.State == state && strings.Contains(is.Why, why)
	}, time.Minute, 5*time.Millisecond, "%s: %s", state, why)
	return is.Why
}

// spool are the names in the folder of a sender.
func (s *sender) spool(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(s.folder)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() != "journal.jsonl" && e.Name() != disk.LockFile {
			names = append(names, e.Name())
		}
	}
	return names
}

// What the archive takes is stored once, and leaves the spool; the journal says what and when.
func TestArchiveStores(t *testing.T) {
	p := newPACS(t, false)
	s := sending(t, p, t.TempDir(), nil)
	id := s.sends(t, slice(1, "1.2"), slice(2, "1.2"))
	s.becomes(t, id, "stored", "")
	assert.Equal(t, map[string]int{"1.2.3.1.1010": 1, "1.2.3.1.1020": 1}, p.has())
	assert.Empty(t, s.spool(t))
	assert.Equal(t, id, s.sends(t, slice(1, "1.2"), slice(2, "1.2")))
	other := s.sends(t, slice(2, "1.2")) // of another image, or with less
	s.becomes(t, other, "stored", "")
	third := s.sends(t, slice(2, "1.2"), slice(3, "1.2"))
	s.becomes(t, third, "stored", "")
	assert.Equal(t, map[string]int{"1.2.3.1.1010": 1, "1.2.3.1.1020": 1, "1.2.3.1.1030": 1}, p.has(), "each once")
	assert.Equal(t, 2, p.attempts())
	journal, err := os.ReadFile(filepath.Join(s.folder, "journal.jsonl"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(journal)), "\n")
	assert.Contains(t, lines[0], `"state":"queued"`)
	var d delivery
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &d))
	assert.Equal(t, []string{id, "stored", "1.2", "1.2.3.1.1010"}, []string{d.ID, d.State, d.Files[0].Study, d.Files[0].UID})
	assert.WithinDuration(t, time.Now(), d.At, time.Minute)
	s.end()

	s = sending(t, p, filepath.Dir(filepath.Dir(s.folder)), nil)
	assert.Equal(t, id, s.sends(t, slice(1, "1.2"), slice(2, "1.2")))
	s.becomes(t, id, "stored", "")
	assert.Equal(t, 2, p.attempts(), "a later serve knows it")
}

const failedOne = `{"00081198": {"vr": "SQ", "Value": [{"00081150": {"vr": "UI", "Value": ["1.2.840.10008.5.1.4.1.1.4"]},
	"00081155": {"vr": "UI", "Value": ["1.2.3.1.1020"]}, "00081197": {"vr": "US", "Value": [%d]}}]},
	"00081199": {"vr": "SQ", "Value": [{"00081155": {"vr": "UI", "Value": ["1.2.3.1.1010"]}, "00081196": {"vr": "US", "Value": [45056]}}]}}`

// What the archive refuses waits for another click, with the reason, file by file.
func TestArchiveRefuses(t *testing.T) {
	for _, c := range []struct {
		say       http.HandlerFunc
		why       string
		again     int // files that the next click sends
		oneStored bool
	}{
		{status(202, fmt.Sprintf(failedOne, 0x0122)), "1 of 2 files are refused: the archive takes no files of this kind (0122)", 1, true},
		{status(202, fmt.Sprintf(failedOne, 0xc000)), "1 of 2 files are refused: the archive cannot process it (C000)", 1, true},
		{status(202, ""), "2 of 2 files are refused: the archive does not say why", 2, false},
		{status(409, `{"00081198": {"Value": [{"00081155": {"Value": ["1.2.3.1.1010"]}, "00081197": {"Value": [272]}}, {"00081155": {"Value": ["1.2.3.1.1020"]}, "00081197": {"Value": [43264]}}]}}`),
			"2 of 2 files are refused: the archive cannot process it (0110)", 2, false},
		{status(409, "<xml>"), "2 of 2 files are refused: the archive does not say why", 2, false},
		{status(413, ""), "the archive takes no files this large", 2, false},
		{status(404, ""), "the archive answers 404 Not Found", 2, false},
		{status(307, "", "Location", "https://elsewhere.example/"), "the archive answers 307", 2, false},
	} {
		p := newPACS(t, false, c.say)
		s := sending(t, p, t.TempDir(), nil)
		id := s.sends(t, slice(1, "1.2"), slice(2, "1.2"))
		s.becomes(t, id, "refused", c.why)
		assert.Equal(t, 1, p.attempts())
		assert.Contains(t, s.out.String(), c.why)
		assert.Equal(t, []string{id + spooled}, s.spool(t), "it is kept")
		assert.Equal(t, c.oneStored, s.all[id].Files[0].Stored)
		if c.oneStored {
			assert.Equal(t, "warning B000", s.all[id].Files[0].Why)
		}
		assert.Equal(t, id, s.sends(t, slice(1, "1.2"), slice(2, "1.2")), "the user sends it again")
		s.becomes(t, id, "stored", "")
		assert.Len(t, p.has(), c.again)
		assert.Empty(t, s.spool(t))
		s.end()
	}

	// A file that the archive has already is stored.
	p := newPACS(t, false, status(202, fmt.Sprintf(failedOne, duplicate)))
	s := sending(t, p, t.TempDir(), nil)
	s.becomes(t, s.sends(t, slice(1, "1.2"), slice(2, "1.2")), "stored", "")
}

// An archive that is away, slow, busy or full for a while gets everything later, after longer and
// longer pauses, or when it says.
func TestArchiveRetries(t *testing.T) {
	cut := func(w http.ResponseWriter, r *http.Request) { // in the middle of the files
		io.CopyN(io.Discard, r.Body, 100)
		c, _, _ := http.NewResponseController(w).Hijack()
		c.Close()
	}
	half := func(w http.ResponseWriter, r *http.Request) { // in the middle of the answer
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, "{")
	}
	slow := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	p := newPACS(t, false, cut, half, slow, status(500, ""), status(202, fmt.Sprintf(failedOne, 0xa700)), status(503, "", "Retry-After", "1"))
	s := sending(t, p, t.TempDir(), nil)
	s.patience = time.Second
	id := s.sends(t, slice(1, "1.2"), slice(2, "1.2"))
	s.becomes(t, id, "sent", "the archive does not answer")
	s.becomes(t, id, "sent", "the archive answers 503 Service Unavailable")
	s.becomes(t, id, "stored", "")
	require.Equal(t, 7, p.attempts())
	assert.GreaterOrEqual(t, p.asked[6].Sub(p.asked[5]), time.Second, "as long as it asked for")
	assert.GreaterOrEqual(t, p.asked[4].Sub(p.asked[3]), 4*10*time.Millisecond, "doubled, less a quarter")

	assert.Equal(t, 90*time.Second, retryAfter("90"))
	assert.InDelta(t, 60, retryAfter(time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)).Seconds(), 2)
	assert.Zero(t, retryAfter("soon"))
}

// A wrong token stops sending until its file changes or a reader sends. The token is never printed.
func TestArchiveToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pacs.token")
	require.NoError(t, os.WriteFile(file, []byte("secret1\n"), 0o600))
	p := newPACS(t, false, status(401, ""), status(403, ""))
	s := sending(t, p, t.TempDir(), func(o *options) { o.token = file })
	id := s.sends(t, slice(1, "1.2"))
	s.becomes(t, id, "sent", "the archive refuses the token of serve")
	time.Sleep(300 * time.Millisecond) // many pauses
	assert.Equal(t, 1, p.attempts())
	other := s.sends(t, slice(2, "1.2"))
	require.Eventually(t, func() bool { return p.attempts() == 2 }, time.Minute, time.Millisecond)
	s.becomes(t, id, "sent", "the archive refuses the token of serve")
	s.becomes(t, other, "queued", "the archive refuses the token of serve")

	require.NoError(t, os.WriteFile(file, []byte("  "), 0o600))
	s.becomes(t, id, "sent", "serve cannot read its token")
	assert.Equal(t, 2, p.attempts())
	require.NoError(t, os.WriteFile(file, []byte("secret22"), 0o600))
	s.becomes(t, id, "stored", "")
	s.becomes(t, other, "stored", "")
	assert.Equal(t, []string{"Bearer secret1", "Bearer secret1", "Bearer secret22", "Bearer secret22"}, p.tokens)
	assert.NotContains(t, s.out.String(), "secret")
}

// serve goes on after it was killed: with what waited, and once more with what was refused. A half
// line of the journal and a half file do not count.
func TestArchiveAfterARestart(t *testing.T) {
	hung, folder := make(chan struct{}), t.TempDir()
	hang := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		hung <- struct{}{}
		<-r.Context().Done()
	}
	p := newPACS(t, false, status(400, ""), hang)
	s := sending(t, p, folder, nil)
	bad := s.sends(t, slice(1, "1.2"))
	s.becomes(t, bad, "refused", "the archive answers 400 Bad Request")
	id, third := s.sends(t, slice(2, "1.3"), slice(3, "1.3")), ""
	<-hung
	third = s.sends(t, slice(4, "1.4"))
	s.end()
	journal := filepath.Join(s.folder, "journal.jsonl")
	text, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(journal, append(text, `{"id":"ha`...), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(s.folder, "."+id+spooled+".77.tmp"), []byte("ha"), 0o600))

	s = sending(t, p, folder, nil)
	for _, one := range []string{bad, id, third} {
		s.becomes(t, one, "stored", "")
	}
	assert.Equal(t, map[string]int{"1.2.3.1.1010": 1, "1.2.3.1.1020": 1, "1.2.3.1.1030": 1, "1.2.3.1.1040": 1}, p.has())
	assert.Empty(t, s.spool(t))

	// Two do not share a folder.
	t.Setenv("XDG_CONFIG_HOME", folder)
	_, err = (&options{dicomweb: p.URL + "/dicom-web"}).openArchive(io.Discard)
	assert.ErrorContains(t, err, "another process holds the lock; end the serve that uses this folder")
	s.end()

	// A file of the spool that somebody changed is named.
	require.NoError(t, os.WriteFile(filepath.Join(s.folder, "0123"+spooled), []byte("nothing"), 0o600))
	_, err = (&options{dicomweb: p.URL + "/dicom-web"}).openArchive(io.Discard)
	assert.ErrorContains(t, err, "0123"+spooled)
}

// An archive is trusted by the system's authorities and that of -authority alone.
func TestArchiveAuthority(t *testing.T) {
	p, folder := newPACS(t, true), t.TempDir()
	s := sending(t, p, folder, nil)
	id := s.sends(t, slice(1, "1.2"))
	s.becomes(t, id, "sent", "serve does not trust the archive’s certificate")
	assert.Contains(t, s.out.String(), "give its authority with -authority")
	s.end()
	file := filepath.Join(t.TempDir(), "authority.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}), 0o644))
	s = sending(t, p, folder, func(o *options) { o.authority = file })
	s.becomes(t, id, "stored", "")
	assert.GreaterOrEqual(t, s.client.Transport.(*http.Transport).TLSClientConfig.MinVersion, uint16(tls.VersionTLS12))

	require.NoError(t, os.WriteFile(file, []byte("none"), 0o644))
	_, err := (&options{dicomweb: p.URL, authority: file}).openArchive(io.Discard)
	assert.ErrorContains(t, err, "has no certificate in PEM; name the file of the authority")
}

// On a full disk nothing is taken and nothing half-written stays; with room, all goes on.
func TestArchiveOnAFullDisk(t *testing.T) {
	p := newPACS(t, false)
	s := sending(t, p, t.TempDir(), nil)
	full := ""
	defer func() { disk.Fault = nil }()
	disk.Fault = func(operation, path string) error {
		if strings.Contains(path, full) && operation == disk.Write {
			return syscall.ENOSPC
		}
		return nil
	}
	for _, full = range []string{spooled, "journal"} {
		_, code, text := s.post(t, slice(1, "1.2"))
		assert.Equal(t, 507, code)
		assert.Contains(t, text, "no space left on device; make room in")
		assert.Empty(t, s.spool(t), full)
	}
	full = "nowhere"
	s.becomes(t, s.sends(t, slice(1, "1.2")), "stored", "")
	assert.Equal(t, map[string]int{"1.2.3.1.1010": 1}, p.has())
}

// Only whole DICOM files of one study are taken, not too many, and from pages of serve alone.
func TestArchiveTakesResults(t *testing.T) {
	p := newPACS(t, false)
	s := sending(t, p, t.TempDir(), nil)
	for _, files := range [][][]byte{nil, {[]byte("no DICOM")}, {slice(1, "1.2")[:200]}, {slice(1, "")}, {slice(1, "1.2"), slice(2, "1.3")}, make([][]byte, mostFiles+1)} {
		if len(files) > mostFiles {
			for i := range files {
				files[i] = slice(i, "1.2")
			}
		}
		_, code, text := s.post(t, files...)
		assert.Equal(t, 400, code, text)
	}
	_, code, _ := s.post(t, dicomtest.Grey(8192, 8200, make([]byte, 8192*8200)))
	assert.Equal(t, 413, code)
	assert.Empty(t, s.spool(t))
	for method, path := range map[string]string{"PUT": archiving, "GET": archiving + "x"} {
		r, err := http.NewRequest(method, s.http.URL+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		answer.Body.Close()
		assert.Equal(t, 404, answer.StatusCode)
	}

	built, err := site.Built()
	if errors.Is(err, site.ErrNotBuilt) {
		needSite(t)
	}
	require.NoError(t, err)
	h, err := site.Handler(built, nil, []string{"here.example"})
	require.NoError(t, err)
	ask := func(method, host string, header ...string) int {
		r := httptest.NewRequest(method, "http://here.example"+archiving, nil)
		r.Host = host
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	assert.Equal(t, []int{405, 404}, []int{ask("POST", "here.example"), ask("GET", "here.example")}, "without -dicomweb there is none")
	site.Mount(h, archiving, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	assert.Equal(t, 200, ask("POST", "here.example", "Sec-Fetch-Site", "same-origin"))
	assert.Equal(t, 403, ask("POST", "here.example", "Sec-Fetch-Site", "cross-site"))
	assert.Equal(t, 403, ask("POST", "here.example", "Origin", "https://evil.example"))
	assert.Equal(t, 421, ask("POST", "evil.example"))
}

func TestArchiveOptions(t *testing.T) {
	for _, c := range []struct {
		o    options
		says string
	}{
		{options{token: "x"}, "name it with -dicomweb URL"},
		{options{dicomweb: "pacs.example", addr: "127.0.0.1:0"}, "give a URL"},
		{options{dicomweb: "https://me:secret@pacs.example/", addr: "127.0.0.1:0"}, "give a URL without a password"},
		{options{dicomweb: "http://pacs.example/", token: "x", addr: "127.0.0.1:0"}, "give -dicomweb an https address"},
		{options{dicomweb: "https://pacs.example/", addr: ":80"}, "add -tls self"},
		{options{dicomweb: "https://pacs.example/", addr: ":80", tls: selfMade, token: "x"}, ""},
		{options{dicomweb: "http://localhost/", addr: "127.0.0.1:0", token: "x"}, ""},
	} {
		if err := c.o.check(); c.says != "" {
			require.ErrorContains(t, err, c.says)
			assert.NotContains(t, err.Error(), "secret")
		} else {
			assert.NoError(t, err)
		}
	}
}
