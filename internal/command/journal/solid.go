package journal

import (
	"context"
	"fmt"
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
		content, err := f.Format.Joined()(solid, &masks.Drawing{By: by.By, Model: r.Session.Model, Day: r.Day, Identity: r.Identity}, f.Reader, classes)
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
	count := map[segment.Doubt]int{}
	for _, one := range slices {
		e.Found = e.Found || one.Found
		if one.Doubt != nil && (e.Doubt == nil || *one.Doubt > *e.Doubt) {
			e.Doubt = one.Doubt
		}
		e.Times["total"] += one.Times["total"]
		for _, d := range one.Doubts {
			if count[d]++; count[d] == 1 {
				e.Doubts = append(e.Doubts, d)
			}
		}
	}
	for i, d := range e.Doubts {
		e.Doubts[i].Text = fmt.Sprintf("In %d of %d slices: %s", count[d], e.Slices, d.Text)
	}
	return &e
}
