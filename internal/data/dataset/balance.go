package dataset

import (
	"math"
	"slices"

	"mrprism/internal/choice"
)

// thirds divides samples by the size of a class relative to the class before it, such as of a cup
// in its disc. Each third has a third of the range of sizes. A third without samples is left out.
// The error names a sample that has no such size.
func (d *Dataset) thirds(samples []*Sample, class string) ([][]*Sample, error) {
	k := slices.Index(d.Classes, class)
	if k < 1 {
		return nil, choice.Errorf("$balance %s: name a class behind another one of %v, inside which it lies", class, d.Classes)
	}
	sizes := make([]float64, len(samples))
	for i, it := range samples {
		if sizes[i] = math.Sqrt(it.share(k, len(d.Classes)) / it.share(k-1, len(d.Classes))); !(sizes[i] < math.Inf(1)) { // also NaN
			return nil, choice.Errorf("$balance %s: %s/%s has no marks of the %s or the %s; give the folder of such images by $also, or leave $balance out",
				class, it.Folder, it.Name, class, d.Classes[k-1])
		}
	}
	least, most := slices.Min(sizes), slices.Max(sizes)
	third := make([][]*Sample, 3)
	for i, it := range samples {
		n := int(3 * (sizes[i] - least) / max(most-least, 1e-9))
		third[min(n, 2)] = append(third[min(n, 2)], it)
	}
	return slices.DeleteFunc(third, func(samples []*Sample) bool { return len(samples) == 0 }), nil
}

// share is the mean share of the image that raters marked as class k; NaN if nobody gave a mask.
func (it *Sample) share(k, classes int) float64 {
	inside, all := it.Marked(k, classes)
	return inside / all
}
