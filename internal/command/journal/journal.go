// Package journal writes the files of segmented images. The last file of an image is its entry, a
// JSON that says what was made, how, and with which sums: by it a later run knows that the image is
// done. Programs segment and batch share it.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/output/sheet"
	"mrprism/internal/program/version"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/weights/disk"
)

// Run is what all images of a run have in common.
type Run struct {
	Program  string // that makes the files
	Session  segment.Session
	Weights  string // as the user named them
	Options  segment.Options
	Slice    int // of the files, from 1; 0: as imageio.DecodeSlice chooses; All
	Readers  []masks.Reader
	Identity bool      // a DICOM SEG keeps the patient's
	Day      time.Time // of the run
}

// All as Run.Slice is each slice, and the series that they make.
const All = -1

// Entry is what was made of an image. Its fields have the names of the page's JSON.
type Entry struct {
	Image        string               `json:"image"`
	Content      string               `json:"image_sha256,omitempty"` // of the image's file; empty in entries of earlier versions
	Width        int                  `json:"width"`
	Height       int                  `json:"height"`
	Slice        int                  `json:"slice,omitempty"`  // the picture of the file, from 1, if it has several
	Slices       int                  `json:"slices,omitempty"` // how many it has
	Model        string               `json:"model"`
	Weights      Origin               `json:"weights"`
	Classes      []string             `json:"classes"`
	Raters       []string             `json:"raters"`              // empty, not null, without heads
	NoRaters     string               `json:"no_raters,omitempty"` // why
	Labels       string               `json:"labels"`
	Region       imageio.Square       `json:"region"`
	Requested    string               `json:"requested_region"`
	Recurrences  int                  `json:"recurrences"`
	Evidence     []Mark               `json:"evidence,omitempty"`
	Measurements segment.Measurements `json:"measurements"`
	Volumes      *masks.Volumes       `json:"volumes,omitempty"` // of a series; its slices have entries of their own
	Device       string               `json:"device"`
	Why          string               `json:"device_why,omitempty"` // of auto: "3.1 times as fast as llvmpipe here"
	Precision    model.Precision      `json:"precision"`
	Found        bool                 `json:"found"`
	Doubts       []segment.Doubt      `json:"doubts"` // empty, not null, without doubts
	Doubt        *float64             `json:"doubt"`  // null if the weights cannot tell
	Sharpness    float64              `json:"sharpness"`
	Quality      *segment.Quality     `json:"quality,omitempty"` // of a photograph that the model searched
	Times        map[string]float64   `json:"times_ms"`
	Program      string               `json:"program"`
	Date         string               `json:"date"`    // of the run, RFC 3339
	Options      string               `json:"options"` // of the run; empty in entries of segment's earlier versions
	Files        Files                `json:"files"`
	Seal         string               `json:"entry_sha256,omitempty"` // see Text

	// Earlier and Masks are what an entry of an earlier version of batch has in place of the figures
	// and of Files: the sums by what follows "KEY_" in the files' names.
	Earlier *sheet.Result       `json:"result,omitempty"`
	Masks   map[string]disk.Sum `json:"masks,omitempty"`

	parts []*Entry // of a series that Done returns, those of its slices
}

// Origin names the weights.
type Origin struct {
	Given  string `json:"given"` // on the command line
	Title  string `json:"title"`
	SHA256 string `json:"sha256"`
	Ours   bool   `json:"shipped"`
}

// Files are the names of the files in one folder: the PNGs of probabilities by class, by class and
// rater, and with marks of the raters who have not marked, by class; and all files.
type Files struct {
	Probability map[string]string   `json:"probability,omitempty"`
	Raters      map[string][]string `json:"raters,omitempty"`
	Others      map[string]string   `json:"others,omitempty"`
	All         []Saved             `json:"all"`
}

