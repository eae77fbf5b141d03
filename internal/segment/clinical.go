package segment

import (
	"cmp"
	"math"
	"slices"

	"mrprism/internal/data/metric"
	"mrprism/shaders/pulse"
)

// Clinical are the figures that clinicians read beside the vertical ratio. Low to High is the range
// over the model's mask and the raters or levels that mark disc and cup. It is no learned interval,
// and nil without heads. Without a ratio there are no figures, and without a cup there is Eye
// alone.
type Clinical struct {
	// Rim is the width of the rim between cup and disc, pixels, at each hour of a clock face from
	// twelve on, clockwise as displayed (metric.Rim).
	Rim          *[metric.Hours]float64 `json:"rim,omitempty"`
	RimLow       *[metric.Hours]float64 `json:"rimLow,omitempty"`
	RimHigh      *[metric.Hours]float64 `json:"rimHigh,omitempty"`
	NarrowestRim *NarrowestRim          `json:"narrowestRim,omitempty"`
	Eye          *Eye                   `json:"eye,omitempty"`
	ISNT         *ISNT                  `json:"isnt,omitempty"` // nil where the eye is not known
	DDLS         *DDLS                  `json:"ddls,omitempty"`
}

// NarrowestRim is the least ratio of the rim's width to the disc's diameter in the same direction.
type NarrowestRim struct {
	Value  float64  `json:"value"` // 0..1
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Hour   int      `json:"hour"`   // where it is, 1..12
	Absent float64  `json:"absent"` // degrees of the circle without a rim
}

// ISNT are the widths of the rim, pixels, at the hours 6, 12, and 3 and 9. In many healthy eyes the
// rim is widest inferior, then superior, nasal and temporal (Jonas et al. 1988; Harizman et al.
// 2006).
type ISNT struct {
	Inferior float64 `json:"inferior"`
	Superior float64 `json:"superior"`
	Nasal    float64 `json:"nasal"`
	Temporal float64 `json:"temporal"`
	Holds    bool    `json:"holds"` // I ≥ S ≥ N ≥ T
	// Agree is the number of raters or levels that say the same of Holds, of those with a rim, Of.
	Agree int `json:"agree"`
	Of    int `json:"of"` // 0 without heads
}

// DDLS is the stage on the disc damage likelihood scale (Spaeth et al. 2002; Bayer et al. 2002).
type DDLS struct {
	Stage    *int   `json:"stage"` // 1..10; nil: withheld
	Low      *int   `json:"low"`
	High     *int   `json:"high"`
	Size     string `json:"size,omitempty"`     // of the disc: small, average or large
	Withheld string `json:"withheld,omitempty"` // why there is no stage
}

// NoScale is why a stage is withheld.
const NoScale = "There is no scale in millimetres."

// Known is what a person knows of a result.
type Known struct {
	Eye     string         // Right or Left; empty: nothing
	Spacing *[2]float64    // mm a pixel, across and down; nil: as the file says
	Drawn   map[int][]byte // by class, what they drew on the mask of the whole image, as Evidence.Mask
}

// reading is what is read of the masks of the calibrated map, of a rater or of a level.
type reading struct {
	sizes []metric.Extent // by class
	rim   metric.Rim
	isRim bool // it has one, and not the disc's centre alone
}

// read reads masks of the maps' size, one for each class.
func (r *Maps) read(masks [][]float32) (out reading) {
	for _, mask := range masks {
		pulse.Beat()
		out.sizes = append(out.sizes, metric.ExtentOf(mask, r.Width, r.Height))
	}
	if disc, cup := metric.DiscAndCup(r.Classes); disc >= 0 && cup >= 0 {
		out.rim, out.isRim = metric.RimOf(masks[disc], masks[cup], r.Width, r.Height)
	}
	return out
}

// drawn are the calibrated masks with what a person drew on them.
func (r *Maps) drawn(on map[int][]byte) [][]float32 {
	return r.each(func(c int) []float32 {
		mask := r.Probability(c)
		for i, v := range on[c] {
			if v != Unsaid {
				mask[i] = float32(v) / 255
			}
		}
		return mask
	})
}

// Clinical are the figures with what a person knows. Ranges stay those of the model.
func (r *Result) Clinical(known Known) Clinical {
	return r.clinical(&r.Measurements, r.readings, known)
}

// Corrected are the measurements with what a person knows. Of what they drew there is neither range
// nor interval, and trust in a ratio is that in the mask that nobody drew.
func (r *Result) Corrected(known Known) Measurements {
	m := r.Measurements
	m.Clinical = r.Clinical(known)
	if len(known.Drawn) == 0 {
		return m
	}
	own := r.read(r.drawn(known.Drawn)).sizes
	m.Structures = slices.Clone(m.Structures)
	for c := range known.Drawn {
		e := own[c]
		m.Structures[c] = Structure{Class: r.Classes[c], Area: e.Area, Height: e.Height, Width: e.Width, Share: float64(e.Area) / float64(r.Width*r.Height)}
	}
	outer, inner := metric.DiscAndCup(r.Classes)
	if m.VerticalRatio == nil || known.Drawn[outer] == nil && known.Drawn[inner] == nil {
		return m
	}
	m.VerticalRatio = r.ratio(own, nil, func(e metric.Extent) int { return e.Height })
	m.HorizontalRatio = r.ratio(own, nil, func(e metric.Extent) int { return e.Width })
	for _, ratio := range []*Ratio{m.VerticalRatio, m.HorizontalRatio} {
		if ratio != nil { // there still is a disc
			ratio.Trust = cmp.Or(m.Structures[outer].Trust, m.Structures[inner].Trust)
		}
	}
	return m
}

