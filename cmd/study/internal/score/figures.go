// Package score compares maps with marks and with the truth.
package score

import (
	"math"
	"slices"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
)

// Case is a map of a structure in an image beside what it is compared with.
type Case struct {
	*Target
	Map         []float32
	Band, Whole *metrics.Calibration // of the map, inside the band and in the whole image
	Set         Set                  // of the raters' maps

	band                    []uint8
	predicted, marked, both int // pixels of the map above one half, and of the majority
	surface                 *metrics.Surface
}

// Surface is the distance between the outlines of the map above one half and of the majority.
func (c *Case) Surface() metrics.Surface {
	if c.surface == nil {
		c.surface = new(metrics.SurfaceOf(c.Map, c.Majority, c.W, c.H))
	}
	return *c.surface
}

// one is 1 if something is, else 0.
func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// portion is a number of pixels over another; something else without pixels.
func portion(part, whole int, otherwise float64) float64 {
	if whole == 0 {
		return otherwise
	}
	return float64(part) / float64(whole)
}

// Tolerance is that of surface Dice, in pixels.
const Tolerance = 2

// Band is 1 where one of the maps (H, W), nil for a missing one, is between .02 and .98. No label
// chooses these pixels: inside the union of the marks, or near them, a perfect map would look too
// low, since chance made the marks. Maps of 0 and 1 alone have no pixel there.
func Band(maps ...[]float32) (band []uint8) {
	for _, p := range maps {
		if p != nil && band == nil {
			band = make([]uint8, len(p))
		}
		for i, v := range p {
			if v >= .02 && v <= .98 {
				band[i] = 1
			}
		}
	}
	return band
}

// Of compares a map with the target, and also the maps of all raters above one half and drawn masks
// if there are some. The band is where its calibration is measured, beside the whole image.
func (t *Target) Of(p []float32, heads, drawn []metrics.Bits, band []uint8) *Case {
	c := &Case{Target: t, Map: p, Band: metrics.NewCalibration(Bins), Whole: metrics.NewCalibration(Bins), Set: t.Set(heads, drawn), band: band}
	c.predicted, c.marked, c.both = metric.Overlap(p, t.Majority)
	c.Band.Add(p, t.Votes, band)
	c.Whole.Add(p, t.Votes, nil)
	return c
}

// Values are the figures of a case, in the order of Figures. They are NaN where not defined.
type Values []float64

// Values computes all figures.
func (c *Case) Values() (v Values) {
	for _, f := range Figures {
		v = append(v, f.Of(c))
	}
	return v
}

// Figure is a number of a case: how it is called, written and computed.
type Figure struct {
	Key, Title string
	Scale      float64
	Digits     int
	Lower      bool // lower is better
	Brief      bool // stands in the short tables
	Of         func(*Case) float64
}

// Range is that of the figure, and of a mean of it.
func (f Figure) Range() (least, most float64) {
	if f.Scale == 100 {
		return 0, 1
	}
	return 0, math.Inf(1)
}

// Perfect is the key of what a perfect model would have in place of a figure, if there is one.
func (f Figure) Perfect() string { return f.Key + "_perfect" }

// SameBand is the key of the ECE that a perfect model would have in the band of the maps.
const SameBand = "ece_same_band_perfect"

// perfectInBand is NaN without a band.
func (c *Case) perfectInBand() float64 {
	return metric.PatternsOf(statistics.Tabulate(len(c.people), func(m int) []uint8 {
		var mask []uint8
		for i, inside := range c.band {
			if inside != 0 {
				mask = append(mask, c.people[m][i])
			}
		}
		return mask
	})...).Ceiling().Apart / float64(metric.Area(c.band))
}

