// Package masks writes masks, probabilities and outlines in the formats that other programs read.
// The page and cmd/segment save all of their pictures through it.
package masks

import (
	"errors"
	"fmt"
	"image"
	"math"
	"slices"
	"strings"
	"time"

	"mrprism/internal/choice"
	"mrprism/internal/data/contour"
	"mrprism/internal/files/dicom"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"
	"mrprism/internal/files/tiff"
	"mrprism/internal/segment"
	"mrprism/weights"
)

// Consensus is the author of the fused masks.
const Consensus = "consensus"

// Structure is one structure in a picture.
type Structure struct {
	Name      string
	Levels    []uint8          // (H, W): probability × 255, where 128 and more is inside
	At        image.Rectangle  // what Levels are of; empty: of the picture. They are 0 beside it
	Map       func() []float32 // (H, W): the probability itself, made anew; nil: no more is known than Levels
	Corrected bool             // a person corrected it
}

// Drawing is the structures that somebody drew, or would draw, in a picture.
type Drawing struct {
	Picture    *imageio.Image // its file's properties; pixels are needed by formats with Pixels alone
	By         string         // Consensus, or for example "guess of rater1"
	Structures []Structure
	Model      *weights.Model
	Day        time.Time // written into a DICOM SEG
	Identity   bool      // a file of DICOM copies patient and study from its source

	// Of a DICOM SR: what the structures measure, why not to believe it, and the name or code of who
	// accepted it, if anybody did. nil: nobody measured.
	Figures *segment.Measurements
	Doubts  []segment.Doubt
	Person  string
	Shown   *imageio.Image // of a DICOM Secondary Capture: what a reader saw; nil: Picture with outlines
}

// Format is a form of file.
type Format struct {
	Name   string // for flags and messages
	Ending string // of the file's name
	About  string // for people
	Whole  bool   // one file holds all structures; otherwise cmd/segment writes one for each
	Once   bool   // the consensus alone has such a file, and no rater
	Pixels bool   // it shows the picture

	parts bool // write takes structures of parts
	write func(d *Drawing) ([]byte, error)
	check func(m *imageio.Image) error // why a picture cannot be saved so; nil: every picture can
}

// Formats are all formats, the page's first. The first of all is the default.
var Formats = append([]Format{
	{Name: "png", Ending: ".png", About: "probability, 8 bits", parts: true, write: png(false)},
	{Name: "png-mask", Ending: "_mask.png", About: "0 and 255", parts: true, write: png(true)},
	{Name: "tiff", Ending: ".tif", About: "probability, 8 bits", write: pages(false)},
	{Name: "tiff-mask", Ending: "_mask.tif", About: "0 and 255", write: pages(true)},
	{Name: "nifti", Ending: ".nii.gz", About: "probability, 0 to 1, in the space of a NIfTI or DICOM source", write: volumes(false)},
	{Name: "nifti-mask", Ending: "_mask.nii.gz", About: "0 and 1", write: volumes(true)},
	{Name: "dicom-seg", Ending: "_seg.dcm", About: "masks as a DICOM SEG of a DICOM source", Whole: true, write: segmentation(false), check: checkReference},
	{Name: "dicom-seg-fractional", Ending: "_seg_fractional.dcm", About: "probabilities as a DICOM SEG", Whole: true, write: segmentation(true), check: checkReference},
	{Name: "dicom-sr", Ending: "_sr.dcm", About: "figures as a DICOM SR, about the file of dicom-seg: write both", Whole: true, Once: true, write: report, check: checkReference},
	{Name: "dicom-sc", Ending: "_sc.dcm", About: "the picture with outlines, a DICOM capture", Whole: true, Once: true, Pixels: true, write: capture, check: checkReference},
	{Name: "svg", Ending: ".svg", About: "outlines, a path for each structure", Whole: true, write: svg},
	{Name: "geojson", Ending: ".geojson", About: "outlines as polygons, in pixels of the image", Whole: true, write: geojson},
}, Floats...)

// Find returns the format of a name.
func Find(name string) (Format, error) {
	return choice.Find("format", name, Formats, func(f Format) string { return f.Name })
}

// Parse reads a list of formats, separated by commas.
func Parse(text string) (all []Format, err error) {
	for name := range strings.SplitSeq(text, ",") {
		f, err := Find(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(other Format) bool { return other.Name == f.Name }) {
			all = append(all, f)
		}
	}
	return all, nil
}

// Names lists the formats.
func Names() string {
	var all []string
	for _, f := range Formats {
		all = append(all, f.Name)
	}
	return strings.Join(all, ", ")
}

