package segment

import (
	"slices"

	"mrprism/internal/data/metric"
	"mrprism/internal/data/roi"
	"mrprism/internal/trust"
	"mrprism/shaders/pulse"
)

// Measurements are those of the masks p > 0.5 at the image's size. A range, Low to High, holds the
// figures of the calibrated mask and of the raters or levels. The maps of raters are coarser than
// the mask, and all their figures may be larger, or smaller. Without heads there is no range.
type Measurements struct {
	Structures      []Structure `json:"structures"`                // in the order of the classes
	VerticalRatio   *Ratio      `json:"verticalRatio,omitempty"`   // nil without a disc
	HorizontalRatio *Ratio      `json:"horizontalRatio,omitempty"` // the same of widths
	Clinical
	// Spacing is the size of a pixel, mm across and down; nil: the file does not say.
	Spacing *[2]float64 `json:"spacing,omitempty"`
}

// Structure is the calibrated mask of one class.
type Structure struct {
	Class  string  `json:"class"`
	Area   int     `json:"area"`   // pixels
	Low    *int    `json:"low"`    // smallest area of the mask and the raters or levels; nil: the model has no heads
	High   *int    `json:"high"`   // largest
	Share  float64 `json:"share"`  // of the image's area, 0..1
	Height int     `json:"height"` // largest number of pixels in any one column
	Width  int     `json:"width"`  // largest number of pixels in any one row
	Pieces int     `json:"pieces"` // parts that do not touch, not even at a corner
	// Others is how many further objects seem to be in the picture, or in the region. The model marks
	// one object, and their masks are left out.
	Others int `json:"others,omitempty"`
	// Disagreement is the number of pixels about which two raters are expected to disagree; nil:
	// the model has no heads.
	Disagreement *float64       `json:"disagreement"`
	Interval     *Interval      `json:"interval,omitempty"` // of the area, pixels; nil: see Withheld
	Withheld     string         `json:"withheld,omitempty"` // why the area has no interval, a sentence
	Outlines     *Outlines      `json:"outlines,omitempty"` // nil: the weights do not know them
	Trust        *trust.Verdict `json:"trust,omitempty"`    // in the outline and its figures; nil: it is a person's
}

// Ratio is the height, or the width, of one structure over that of another. Its figures are nil if
// the calibrated mask has no inner structure: no mask is not a ratio of 0. The range of the inner
// structure then says what raters mark.
type Ratio struct {
	Inner    string         `json:"inner"`
	Outer    string         `json:"outer"`
	Value    *float64       `json:"value"`
	Low      *float64       `json:"low"` // of the mask, and of raters or levels that mark both structures
	High     *float64       `json:"high"`
	Interval *Interval      `json:"interval,omitempty"` // of the value, of a vertical ratio; nil: see Withheld
	Withheld string         `json:"withheld,omitempty"` // why the value has no interval, a sentence
	Trust    *trust.Verdict `json:"trust,omitempty"`    // nil: a person corrected it
	// Certified says on which camera the value was certified: Value, Low and High are then the
	// camera's, by the line of the certificate. nil: they are those of the masks.
	Certified *Certified `json:"certified,omitempty"`
}

// Interval holds the majority's figure in a share, Coverage, of images like those that it was
// learned from (trust.NewSpread). It always holds the figure that it belongs to: where the learned
// interval does not, it is widened to it. By a certificate it holds what a person marks in a share
// of new patients of the camera.
type Interval struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Coverage float64 `json:"coverage"`     // 0..1
	By       string  `json:"by,omitempty"` // ByCertificate; empty: the model
}

// ByCertificate is Interval.By of a certified ratio.
const ByCertificate = "certificate"

// sizes are the measurements of structures and ratios that readings tell.
func (r *Maps) sizes(readings []reading) (out Measurements) {
	calibrated, raters := readings[0].sizes, readings[1:]
	for c, class := range r.Classes {
		s := Structure{
			Class: class, Area: calibrated[c].Area, Height: calibrated[c].Height, Width: calibrated[c].Width,
			Share: float64(calibrated[c].Area) / (float64(r.Width) * float64(r.Height)),
		}
		if len(raters) > 0 {
			s.Low, s.High = new(s.Area), new(s.Area)
		}
		for i := range raters {
			*s.Low, *s.High = min(*s.Low, raters[i].sizes[c].Area), max(*s.High, raters[i].sizes[c].Area)
		}
		out.Structures = append(out.Structures, s)
	}
	out.VerticalRatio = r.ratio(calibrated, raters, func(e metric.Extent) int { return e.Height })
	out.HorizontalRatio = r.ratio(calibrated, raters, func(e metric.Extent) int { return e.Width })
	return out
}

// measurements are those of readings, and of the calibrated masks of the part within the region.
func (r *Maps) measurements(within *Maps, masks [][]float32, readings []reading) Measurements {
	out := r.sizes(readings)
	for c, mask := range masks {
		s := &out.Structures[c]
		if len(r.Raters) > 0 {
			s.Disagreement = new(float64)
			for _, p := range within.Disagreement(c) {
				*s.Disagreement += float64(p)
			}
		}
		pulse.Beat()
		if r.leftOut != nil {
			s.Others = r.leftOut[c]
		}
		s.Pieces = len(roi.Connected(len(mask), within.Width, true, func(i int) bool { return mask[i] > 0.5 }))
	}
	if size := r.Picture.PixelSize(); size[0] > 0 && size[1] > 0 {
		out.Spacing = &size
	}
	out.Clinical = r.clinical(&out, readings, Known{Eye: r.eyeBy.user})
	return out
}

// each are the maps of all classes.
func (r *Maps) each(of func(class int) []float32) (maps [][]float32) {
	for c := range r.Classes {
		maps = append(maps, of(c))
	}
	return maps
}

// Experts is the range, or without heads the figure of the mask itself.
func (s Structure) Experts() (low, high int) {
	if s.Low == nil {
		return s.Area, s.Area
	}
	return *s.Low, *s.High
}

// Experts is the range of a ratio with a value, or without heads the value itself.
func (r Ratio) Experts() (low, high float64) {
	if r.Low == nil {
		return *r.Value, *r.Value
	}
	return *r.Low, *r.High
}

// ratio is the cup-to-disc ratio of heights or widths. It is nil without a disc. It is also nil if no
// rater or level of those that the model predicts has the structures of the mask: the ratio would
// have no range.
func (r *Maps) ratio(calibrated []metric.Extent, raters []reading, size func(metric.Extent) int) *Ratio {
	outer, inner := metric.DiscAndCup(r.Classes)
	if outer < 0 || inner < 0 || calibrated[outer].Area == 0 {
		return nil
	}
	found := calibrated[inner].Area > 0
	of := func(e []metric.Extent) float64 { return float64(size(e[inner])) / float64(size(e[outer])) }
	over := []float64{of(calibrated)}
	for _, rater := range raters {
		if e := rater.sizes; e[outer].Area > 0 && (e[inner].Area > 0 || !found) {
			over = append(over, of(e))
		}
	}
	if len(over) == 1 && len(raters) > 0 {
		return nil
	}
	out := &Ratio{Inner: r.Classes[inner], Outer: r.Classes[outer]}
	if found {
		out.Value = new(over[0])
	}
	if found && len(raters) > 0 {
		out.Low, out.High = new(slices.Min(over)), new(slices.Max(over))
	}
	return out
}
