package importer

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/choice"
	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
	"mrprism/weights/disk"
)

func readFile(path string) ([]byte, error) {
	data, err := disk.ReadFile(path)
	return data, disk.Cause(err)
}

// readImage reads an image. Its errors do not name the file, since a Skip does.
func readImage(path string) (*imageio.Image, error) { return decoded(path, imageio.Decode) }

func decoded(path string, decode func(string, []byte) (*imageio.Image, error)) (*imageio.Image, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	m, err := decode(filepath.Base(path), data)
	if e, ok := errors.AsType[*imageio.Error](err); ok {
		return nil, errors.New(e.Problem)
	}
	return m, err
}

// readMask reads a mask, which must be as large as its photograph.
func readMask(path string, photograph *imageio.Image) (*imageio.Image, error) {
	m, err := decoded(path, imageio.DecodeMask)
	return m, fits(m, photograph, err)
}

// fits is an error if an image that was read is not as large as its photograph, or err.
func fits(m, photograph *imageio.Image, err error) error {
	if err == nil && (m.W != photograph.W || m.H != photograph.H) {
		err = fmt.Errorf("is %d×%d pixels, its photograph %d×%d", m.W, m.H, photograph.W, photograph.H)
	}
	return err
}

// files lists the files under a folder, sorted. It omits hidden files and those that macOS adds to
// archives.
func files(folder string) (paths []string, err error) {
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != folder && (strings.HasPrefix(e.Name(), ".") || e.Name() == "__MACOSX"):
			if e.IsDir() {
				return filepath.SkipDir
			}
		case !e.IsDir():
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}

// target is the data set being written. Until it is complete it lies in a hidden folder beside its
// final place.
type target struct {
	folder    string
	replace   bool
	temporary string
}

// newTarget refuses a destination that Run must not write to.
func newTarget(o *Options) (*target, error) {
	folder, err := filepath.Abs(o.Destination)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(o.Source); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; unpack it and name the folder", o.Source)
	}
	if within, err := filepath.Rel(folder, o.Source); err == nil && within != ".." && !strings.HasPrefix(within, ".."+string(filepath.Separator)) {
		return nil, fmt.Errorf("%s is the source, or holds it; name another folder to write", o.Destination)
	}
	if behind, err := filepath.EvalSymlinks(folder); err == nil {
		folder = behind // a link is not replaced, but what it names
	}
	existing, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &target{folder: folder}, nil
	case err != nil:
		return nil, err
	case len(existing) == 0:
	case !o.Force:
		return nil, choice.Errorf("%s is not empty; name a new folder, or give $force to replace it", o.Destination)
	case !slices.ContainsFunc(existing, func(e os.DirEntry) bool { return e.Name() == dataset.DescriptionFile }):
		return nil, choice.Errorf("%s is not a data set; $force replaces nothing else", o.Destination)
	}
	return &target{folder: folder, replace: true}, nil
}

func (t *target) begin() (err error) {
	parent, base := filepath.Split(t.folder)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	t.temporary, err = os.MkdirTemp(parent, "."+base+".import-*")
	return err
}

// write writes an image and its masks.
func (t *target) write(p picture, raters, classes []string) error {
	err := t.writeImage(filepath.Join("images", p.name+".png"), p.image)
	for m, masks := range p.masks {
		for k, mask := range masks {
			if mask != nil && err == nil {
				err = t.writeGrey(filepath.Join("raters", raters[m], classes[k], p.name+".png"), p.image.W, p.image.H, mask, 255)
			}
		}
	}
	return err
}

func (t *target) writeImage(name string, m *imageio.Image) error {
	rgba := image.NewNRGBA(image.Rect(0, 0, m.W, m.H))
	for i := range m.W * m.H {
		copy(rgba.Pix[4*i:], m.Pix[3*i:3*i+3])
		rgba.Pix[4*i+3] = 255
	}
	return dataset.WritePNG(t.temporary, name, rgba, png.BestSpeed)
}

// writeGrey writes values (h, w) times a factor.
func (t *target) writeGrey(name string, w, h int, values []uint8, factor uint8) error {
	grey := image.NewGray(image.Rect(0, 0, w, h))
	for i, v := range values {
		grey.Pix[i] = factor * v
	}
	return dataset.WritePNG(t.temporary, name, grey, png.DefaultCompression)
}

// writeTable writes a CSV of sorted lines, if there are any.
func (t *target) writeTable(name string, header []string, lines [][]string) error {
	if len(lines) == 0 {
		return nil
	}
	slices.SortFunc(lines, slices.Compare)
	var text bytes.Buffer
	err := csv.NewWriter(&text).WriteAll(append([][]string{header}, lines...))
	return errors.Join(err, disk.WriteFile(t.temporary, name, text.Bytes()))
}

// patientOf begins a group of which the rest is a Patient ID.
const patientOf = "patient "

// number replaces Patient IDs in groups, which no hash of them would hide, by numbers.
func number(groups [][]string) {
	slices.SortFunc(groups, slices.Compare)
	numbers := map[string]string{}
	for _, line := range groups {
		if id, of := strings.CutPrefix(line[1], patientOf); of {
			if numbers[id] == "" {
				numbers[id] = fmt.Sprintf("patient-%d", len(numbers)+1)
			}
			line[1] = numbers[id]
		}
	}
}

// finish describes the data set, opens it as training will, and moves it to its final place.
func (t *target) finish(s *Summary, l *listing) error {
	for _, rater := range s.Raters {
		for _, class := range s.Classes {
			if _, err := disk.Folder(t.temporary, filepath.Join("raters", rater, class)); err != nil {
				return err
			}
		}
	}
	if s.Split.Note != "" {
		if err := s.Split.Write(t.temporary); err != nil {
			return err
		}
	}
	number(s.groups)
	groups := map[string]string{}
	for _, line := range s.groups {
		groups[line[0]] = line[1]
	}
	for _, line := range l.readings {
		line[2] = groups[line[1]]
	}
	err := errors.Join(t.writeTable("marks.csv", []string{"name", "rater", "class", "origin", "decided"}, s.origins), t.writeTable(dataset.AffinesFile, []string{"name", "affine"}, s.affines),
		t.writeTable(dataset.GroupsFile, []string{"name", "group"}, s.groups), t.writeTable("readings.csv", l.readingsHeader(), l.readings))
	if err != nil {
		return err
	}
	description := dataset.Description{
		Name: s.Name, Classes: s.Classes, Raters: s.Raters, Images: s.Images, Source: l.source, Licence: "the terms of the source hold",
	}
	if err := description.Write(t.temporary); err != nil {
		return err
	}
	if _, err := dataset.Open(t.temporary); err != nil {
		return fmt.Errorf("the written folder is not a data set: %w", err)
	}
	return t.publish()
}

// publish moves what is written to its place.
func (t *target) publish() error {
	if err := os.Chmod(t.temporary, 0o755); err != nil {
		return err
	}
	old := t.temporary + ".old"
	if t.replace {
		if err := os.Rename(t.folder, old); err != nil {
			return err
		}
	}
	if err := os.Rename(t.temporary, t.folder); err != nil {
		if t.replace {
			err = errors.Join(err, os.Rename(old, t.folder))
		}
		return err
	}
	return os.RemoveAll(old)
}