func (r *Maps) clinical(m *Measurements, readings []reading, known Known) (out Clinical) {
	disc, _ := metric.DiscAndCup(r.Classes)
	if m.VerticalRatio == nil {
		return out
	}
	own := readings[0]
	out.Eye = r.eye(known.Eye, own)
	if len(known.Drawn) > 0 {
		own = r.read(r.drawn(known.Drawn))
	}
	if !own.isRim {
		return out
	}
	out.Rim, out.NarrowestRim = &own.rim.Hours, &NarrowestRim{Value: own.rim.Narrowest, Hour: own.rim.At, Absent: own.rim.Absent}
	if own.rim.At == 0 {
		out.NarrowestRim.Hour = metric.Hours
	}
	if out.Eye.Side != "" {
		out.ISNT = isnt(own.rim, out.Eye.Side)
	}
	spacing := known.Spacing
	if spacing == nil {
		spacing = m.Spacing
	}
	size := func(one reading) int { return sizeOf(float64(one.sizes[disc].Height) * spacing[1]) }
	stage := func(one reading) int { return ddls(one.rim, size(one)) }
	if out.DDLS = (&DDLS{Withheld: NoScale}); spacing != nil {
		out.DDLS = &DDLS{Stage: new(stage(own)), Size: sizes[size(own)]}
	}
	if len(r.Raters) > 0 {
		out.spread(readings, stage)
	}
	return out
}

// spread adds the ranges over the readings of the model's mask and its raters that have a rim.
func (out *Clinical) spread(readings []reading, stage func(reading) int) {
	var all []reading
	for i, one := range readings {
		if !one.isRim {
			continue
		}
		all = append(all, one)
		if i > 0 && out.ISNT != nil {
			out.ISNT.Of++
			if isnt(one.rim, out.Eye.Side).Holds == out.ISNT.Holds {
				out.ISNT.Agree++
			}
		}
	}
	if len(all) == 0 {
		return
	}
	out.RimLow, out.RimHigh = new(all[0].rim.Hours), new(all[0].rim.Hours)
	for _, one := range all {
		for hour, width := range one.rim.Hours {
			out.RimLow[hour], out.RimHigh[hour] = min(out.RimLow[hour], width), max(out.RimHigh[hour], width)
		}
	}
	out.NarrowestRim.Low, out.NarrowestRim.High = over(all, func(one reading) float64 { return one.rim.Narrowest })
	if out.DDLS.Stage != nil {
		out.DDLS.Low, out.DDLS.High = over(all, stage)
	}
}

// over is the range of a figure.
func over[N int | float64](all []reading, figure func(reading) N) (low, high *N) {
	low, high = new(figure(all[0])), new(figure(all[0]))
	for _, one := range all {
		*low, *high = min(*low, figure(one)), max(*high, figure(one))
	}
	return low, high
}

func isnt(rim metric.Rim, eye string) *ISNT {
	nasal, temporal := rim.Hours[9], rim.Hours[3]
	if eye == Right { // as displayed, the nose is right of a right eye's disc
		nasal, temporal = temporal, nasal
	}
	out := &ISNT{Inferior: rim.Hours[6], Superior: rim.Hours[0], Nasal: nasal, Temporal: temporal}
	out.Holds = out.Inferior >= out.Superior && out.Superior >= nasal && nasal >= temporal
	return out
}

// sizes are the classes of discs by their vertical diameter.
var sizes = [...]string{"small", "average", "large"}

// sizeOf is the class, an index of sizes, of a disc of a height in mm.
func sizeOf(mm float64) int {
	switch {
	case mm < 1.5:
		return 0
	case mm <= 2:
		return 1
	}
	return 2
}

// ddls is the stage by the table in Henderer 2006, British Journal of Ophthalmology 90:395. A size
// of disc shifts its column by a line. While there is a rim, each tenth of its ratio to the disc is
// a stage. Without one it is the degrees without a rim: up to 45, 90, 180, 270 and more.
func ddls(rim metric.Rim, size int) int {
	if rim.Narrowest > 0 {
		return max(1, 6-size-int(math.Floor(10*rim.Narrowest+1e-9)))
	}
	stage := 7 - size
	for _, degrees := range []float64{45, 90, 180, 270} {
		if rim.Absent > degrees {
			stage++
		}
	}
	return min(10, stage)
}
