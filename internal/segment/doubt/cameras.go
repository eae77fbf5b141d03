package doubt

import (
	"context"
	"maps"
	"slices"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/segment"
	"mrprism/internal/trust"
	"mrprism/weights"
)

// cameraParts is the number of parts, one of which is set aside at a time. fewest is the least
// number of photographs of another camera.
const (
	cameraParts = 10
	fewest      = 8
)

// photographs learns the cameras of structures that only some of the data sets mark, and
// trust.Mirror of the images that mark a cup. Only a model that searches whole photographs tells
// cameras apart.
func (l *Learner) photographs(ctx context.Context, e *segment.Engine) (cameras []weights.Camera, mirror float64, err error) {
	if l.anchor == "" {
		return nil, 0, nil
	}
	var apart []float64
	seen, parts := map[string]*trust.Photographs{}, dataset.Folds(l.Cases, cameraParts)
	_, inner := metric.DiscAndCup(e.Metadata().Classes)
	err = l.each(ctx, e, false, func(int) bool { return true }, func(i int, _ *dataset.Loaded, r *segment.Result) {
		if figure, ok := r.Figures[trust.Mirror]; ok && l.marks(i, inner) {
			apart = append(apart, figure)
		}
		if r.Photograph == nil {
			return
		}
		folder := l.Cases[i].Folder
		if seen[folder] == nil {
			seen[folder] = &trust.Photographs{Name: folder}
		}
		p := seen[folder]
		p.Looks, p.Parts = append(p.Looks, r.Photograph), append(p.Parts, parts[i])
	})
	if err != nil {
		return nil, 0, err
	}
	return l.cameras(e.Metadata().Classes, seen), trust.NewMirror(apart), nil
}

// cameras tells the data sets that mark a structure apart from those that mark none such.
func (l *Learner) cameras(classes []string, seen map[string]*trust.Photographs) (cameras []weights.Camera) {
	marked := map[string][]string{} // by data set, the structures
	for k, class := range classes {
		var by []string
		for i, c := range l.Cases {
			if l.marks(i, k) && !slices.Contains(by, c.Folder) {
				by = append(by, c.Folder)
			}
		}
		if slices.ContainsFunc(l.Cases, func(c dataset.Case) bool { return !slices.Contains(by, c.Folder) }) {
			for _, folder := range by {
				marked[folder] = append(marked[folder], class)
			}
		}
	}
	var others []trust.Photographs
	for _, folder := range slices.Sorted(maps.Keys(seen)) {
		if marked[folder] == nil && len(seen[folder].Looks) >= fewest {
			others = append(others, *seen[folder])
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(seen)) {
		if marked[folder] == nil {
			continue
		}
		if camera, ok := trust.NewCamera(*seen[folder], others); ok {
			camera.Classes = marked[folder]
			cameras = append(cameras, camera)
		}
	}
	return cameras
}

// A camera's ratios are trusted if a share, mostly, of them lies within tolerable of the experts'.
const mostly, tolerable = 0.9, 0.1

// unsure says whether too many of a camera's ratios are wrong in the runs that had set its
// photographs aside.
func (l *Learner) unsure(c weights.Camera) bool {
	held, near := 0., 0.
	for _, r := range l.ratios {
		if r.Camera == c.Name {
			if held++; r.Error <= tolerable {
				near++
			}
		}
	}
	return near < mostly*held
}

// marks says whether somebody marked class k of case i.
func (l *Learner) marks(i, k int) bool {
	return slices.ContainsFunc(l.Cases[i].Masks, func(row []string) bool { return row[k] != "" })
}
