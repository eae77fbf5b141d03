package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mrprism/internal/files/dicom"
	"mrprism/weights"
	"mrprism/weights/disk"
)

const (
	archiving = "/archive/"     // the path at which the page sends results
	mostSent  = 64 << 20        // bytes of an image's files
	mostFiles = 64              // of an image
	uploading = 2 * time.Minute // for a page to send an image's files
	spooled   = ".mime"         // the ending of a file of the spool
)

// What has become of an image's files.
const (
	queued  = "queued"  // they are on the disk
	sent    = "sent"    // and it was tried to send them
	kept    = "stored"  // the archive has them
	refused = "refused" // the archive does not take them all
)

// archive sends what readers have finished to a DICOM archive. The files of an image lie in the
// spool, a folder of this user, until the archive has them: ID.mime is the body of the request. The
// journal there says what has become of each image; the last line of an ID counts. serve goes on
// with the spool when it starts.
type archive struct {
	*store
	folder         string
	log            io.Writer
	first, longest time.Duration // between two attempts
	wake           chan struct{}
	lock           io.Closer
	taking         sync.Mutex // one image after the other comes into memory

	mu      sync.Mutex
	file    *disk.File // the journal
	journal *disk.Records
	all     map[string]*delivery // by ID
	has     map[string]bool      // SHA-256 of files that the archive has
	quiet   time.Time            // nothing is sent before
	denied  *stamp               // that of the token's file, if it does not open the archive
	why     string               // of denied
}

// delivery is the files of an image, and a line of the journal.
type delivery struct {
	ID    string     `json:"id"`
	At    time.Time  `json:"at"`
	State string     `json:"state"`
	Why   string     `json:"why,omitempty"`
	Files []instance `json:"files"`

	due   time.Time // of the next attempt
	tries int
}

// instance is a DICOM file.
type instance struct {
	UID    string `json:"uid"`
	Study  string `json:"study"`
	SHA256 string `json:"sha256"`
	Stored bool   `json:"stored,omitempty"`
	Why    string `json:"why,omitempty"` // why it is refused, or the archive's warning
}

func (d *delivery) waits() bool { return d.State == queued || d.State == sent }

// openArchive opens the spool of the archive of -dicomweb.
func (o *options) openArchive(log io.Writer) (*archive, error) {
	to, err := o.newStore()
	if err != nil {
		return nil, err
	}
	folder, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("no folder for what is sent to the archive: %w; name one with XDG_CONFIG_HOME", err)
	}
	a := &archive{store: to, folder: filepath.Join(folder, "mrprism", "archive-"+disk.SumOf([]byte(to.address)).SHA256[:12]), log: log,
		first: time.Second, longest: 5 * time.Minute, wake: make(chan struct{}, 1), all: map[string]*delivery{}, has: map[string]bool{}}
	if err := a.open(); err != nil {
		return nil, fmt.Errorf("cannot keep in %q what is sent to the archive: %w; end the serve that uses this folder, or name another one with XDG_CONFIG_HOME", a.folder, err)
	}
	fmt.Fprintf(log, "what readers send to %s waits in %q\n", to.address, a.folder)
	return a, nil
}

