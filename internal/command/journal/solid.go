package journal

import (
	"context"
	"fmt"

	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/segment"
	"mrprism/weights/disk"
)

// Slice is the item of slice n of a series of several slices: it has the files that hold one slice.
func (i Item) Slice(n, slices int) Item { return i.part(false).Picture(n, slices) }

// WriteSeries writes the files that hold all slices of a series, and then its entry, as Write does.
// All slices have been added to the solid; last is a result of one, and slices are their entries.
func (r *Run) WriteSeries(ctx context.Context, it Item, solid *masks.Solid, last *segment.Result, slices []*Entry) (*Entry, error) {
	it = it.part(true)
	content := func(f File) ([]byte, error) {
		var classes []int
		for c := range last.Classes {
			if (f.Class < 0 || f.Class == c) && solid.Has(f.Reader, c) {
				classes = append(classes, c)
			}
		}
		if len(classes) == 0 {
			return nil, nil
		}
		return f.Format.Joined()(solid, r.drawing(f), f.Reader, classes)
	}
	return r.write(ctx, it, content, func(sums map[string]disk.Sum) *Entry { return r.entry(it, last, sums).ofSeries(solid, slices) })
}

// ofSeries makes the entry of a slice that of its series. It has the doubts of all, and counts
// them.
func (e *Entry) ofSeries(solid *masks.Solid, slices []*Entry) *Entry {
	e.Slice, e.Region, e.Sharpness, e.Quality = 0, imageio.Square{}, 0, nil // which its slices have
	e.Found, e.Doubt, e.Doubts, e.Times = false, nil, []segment.Doubt{}, map[string]float64{}
	e.Measurements = segment.Measurements{Structures: []segment.Structure{}, Spacing: e.Measurements.Spacing}
	e.Volumes = solid.Measure()
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
	return e
}