// Check returns an error if masks of a picture cannot be saved so. It says why, and what to do.
func (f Format) Check(m *imageio.Image) error {
	if f.check == nil {
		return nil
	}
	return f.check(m)
}

// Write makes the file.
func (f Format) Write(d *Drawing) ([]byte, error) {
	if err := f.Check(d.Picture); err != nil {
		return nil, err
	}
	for i := range d.Structures {
		if !f.parts {
			d.Structures[i].spread(d.Picture.W, d.Picture.H)
		}
	}
	return f.write(d)
}

// spread makes the levels those of the picture.
func (s *Structure) spread(w, h int) {
	if s.At.Empty() {
		return
	}
	levels := make([]uint8, w*h)
	for y, across := 0, s.At.Dx(); y < s.At.Dy(); y++ {
		copy(levels[(s.At.Min.Y+y)*w+s.At.Min.X:], s.Levels[y*across:][:across])
	}
	s.Levels, s.At = levels, image.Rectangle{}
}

// Structures makes structures of maps (H, W) of probabilities.
func Structures(w, h int, names []string, maps [][]float32) ([]Structure, error) {
	var all []Structure
	for i, name := range names {
		levels, err := imageio.Levels(w, h, maps[i])
		if err != nil {
			return nil, err
		}
		all = append(all, Structure{Name: name, Levels: levels, Map: func() []float32 { return maps[i] }})
	}
	return all, nil
}

// Correct draws a person's correction on the structure: a level for each pixel, or unsaid where the
// person drew nothing.
func (s *Structure) Correct(drawn []uint8, unsaid uint8) error {
	if len(drawn) != len(s.Levels) {
		return fmt.Errorf("the correction of %s has %d pixels, and its map %d", s.Name, len(drawn), len(s.Levels))
	}
	for i, v := range drawn {
		if v != unsaid {
			s.Levels[i] = v
		}
	}
	if plain := s.Map; plain != nil {
		s.Map = func() []float32 {
			corrected := slices.Clone(plain())
			for i, v := range drawn {
				if v != unsaid {
					corrected[i] = float32(v) / 255
				}
			}
			return corrected
		}
	}
	s.Corrected = true
	return nil
}

// corrected reports whether a person corrected any structure.
func (d *Drawing) corrected() bool {
	return slices.ContainsFunc(d.Structures, func(s Structure) bool { return s.Corrected })
}

// masked replaces levels by 0 and 255.
func masked(levels []uint8) []uint8 {
	out := make([]uint8, len(levels))
	for i, v := range levels {
		if v >= 128 {
			out[i] = 255
		}
	}
	return out
}

// form is the structure's levels, or its mask.
func (s Structure) form(mask bool) []uint8 {
	if mask {
		return masked(s.Levels)
	}
	return s.Levels
}

// values are the probabilities, as precisely as they are known.
func (s Structure) values() []float32 {
	if s.Map != nil {
		return s.Map()
	}
	out := make([]float32, len(s.Levels))
	for i, v := range s.Levels {
		out[i] = float32(v) / 255
	}
	return out
}

// comment describes a structure in one line.
func (d *Drawing) comment(s Structure, mask bool) string {
	what := "probability of "
	if mask {
		what = "mask of "
	}
	line := "MrPrism: " + what + s.Name + ", " + d.By
	if s.Corrected {
		line += ", corrected by hand"
	}
	return line
}

func png(mask bool) func(d *Drawing) ([]byte, error) {
	return func(d *Drawing) ([]byte, error) {
		if len(d.Structures) != 1 {
			return nil, fmt.Errorf("a PNG holds one structure, not %d; save them one by one", len(d.Structures))
		}
		comment := ""
		if d.corrected() {
			comment = "corrected by hand"
		}
		s := d.Structures[0]
		return imageio.EncodeGrey(d.Picture.W, d.Picture.H, s.At, s.form(mask), comment), nil
	}
}

func pages(mask bool) func(d *Drawing) ([]byte, error) {
	return func(d *Drawing) ([]byte, error) {
		var all []tiff.Page
		for _, s := range d.Structures {
			all = append(all, tiff.Page{Name: s.Name, About: d.comment(s, mask), Levels: s.form(mask)})
		}
		return tiff.Encode(d.Picture.W, d.Picture.H, d.Picture.Spacing, all)
	}
}

