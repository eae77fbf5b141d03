package journal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/segment"
	"mrprism/weights/disk"
)

// Slice is the item of slice n of a series of several slices: it has the files that hold one slice.
func (i Item) Slice(n, slices int) Item { return i.part(false).Picture(n, slices) }

// WriteSeries writes the files that hold all slices of a series, and then its entry, as Write does.
// slices are the entries of its slices, which have been added to the solid, in their order.
func (r *Run) WriteSeries(ctx context.Context, it Item, solid *masks.Solid, slices []*Entry) (*Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	it = it.part(true)
	var files staged
	var withheld []string
	defer files.discard()
	sums := map[string]disk.Sum{}
	for _, f := range it.Files {
		by, classes := r.Readers[f.Reader], []int(nil)
		for c := range r.Session.Model.Metadata.Classes {
			if (f.Class < 0 || f.Class == c) && solid.Has(f.Reader, c) {
				classes = append(classes, c)
			}
		}
		if len(classes) == 0 {
			withheld = append(withheld, f.Path)
			continue
		}
		content, err := solid.Write(f.Format, masks.Drawing{By: by.By, Model: r.Session.Model, Day: r.Day, Identity: r.Identity}, f.Reader, classes)
		if err == nil {
			sums[f.Path] = disk.SumOf(content)
			err = files.add(f.Path, content)
		}
		if err != nil {
			return nil, err
		}
	}
	e := r.series(it, solid, slices)
	e.Files = r.files(it, e.Classes, sums)
	return e, files.finish(it, e, withheld)
}

// series is the entry of a series without its files. Its doubts count slices.
func (r *Run) series(it Item, solid *masks.Solid, slices []*Entry) *Entry {
	e := *slices[0]
	e.Slice, e.Region, e.Sharpness = 0, imageio.Square{}, 0 // which its slices have
	e.Found, e.Doubt, e.Doubts, e.Times = false, nil, []segment.Doubt{}, map[string]float64{}
	e.Measurements = segment.Measurements{Structures: []segment.Structure{}, Spacing: e.Measurements.Spacing}
	e.Volumes, e.Date = solid.Measure(), time.Now().UTC().Format(time.RFC3339)
	var texts []segment.Doubt
	count := map[segment.Doubt]int{}
	for _, one := range slices {
		e.Found = e.Found || one.Found
		if one.Doubt != nil && (e.Doubt == nil || *one.Doubt > *e.Doubt) {
			e.Doubt = one.Doubt
		}
		e.Times["total"] += one.Times["total"]
		for _, d := range one.Doubts {
			if count[d]++; count[d] == 1 {
				texts = append(texts, d)
			}
		}
	}
	for _, d := range texts {
		e.Doubts = append(e.Doubts, segment.Doubt{Code: d.Code, Text: fmt.Sprintf("In %d of %d slices: %s", count[d], e.Slices, d.Text)})
	}
	return &e
}

// slicesOf are the entries of a series' slices. The error says which one is not of its run.
func (r *Run) slicesOf(it Item, series *Entry) (all []*Entry, err error) {
	for _, place := range series.Volumes.Slices {
		slice := it.Slice(place.Slice, len(series.Volumes.Slices))
		e, err := r.Done(slice)
		switch {
		case err != nil:
			return nil, err
		case e == nil || e.Options != series.Options || e.Content != series.Content:
			return nil, fmt.Errorf("%q is gone, or of another run", slice.Entry)
		}
		all = append(all, e)
	}
	return all, nil
}

// Lines are the entries whose lines a table has of an entry that is done: of a series those of its
// slices, and its own.
func (r *Run) Lines(it Item, e *Entry) []*Entry {
	if e.Volumes == nil {
		return []*Entry{e}
	}
	all, _ := r.slicesOf(it, e) // Done has read them
	return slices.Concat(all, []*Entry{e})
}