// Figures are in the order of tables and of Values. A new figure is one entry. Those without a
// title are in the files of numbers alone, and are not compared.
var Figures = []Figure{
	{"soft_dice", "Soft Dice ×100", 100, 2, false, true, func(c *Case) float64 { return c.SoftDice(c.Map) }},
	{"soft_dice_perfect", "", 100, 2, false, false, func(c *Case) float64 { return c.Ceiling().SoftDice }},
	{"dice", "Dice ×100", 100, 2, false, false, func(c *Case) float64 { return portion(2*c.both, c.predicted+c.marked, 1) }},
	{"iou", "IoU ×100", 100, 2, false, false, func(c *Case) float64 { return portion(c.both, c.predicted+c.marked-c.both, 1) }},
	{"sensitivity", "Sensitivity ×100", 100, 2, false, false, func(c *Case) float64 { return portion(c.both, c.marked, math.NaN()) }},
	{"precision", "Precision ×100", 100, 2, false, false, func(c *Case) float64 { return portion(c.both, c.predicted, math.NaN()) }},
	{"brier_band", "Brier ×100, band", 100, 2, true, true, func(c *Case) float64 { return c.Band.Brier() }},
	{"brier_band_perfect", "", 100, 2, true, false, func(c *Case) float64 { return c.Ceiling().Brier }},
	{"reliability_band", "Reliability ×100, band", 100, 2, true, false, func(c *Case) float64 { reliability, _ := c.Band.Parts(); return reliability }},
	{"resolution_band", "Resolution ×100, band", 100, 2, false, false, func(c *Case) float64 { _, resolution := c.Band.Parts(); return resolution }},
	{"brier", "Brier ×100, image", 100, 2, true, false, func(c *Case) float64 { return c.Whole.Brier() }},
	{"ece_band", "ECE ×100, band", 100, 2, true, true, func(c *Case) float64 { return c.Band.ECE() }},
	{"ece_band_perfect", "", 100, 2, true, false, func(c *Case) float64 { return c.Ceiling().ECE }},
	{SameBand, "", 100, 2, true, false, func(c *Case) float64 { return c.perfectInBand() }},
	{"ece", "ECE ×100, image", 100, 2, true, false, func(c *Case) float64 { return c.Whole.ECE() }},
	{"hd95_pixels", "HD95, pixels", 1, 2, true, true, func(c *Case) float64 { return c.Surface().Hausdorff95() }},
	{"assd_pixels", "ASSD, pixels", 1, 2, true, false, func(c *Case) float64 { return c.Surface().Average() }},
	{"one_empty", "", 100, 1, true, false, func(c *Case) float64 { return one(c.Surface().OneEmpty()) }},
	{"surface_dice_2px", "Surface Dice ×100, 2 pixels", 100, 2, false, false, func(c *Case) float64 { return c.Surface().Dice(Tolerance) }},
	{"ged", "GED", 1, 3, true, true, func(c *Case) float64 { return c.Set.Energy }},
	{"ged_perfect", "", 1, 3, true, false, func(c *Case) float64 { return c.Ceiling().Energy }},
	{"dice_max", "Dice_max ×100", 100, 2, false, false, func(c *Case) float64 { return c.Set.Max }},
	{"dice_match", "Dice_match ×100", 100, 2, false, true, func(c *Case) float64 { return c.Set.Match }},
	{"ged_drawn", "GED of drawn masks", 1, 3, true, true, func(c *Case) float64 { return c.Set.Drawn }},
	// it takes two structures: who scores an image fills it in
	{"vcdr_error", "vCDR error", 1, 3, true, true, func(*Case) float64 { return math.NaN() }},
}

// Distances are the keys of those that an empty mask makes the image's diagonal.
var Distances = []string{"hd95_pixels", "assd_pixels"}

// The places of figures that the programs treat by themselves.
var (
	SoftDice, Dice, BrierBand  = place("soft_dice"), place("dice"), place("brier_band")
	Hausdorff, RatioError      = place("hd95_pixels"), place("vcdr_error")
	OneEmpty                   = place("one_empty")
	Energy, DiceMax, DiceMatch = place("ged"), place("dice_max"), place("dice_match")
)

func place(key string) int {
	return slices.IndexFunc(Figures, func(f Figure) bool { return f.Key == key })
}
