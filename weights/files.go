package weights

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mrprism/weights/disk"
)

// ReadFile reads a weights file of at most MaxFileBytes.
func ReadFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("weights: %s is a folder: name a .safetensors file in it. In the folder of a run this is NAME.safetensors or NAME.best.safetensors", path)
	}
	data, err := disk.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	return data, nil
}

// BuildManifest lists every NAME.safetensors of a folder, with its card NAME.md. It verifies each
// as a user's own file. NAME must be the model's name in its metadata.
func BuildManifest(folder string) (*Manifest, error) {
	m := &Manifest{Models: []Entry{}}
	var others []Entry
	paths, err := filepath.Glob(filepath.Join(folder, "*.safetensors")) // sorted
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		d, err := ReadDescribed(path)
		if err != nil {
			return nil, err
		}
		meta := &d.Metadata
		if file := filepath.Base(path); meta.Name != strings.TrimSuffix(file, ".safetensors") {
			return nil, fmt.Errorf("%s: the model is named %q in its metadata; name the file after it", path, meta.Name)
		}
		if d.Card == nil {
			_, lacks := NewCard("", d.Model)
			return nil, fmt.Errorf("%s has no model card; write %s.md beside it, or take that of train: %w", path, meta.Name, lacks)
		}
		if meta.Anchor != "" {
			m.Models = append(m.Models, d.entry(meta.Name))
		} else {
			others = append(others, d.entry(meta.Name))
		}
	}
	m.Models = append(m.Models, others...)
	return m, nil
}

// entry lists a model, whose file and card have a name.
func (d *Described) entry(name string) Entry {
	m := &d.Metadata
	return Entry{Name: name, File: name + ".safetensors", Bytes: len(d.Data), SHA256: d.SHA256, Title: m.Title, Configuration: m.Configuration,
		Raters: len(m.Raters), Classes: len(m.Classes), Side: m.Side, Card: name + ".md"}
}

// Served is the name of what Offer lists.
const Served = "served.json"

// Offer makes what a site offers beside the models that ship: for each file of weights
// NAME.safetensors and NAME.md, with the name that Model.Name gives, and Served, a JSON with these
// models, a list of Entry, and with archive, whether the site sends results to a DICOM archive. A
// model without a card gets a draft. No files give an empty list.
func Offer(paths []string, archive bool) (map[string][]byte, error) {
	files, list := map[string][]byte{}, []Entry{}
	for _, path := range paths {
		d, err := ReadDescribed(path)
		if err != nil {
			return nil, err
		}
		if d.Shipped || files[d.Name()+".md"] != nil {
			return nil, fmt.Errorf("%s is %s, which is there already: leave it out", path, d.Metadata.Name)
		}
		if d.Card == nil {
			d.Markdown = d.Metadata.Draft([][2]string{{"held out", "as the data say"}}, "## Scores\n\nNobody wrote down how good it is.\n",
				"Nobody wrote this model's card: it says what the file of the weights does.")
			if d.Card, err = NewCard(d.Markdown, d.Model); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		d.Served = true
		e := d.entry(d.Name())
		e.Title, e.Served, e.Limits = d.Label(), true, d.Card.Limits()
		list, files[e.File], files[e.Card] = append(list, e), d.Data, []byte(d.Markdown)
	}
	files[Served] = []byte(asJSON(map[string]any{"models": list, "archive": archive}))
	return files, nil
}

// ErrUnsynced means that WriteAtomic put the new file in its place, whole, but could not force the
// folder to disk.
var ErrUnsynced = errors.New("may not survive a power cut")

// WriteAtomic replaces the file at path, which must not be a link, or leaves the old one unchanged.
// The bytes that write writes go to a temporary file in the same folder.
// WriteAtomic forces them to disk, reads them back, compares their SHA-256, gives the file its name
// and forces the folder to disk. A program that is killed leaves the old file or the new one, never
// a part, and perhaps a hidden temporary file that the next successful write to the path removes.
// Only one writer per path at a time is allowed. After ErrUnsynced the path has the new file, after
// any other error the old one.
func WriteAtomic(path string, write func(io.Writer) error) error {
	staged, err := Stage(path, write)
	if err != nil {
		return err
	}
	return staged.Commit()
}

// WriteFile is WriteAtomic of bytes.
func WriteFile(path string, data []byte) error {
	return WriteAtomic(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Staged is a whole file on the disk under a temporary name.
type Staged struct{ path, temporary string }

// Stage is the first half of WriteAtomic, for files that change together: Commit gives the file its
// name, Discard removes it.
func Stage(path string, write func(io.Writer) error) (*Staged, error) {
	if err := disk.CheckFile(path); err != nil {
		return nil, err
	}
	s := &Staged{path: path}
	if err := s.fill(write); err != nil {
		return nil, s.unchanged(err)
	}
	return s, nil
}

func (s *Staged) unchanged(err error) error {
	return fmt.Errorf("cannot write %s, what was there is unchanged: %w", s.path, err)
}

// Commit gives the file its name, or removes it if that fails.
func (s *Staged) Commit() error {
	if err := disk.Move(s.temporary, s.path); err != nil {
		s.Discard()
		return s.unchanged(err)
	}
	removeLeftovers(s.path)
	if err := disk.SyncName(s.path); err != nil {
		return fmt.Errorf("%s is written, but %w: %w", s.path, ErrUnsynced, err)
	}
	return nil
}

// Discard removes the temporary file; after Commit there is none.
func (s *Staged) Discard() { os.Remove(s.temporary) }

// fill writes a temporary file and checks it. If that fails, fill removes the file.
func (s *Staged) fill(write func(io.Writer) error) (err error) {
	temporary, err := disk.CreateTemp(filepath.Dir(filepath.Clean(s.path)), temporaryPrefix(s.path)+"*"+temporarySuffix)
	if err != nil {
		return err
	}
	s.temporary = temporary.Name()
	defer func() {
		if err != nil {
			temporary.Close()
			s.Discard()
		}
	}()
	written := sha256.New()
	buffer := bufio.NewWriterSize(io.MultiWriter(temporary, written), 1<<16)
	for _, step := range []func() error{
		func() error { return write(buffer) },
		buffer.Flush,
		temporary.Sync,
		temporary.Close,
		func() error { return sameContent(s.temporary, written.Sum(nil)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// sameContent reads the file back and compares its SHA-256.
func sameContent(path string, want []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	read := sha256.New()
	if _, err := io.Copy(read, f); err != nil {
		return err
	}
	if !bytes.Equal(read.Sum(nil), want) {
		return errors.New("the bytes read back differ from those written; the disk is failing or full")
	}
	return nil
}

const temporarySuffix = ".tmp"

// temporaryPrefix is the beginning of the names of a file's temporary files. It contains the file's
// name, or a sum of the name if that is long: file systems limit the length.
func temporaryPrefix(path string) string {
	const most = 100 // bytes
	base := filepath.Base(path)
	if len(base) > most {
		base = fmt.Sprintf("%x", sha256.Sum256([]byte(base)))
	}
	return "." + base + "."
}

// removeLeftovers removes this path's temporary files of killed programs (".BASE.DIGITS.tmp"). A
// failure is harmless.
func removeLeftovers(path string) {
	folder := filepath.Dir(filepath.Clean(path))
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		middle, isOurs := strings.CutPrefix(e.Name(), temporaryPrefix(path))
		middle, isTemporary := strings.CutSuffix(middle, temporarySuffix)
		if isOurs && isTemporary && strings.Trim(middle, "0123456789") == "" {
			os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}