// Saved is one file.
type Saved struct {
	File      string `json:"file"`
	Format    string `json:"format"`
	By        string `json:"by"`
	Structure string `json:"structure,omitempty"` // of all, if left out
	disk.Sum
}

// Mark is a file of evidence.
type Mark struct {
	Rater string `json:"rater"`
	Class string `json:"class"`
	File  string `json:"file"`
}

// Asked is what a run asks for an image: results of other weights or of other texts are others.
func (r *Run) Asked(marks []Mark) string {
	asked := []string{"roi=" + r.Options.ROI, fmt.Sprintf("precision=%s", r.Session.Precision), "slice=" + strconv.Itoa(r.Slice)}
	if r.Slice == All {
		asked[2] = "slice=all"
	}
	if slices.ContainsFunc(r.Readers, func(by masks.Reader) bool { return by.Outline }) {
		asked = append(asked, "outlines")
	}
	if r.Options.Eye != "" {
		asked = append(asked, "eye="+r.Options.Eye)
	}
	if r.Options.Recurrences != segment.Trained {
		asked = append(asked, fmt.Sprintf("recurrences=%d", r.Options.Recurrences))
	}
	if r.Identity {
		asked = append(asked, "identity")
	}
	for _, m := range marks {
		asked = append(asked, fmt.Sprintf("evidence=%s/%s=%s", m.Rater, m.Class, m.File))
	}
	return strings.Join(asked, " ")
}

func (r *Run) source() string { return r.Program + " " + version.Source() }

// Record is the table's line of an image that has no result.
func (r *Run) Record(it Item) sheet.Record {
	about := &r.Session.Model.Metadata
	return sheet.Record{Image: it.Image, Slice: r.Slice, Program: r.source(), Options: r.Asked(it.Marks), Classes: about.Classes, Raters: segment.Heads(about)}
}

// entry describes a result and its files, whose sums are known.
func (r *Run) entry(it Item, v *segment.Result, sums map[string]disk.Sum) *Entry {
	m := r.Session.Model
	e := &Entry{
		Image: imageio.Valid(it.Image), Content: it.Content, Width: v.Width, Height: v.Height, Model: m.Name(),
		Weights: Origin{r.Weights, m.Label(), m.SHA256, m.Shipped},
		Classes: v.Classes, Raters: v.Raters, NoRaters: segment.Headless(&m.Metadata), Labels: v.Labels, Region: v.ROI, Requested: r.Options.ROI,
		Recurrences: v.Recurrences, Evidence: it.Marks, Measurements: v.Measurements, Device: v.Adapter, Why: v.Why, Precision: v.Precision,
		Found: v.Found, Doubts: append([]segment.Doubt{}, v.Doubts...), Doubt: v.Doubt, Sharpness: v.Sharpness, Quality: v.Quality, Times: v.Timings,
		Program: r.source(), Date: r.Day.UTC().Format(time.RFC3339), Options: r.Asked(it.Marks),
		Files: Files{Probability: map[string]string{}, Raters: map[string][]string{}, Others: map[string]string{}, All: []Saved{}},
	}
	if v.Picture.Slices > 1 {
		e.Slice, e.Slices = v.Picture.Slice, v.Picture.Slices
	}
	for _, out := range it.Files {
		sum, written := sums[out.Path]
		if !written {
			continue
		}
		name, by := filepath.Base(out.Path), r.Readers[out.Reader]
		one := Saved{File: name, Format: out.Format.Name, By: by.By, Sum: sum}
		if out.Class >= 0 {
			one.Structure = v.Classes[out.Class]
		}
		e.Files.All = append(e.Files.All, one)
		switch {
		case out.Format.Name != masks.Formats[0].Name, by.Outline:
		case out.Reader == 0:
			e.Files.Probability[one.Structure] = name
		case out.Reader <= len(v.Raters):
			e.Files.Raters[one.Structure] = append(e.Files.Raters[one.Structure], name)
		default:
			e.Files.Others[one.Structure] = name
		}
	}
	return e
}