func volumes(mask bool) func(d *Drawing) ([]byte, error) {
	return func(d *Drawing) ([]byte, error) {
		var names []string
		for _, s := range d.Structures {
			names = append(names, s.Name)
		}
		about := d.comment(Structure{Name: strings.Join(names, " "), Corrected: d.corrected()}, mask)
		var all [][]uint8
		place, w, h := (*nifti.Geometry)(nil), 0, 0
		for _, s := range d.Structures {
			var levels []uint8
			levels, place, w, h = Placed(d.Picture, s.Levels)
			all = append(all, levels)
		}
		return nifti.Encode(w, h, place, d.Picture.PixelSize(), about, all, mask)
	}
}

// Placed brings values (H, W) of a picture into the order of the slice of w × h pixels whose place
// in space is known from its file. If none is known, place is nil, and they stay as displayed.
func Placed[T any](p *imageio.Image, values []T) (ordered []T, place *nifti.Geometry, w, h int) {
	switch header := p.Header.(type) {
	case *nifti.Geometry:
		place = header
	case *dicom.Header:
		if right, down, through, origin, ok := header.Place(); ok {
			place = nifti.Scanner(right, down, through, origin)
		}
	}
	if w, h = p.W, p.H; place == nil {
		return values, nil, w, h
	} else if p.Orientation >= 5 {
		w, h = h, w
	}
	return imageio.Stored(p, values), place, w, h
}

// checkReference returns an error if no file of DICOM can refer to the picture's file.
func checkReference(m *imageio.Image) error {
	if h, ok := m.Header.(*dicom.Header); ok {
		return h.Check()
	}
	return errors.New("a file of DICOM refers to a DICOM image, and this is none; save the masks as NIfTI or TIFF")
}

func segmentation(fractional bool) func(d *Drawing) ([]byte, error) {
	return func(d *Drawing) ([]byte, error) { return d.segments(fractional).Encode() }
}

// segments are the structures as a DICOM SEG of the picture.
func (d *Drawing) segments(fractional bool) *dicom.Segmentation {
	s := d.segmentation(d.Picture.Header.(*dicom.Header), fractional)
	for _, one := range d.Structures {
		s.Segments = append(s.Segments, dicom.Segment{Name: one.Name, Levels: d.Picture.Stored(one.Levels), Corrected: one.Corrected})
	}
	return &s
}

// segmentation is one of a source, without segments.
func (d *Drawing) segmentation(source *dicom.Header, fractional bool) dicom.Segmentation {
	return dicom.Segmentation{Derived: d.derived(source), Fractional: fractional, By: d.By}
}

func (d *Drawing) derived(source *dicom.Header) dicom.Derived {
	m := d.Model
	return dicom.Derived{Source: source, Model: m.Label(), Serial: m.SHA256[:min(16, len(m.SHA256))], Version: m.Name(), Day: d.Day, Identity: d.Identity}
}

// figures are the outlines of the masks.
func (d *Drawing) figures() (all []contour.Figure) {
	const tolerance = 0.1 // pixels
	w, h := d.Picture.W, d.Picture.H
	for _, s := range d.Structures {
		lines := contour.Trace(s.values(), w, h, math.Nextafter32(.5, 1), tolerance) // one half is outside
		all = append(all, contour.Figure{Structure: s.Name, By: d.By, Corrected: s.Corrected, Lines: lines})
	}
	return all
}

func svg(d *Drawing) ([]byte, error) {
	return contour.SVG(d.Picture.W, d.Picture.H, d.figures()), nil
}

func geojson(d *Drawing) ([]byte, error) {
	return contour.GeoJSON(d.Picture.W, d.Picture.H, d.figures())
}

// capture is what a reader saw of the picture as a DICOM Secondary Capture.
func capture(d *Drawing) ([]byte, error) {
	shown := d.Shown
	if shown == nil {
		shown = &imageio.Image{W: d.Picture.W, H: d.Picture.H, Pix: d.outlined()}
	}
	if shown.Pix == nil {
		return nil, errors.New("the pixels of the picture are no longer in memory; save its outlines as SVG")
	}
	c := dicom.Capture{Derived: d.derived(d.Picture.Header.(*dicom.Header)), W: shown.W, H: shown.H, RGB: shown.Pix, About: "MrPrism: masks drawn on the image, " + d.By}
	return c.Encode()
}

// Document is a PDF about the picture as a DICOM Encapsulated PDF.
func Document(d *Drawing, pdf []byte) ([]byte, error) {
	if err := checkReference(d.Picture); err != nil {
		return nil, err
	}
	one := dicom.Document{Derived: d.derived(d.Picture.Header.(*dicom.Header)), Title: "MrPrism report, research use", PDF: pdf}
	return one.Encode()
}
