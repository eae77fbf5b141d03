package importer

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"mrprism/internal/data/dataset"
	"mrprism/internal/files/text"
	"mrprism/weights/disk"
)

// session is what is read of session.json. The other files of its ZIP are read when they are asked
// for.
type session struct {
	Format   string   `json:"format"`
	Version  int      `json:"version"`
	Saved    string   `json:"saved"`
	Grader   string   `json:"grader"`
	Readings readings `json:"readings"`
	Study    *plan    `json:"study"`

	path, rater, sum string               // sum: of session.json
	files            map[string]*zip.File // by name
	images           map[string]string    // names by SHA-256
	open             *os.File
}

// What session.json may be, as in site/study/shapes.js: other people's files come here too.
const (
	maxSessionJSON = 128 << 20 // bytes
	maxValues      = 2_000_000 // objects and lists
	maxReadings    = 20_000
)

type readings []reading

// UnmarshalJSON counts the readings before any of them takes memory.
func (r *readings) UnmarshalJSON(text []byte) error {
	var all [maxReadings + 1]json.RawMessage // JSON passes over the rest
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	if all[maxReadings] != nil {
		return fmt.Errorf("it is too large: it has more than %d images", maxReadings)
	}
	return json.Unmarshal(text, (*[]reading)(r))
}

// openSession reads what a session says. Its file stays open until close.
func openSession(path string) (s *session, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, disk.Cause(err)
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, disk.Cause(err)
	}
	s = &session{path: path, open: file, files: map[string]*zip.File{}, images: map[string]string{}}
	archive, err := zip.NewReader(&window{file: file, size: info.Size()}, info.Size())
	if err != nil {
		return nil, fmt.Errorf("is no whole session (%w): open it in the page, which reads what is left, and save it again", err)
	}
	for _, f := range archive.File {
		s.files[f.Name] = f
		if name, is := strings.CutPrefix(f.Name, "images/"); is && len(name) >= 64 {
			s.images[name[:64]] = f.Name
		}
	}
	data, err := s.entry("session.json", maxSessionJSON)
	if err == nil {
		s.sum = sumOf(data)
		data, err = text.Decode(data)
	}
	if n := bytes.Count(data, []byte("{")) + bytes.Count(data, []byte("[")); err == nil && n > maxValues {
		err = fmt.Errorf("it is too large: %d values, of at most %d", n, maxValues)
	}
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("its session.json cannot be read: %w", err)
	case s.Format != sessionFormat:
		return nil, fmt.Errorf("its format is %q, not %q: name a file that the page's \"Save session\" has made", s.Format, sessionFormat)
	case s.Version > sessionVersion:
		return nil, fmt.Errorf("it was saved by a later MrPrism (version %d, here %d): take a newer one", s.Version, sessionVersion)
	case strings.TrimSpace(s.Grader) == "" && slices.ContainsFunc(s.Readings, func(r reading) bool { return r.Review != "" || len(r.Drawn) > 0 }):
		return nil, errors.New("it says no person: open it in the page, write a name or code, and save it again")
	case strings.TrimSpace(s.Grader) == "": // a study before anybody reads it: its images count
		s.Readings = nil
		return s, nil
	}
	if s.rater = asName(s.Grader); s.rater == "" { // a name in other letters
		s.rater = "person-" + sumOf([]byte(s.Grader))[:8]
	}
	if strings.HasSuffix(s.rater, dataset.Second("")) {
		return nil, fmt.Errorf("its person %q has a name that ends as those of second readings do: write another name or code", s.Grader)
	}
	return s, nil
}

// entry reads a file of the session, which has so many bytes at most.
func (s *session) entry(name string, most uint64) ([]byte, error) {
	f := s.files[name]
	if f == nil {
		return nil, fmt.Errorf("%s is not in it", name)
	}
	if f.UncompressedSize64 > most {
		return nil, fmt.Errorf("%s would be %d MiB, of at most %d", name, f.UncompressedSize64>>20, most>>20)
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data := make([]byte, min(f.UncompressedSize64, 1032*f.CompressedSize64)) // deflate's largest ratio
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, err
	}
	if _, err := r.Read(make([]byte, 1)); err != io.EOF { // the end compares the sums
		return nil, err
	}
	return data, nil
}

// window reads a file and keeps what it has read last, at two places: the small files of a session
// lie side by side, and in the page each read takes a tenth of a millisecond or more.
type window struct {
	file io.ReaderAt
	size int64

	lock   sync.Mutex
	pieces [2]piece // the one that was used last comes first
}

type piece struct {
	at   int64
	data []byte
}

func (p *piece) end() int64 { return p.at + int64(len(p.data)) }

const (
	ahead = 1 << 20 // bytes of a piece that goes on where another ends
	fresh = 1 << 16 // and of one elsewhere; as many bytes are read past the window
)

// ReadAt reads at an offset.
func (w *window) ReadAt(p []byte, at int64) (int, error) {
	if len(p) >= fresh || at >= w.size {
		return w.file.ReadAt(p, at)
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	end := min(at+int64(len(p)), w.size)
	if last := &w.pieces[1]; last.at <= at && at <= last.end()+fresh {
		w.pieces[0], w.pieces[1] = w.pieces[1], w.pieces[0]
	}
	one := &w.pieces[0]
	if at < one.at || at > one.end()+fresh {
		w.pieces[1] = *one
		*one = piece{at: at}
	}
	if end > one.end() {
		n := int64(ahead)
		if len(one.data) == 0 {
			n = fresh
		}
		data := make([]byte, min(n, w.size-at))
		if _, err := w.file.ReadAt(data, at); err != nil && err != io.EOF {
			return 0, err
		}
		*one = piece{at, data}
	}
	n := copy(p, one.data[at-one.at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