// open reads journal and spool. What was refused is tried once more.
func (a *archive) open() (err error) {
	if err = os.MkdirAll(a.folder, 0o700); err == nil {
		a.lock, err = disk.Lock(a.folder)
	}
	if err != nil {
		return err
	}
	if a.file, err = disk.OpenFile(filepath.Join(a.folder, "journal.jsonl"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	text, err := io.ReadAll(a.file)
	if err != nil {
		return err
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	if a.journal, err = disk.NewRecords(a.file, int64(end)); err != nil {
		return err
	}
	for line := range bytes.Lines(text[:end]) {
		d := new(delivery)
		if json.Unmarshal(line, d) == nil {
			a.remember(d)
		}
	}
	maps.DeleteFunc(a.all, func(_ string, d *delivery) bool { return d.State != kept })
	entries, err := os.ReadDir(a.folder)
	for _, e := range entries {
		path := filepath.Join(a.folder, e.Name())
		if strings.HasSuffix(path, ".tmp") { // of a serve that was killed
			err = errors.Join(err, os.Remove(path))
		}
		id, isOurs := strings.CutSuffix(e.Name(), spooled)
		if !isOurs {
			continue
		}
		body, failed := os.ReadFile(path)
		if failed == nil {
			d := &delivery{ID: id, State: queued}
			d.Files, _, failed = instances(multipart.NewReader(bytes.NewReader(body), id))
			a.remember(d)
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%q: %w", path, failed))
		}
	}
	return err
}

func (a *archive) remember(d *delivery) {
	a.all[d.ID] = d
	for _, f := range d.Files {
		if f.Stored {
			a.has[f.SHA256] = true
		}
	}
}

// note writes what has become of a delivery into the journal.
func (a *archive) note(d *delivery) error {
	d.At = time.Now().UTC().Truncate(time.Second)
	line, err := json.Marshal(d)
	if err == nil {
		err = a.journal.Append(append(line, '\n'))
	}
	return cmp.Or(err, a.file.Sync())
}

// path is the place of a delivery in the spool.
func (a *archive) path(d *delivery) string { return filepath.Join(a.folder, d.ID+spooled) }

// instances reads the DICOM files of an image.
func instances(parts *multipart.Reader) (files []instance, contents [][]byte, err error) {
	for {
		part, err := parts.NextPart()
		if err == io.EOF && len(files) > 0 {
			return files, contents, nil
		}
		var content []byte
		if err == nil {
			content, err = io.ReadAll(part)
		}
		if err != nil {
			return nil, nil, err
		}
		f := instance{SHA256: disk.SumOf(content).SHA256}
		if f.UID, f.Study, err = dicom.Names(content); err != nil {
			return nil, nil, fmt.Errorf("file %d: %w", len(files)+1, err)
		}
		files, contents = append(files, f), append(contents, content)
		if len(files) > mostFiles || f.Study != files[0].Study {
			return nil, nil, fmt.Errorf("an image has at most %d files, all of one study", mostFiles)
		}
	}
}

// ServeHTTP answers the page. POST takes the files of an image, a form, and gives an ID. GET says
// what has become of the images whose IDs are in ids.
func (a *archive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any
	switch {
	case r.URL.Path == archiving && r.Method == http.MethodGet:
		answer = a.said(strings.Split(r.URL.Query().Get("ids"), ","))
	case r.URL.Path == archiving && r.Method == http.MethodPost:
		id, status, err := a.take(w, r)
		if err != nil {
			fmt.Fprintf(a.log, "archive: a result was not taken: %v\n", err)
			http.Error(w, err.Error(), status)
			return
		}
		answer = map[string]string{"id": id}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// said is what has become of images.
func (a *archive) said(ids []string) map[string]map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[string]map[string]string{}
	for _, id := range ids {
		if d := a.all[id]; d != nil {
			why := d.Why
			if d.waits() && a.denied != nil {
				why = a.why
			}
			all[id] = map[string]string{"state": d.State, "why": why}
		}
	}
	return all
}

// take takes the files of a request into the spool, whole or not at all.
func (a *archive) take(w http.ResponseWriter, r *http.Request) (id string, status int, err error) {
	a.taking.Lock()
	defer a.taking.Unlock()
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploading)); err != nil {
		return "", http.StatusInternalServerError, err
	}
	r.Body = http.MaxBytesReader(w, r.Body, mostSent)
	var files []instance
	var contents [][]byte
	parts, err := r.MultipartReader()
	if err == nil {
		files, contents, err = instances(parts)
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return "", http.StatusRequestEntityTooLarge, err
	} else if err != nil {
		return "", http.StatusBadRequest, err
	}
	sum := sha256.New()
	for _, f := range files {
		io.WriteString(sum, f.SHA256)
	}
	d := &delivery{ID: fmt.Sprintf("%x", sum.Sum(nil)[:12]), State: queued, due: time.Now()}
	if err := a.keep(d, files, contents); err != nil {
		return "", http.StatusInsufficientStorage, fmt.Errorf("%w; make room in %q", err, a.folder)
	}
	return d.ID, 0, nil
}

// keep writes a delivery into the spool, without files that the archive has. One that waits already
// is sent soon.
func (a *archive) keep(d *delivery, files []instance, contents [][]byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.denied = nil
	select {
	case a.wake <- struct{}{}:
	default:
	}
	if known := a.all[d.ID]; known != nil && known.State != refused {
		known.due = time.Time{}
		return nil
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	w.SetBoundary(d.ID)
	for i, f := range files {
		if a.has[f.SHA256] {
			continue
		}
		d.Files = append(d.Files, f)
		part, _ := w.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/dicom"}}) // a buffer takes all
		part.Write(contents[i])
	}
	w.Close()
	if len(d.Files) == 0 {
		d.State = kept
	} else if err := weights.WriteFile(a.path(d), body.Bytes()); err != nil {
		return err
	}
	if err := a.note(d); err != nil {
		return errors.Join(err, os.Remove(a.path(d)))
	}
	a.remember(d)
	return nil
}

// run sends what waits until ctx ends.
func (a *archive) run(ctx context.Context) {
	for ctx.Err() == nil {
		d, wait := a.next()
		if d == nil {
			select {
			case <-ctx.Done():
			case <-a.wake:
			case <-time.After(wait):
			}
			continue
		}
		token, files := a.stamp(), slices.Clone(d.Files)
		body, err := os.ReadFile(a.path(d))
		if err == nil {
			err = a.send(ctx, d.ID, body, files)
		}
		if ctx.Err() == nil {
			a.settle(d, files, token, err)
		}
	}
}

// stamp is that of the token's file.
func (a *archive) stamp() *stamp { return &stamps([]string{a.token})[0] }

// next is the delivery to send, or nil and how long to wait for one.
func (a *archive) next() (d *delivery, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.denied != nil && *a.denied == *a.stamp() {
		return nil, watchEvery
	}
	a.denied = nil
	for _, one := range a.all {
		if one.waits() && (d == nil || one.due.Before(d.due)) {
			d = one
		}
	}
	if d == nil {
		return nil, time.Hour
	}
	if wait = max(time.Until(d.due), time.Until(a.quiet)); wait > 0 {
		return nil, wait
	}
	return d, 0
}

// settle says what an attempt has made of a delivery.
func (a *archive) settle(d *delivery, files []instance, token *stamp, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, says, again := *d, "is stored", new(later)
	d.State, d.Why, d.Files = kept, "", files
	switch {
	case errors.As(err, &again):
		pause := min(a.first<<min(d.tries, 20), a.longest)
		pause += time.Duration((rand.Float64() - 0.5) / 2 * float64(pause)) // not all programs at once
		d.State, d.Why, says = sent, again.why, fmt.Sprintf("waits, and is sent again: %v", err)
		if again.token {
			a.denied, a.why = token, again.why
		} else {
			d.tries, d.due = d.tries+1, time.Now().Add(pause)
			a.quiet = time.Now().Add(min(again.after, time.Hour))
		}
	case err != nil:
		d.State, d.Why, says = refused, err.Error(), fmt.Sprintf("is refused: %v; a reader, or the next start of serve, sends it again", err)
	}
	a.remember(d)
	if d.State == before.State && d.Why == before.Why {
		return
	}
	fmt.Fprintf(a.log, "archive: image %s %s\n", d.ID, says)
	if err = a.note(d); err == nil && d.State == kept {
		err = os.Remove(a.path(d))
	}
	if err != nil {
		fmt.Fprintf(a.log, "archive: %v; make room in %q\n", err, a.folder)
	}
}