// All are the entries whose lines a table has: of a series those of its slices, and its own.
func (e *Entry) All() []*Entry { return append(slices.Clone(e.parts), e) }

// Record is the table's line of the entry.
func (e *Entry) Record() sheet.Record {
	by := "found"
	switch {
	case e.Volumes != nil:
		by = ""
	case e.Region == imageio.Letterbox(e.Width, e.Height):
		by = "whole image"
	case e.Requested != "auto":
		by = "by hand"
	}
	result := &sheet.Result{
		Width: e.Width, Height: e.Height, Model: e.Model, SHA256: e.Weights.SHA256, Recurrences: e.Recurrences, Region: e.Region, RegionBy: by,
		Device: e.Device, Precision: string(e.Precision), Found: e.Found, Doubt: e.Doubt, Doubts: e.Doubts, Quality: e.Quality, Measurements: e.Measurements,
	}
	if e.Earlier != nil {
		result = e.Earlier
	}
	return sheet.Record{
		Image: e.Image, Slice: e.Slice, Slices: e.Slices, Program: e.Program, Date: e.Date, Options: e.Options, Classes: e.Classes, Raters: e.Raters, Result: result, Volumes: e.Volumes,
	}
}

// Read reads an entry.
func Read(path string) (*Entry, error) {
	data, err := os.ReadFile(path)
	e := new(Entry)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q: %w", path, disk.Cause(err))
	case json.Unmarshal(data, e) != nil:
		return nil, fmt.Errorf("%q is cut or damaged", path)
	}
	if e.Earlier != nil {
		e.Weights.SHA256 = e.Earlier.SHA256
	}
	return e, nil
}

// Done returns the entry of an image that is done: it is by these weights, and its files are as
// they were written. It is nil if there is none. The error says why an image that has one is to be
// segmented again.
func (r *Run) Done(it Item) (*Entry, error) {
	e, err := Read(it.Entry)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if e.Weights.SHA256 != r.Session.Model.SHA256 {
		return nil, fmt.Errorf("%q is of other weights", it.Entry)
	}
	if e.Volumes != nil {
		for _, place := range e.Volumes.Slices {
			slice := it.Slice(place.Slice, e.Slices)
			one, err := r.Done(slice)
			if err != nil {
				return nil, err
			}
			if one == nil || one.Options != e.Options || one.Content != e.Content {
				return nil, fmt.Errorf("%q is gone, or of another run", slice.Entry)
			}
			e.parts = append(e.parts, one)
		}
		it = it.part(true)
	}
	for _, f := range it.Files {
		name, by, class := filepath.Base(f.Path), r.Readers[f.Reader], ""
		if f.Class >= 0 {
			class = r.Session.Model.Metadata.Classes[f.Class]
		}
		sum := e.Masks[strings.TrimPrefix(name, filepath.Base(it.stem)+"_")]
		for _, one := range e.Files.All {
			if one.File == name || one.Format == f.Format.Name && one.By == by.By && one.Structure == class {
				name, sum = one.File, one.Sum // an earlier version numbered the raters
			}
		}
		withheld := by.Outline && sum == disk.Sum{}
		if err := sum.Check(filepath.Join(filepath.Dir(f.Path), name)); err != nil && !withheld {
			return nil, err
		}
	}
	return e, nil
}

// Doubter says why images are segmented again. Of an earlier version that kept no sums there may be
// very many results, and it says so once.
type Doubter struct {
	Note func(string)
	sums bool // it has said that there are none
}

// Say says why an image is segmented again.
func (d *Doubter) Say(image string, why error) {
	switch {
	case !errors.Is(why, disk.ErrNoSum):
		d.Note(fmt.Sprintf("%v: %q is segmented again", why, image))
	case !d.sums:
		d.sums = true
		d.Note("an earlier version kept no sums of its files: their images are segmented again")
	}
}
