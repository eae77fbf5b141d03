package score

import (
	"math"
	"slices"

	"mrprism/internal/data/metric"
)

// Case is a map of a structure in an image beside what it is compared with.
type Case struct {
	*Target
	Map          []float32
	Union, Whole *metric.Calibration // of the map, inside the union and in the whole image
	Set          Set                 // of the raters' maps

	predicted, marked, both int // pixels of the map above one half, and of the majority
	surface                 *metric.Surface
}

// Surface is the distance between the outlines of the map above one half and of the majority.
func (c *Case) Surface() metric.Surface {
	if c.surface == nil {
		c.surface = new(metric.SurfaceOf(c.Map, c.Majority, c.W, c.H))
	}
	return *c.surface
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

// Of compares a map, and the maps of all raters above one half if they are known, with the target.
func (t *Target) Of(p []float32, heads []metric.Bits) *Case {
	c := &Case{Target: t, Map: p, Union: metric.NewCalibration(Bins), Whole: metric.NewCalibration(Bins), Set: t.Set(heads)}
	c.predicted, c.marked, c.both = metric.Overlap(p, t.Majority)
	c.Union.Add(p, t.Votes, t.Union)
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

// Figures are in the order of tables and of Values. A new figure is one entry.
var Figures = []Figure{
	{"soft_dice", "Soft Dice ×100", 100, 2, false, true, func(c *Case) float64 { return c.SoftDice(c.Map) }},
	{"dice", "Dice ×100", 100, 2, false, false, func(c *Case) float64 { return portion(2*c.both, c.predicted+c.marked, 1) }},
	{"iou", "IoU ×100", 100, 2, false, false, func(c *Case) float64 { return portion(c.both, c.predicted+c.marked-c.both, 1) }},
	{"sensitivity", "Sensitivity ×100", 100, 2, false, false, func(c *Case) float64 { return portion(c.both, c.marked, math.NaN()) }},
	{"precision", "Precision ×100", 100, 2, false, false, func(c *Case) float64 { return portion(c.both, c.predicted, math.NaN()) }},
	{"brier_union", "Brier ×100, union", 100, 2, true, true, func(c *Case) float64 { return c.Union.Brier() }},
	{"brier", "Brier ×100, image", 100, 2, true, false, func(c *Case) float64 { return c.Whole.Brier() }},
	{"ece_union", "ECE ×100, union", 100, 2, true, true, func(c *Case) float64 { return c.Union.ECE() }},
	{"ece", "ECE ×100, image", 100, 2, true, false, func(c *Case) float64 { return c.Whole.ECE() }},
	{"hd95_pixels", "HD95, pixels", 1, 2, true, true, func(c *Case) float64 { return c.Surface().Hausdorff95() }},
	{"assd_pixels", "ASSD, pixels", 1, 2, true, false, func(c *Case) float64 { return c.Surface().Average() }},
	{"surface_dice_2px", "Surface Dice ×100, 2 pixels", 100, 2, false, false, func(c *Case) float64 { return c.Surface().Dice(Tolerance) }},
	{"ged", "GED", 1, 3, true, true, func(c *Case) float64 { return c.Set.Energy }},
	{"dice_max", "Dice_max ×100", 100, 2, false, false, func(c *Case) float64 { return c.Set.Max }},
	{"dice_match", "Dice_match ×100", 100, 2, false, true, func(c *Case) float64 { return c.Set.Match }},
	// it takes two structures: who scores an image fills it in
	{"vcdr_error", "vCDR error", 1, 3, true, true, func(*Case) float64 { return math.NaN() }},
}

// The places of figures that the programs treat by themselves.
var (
	SoftDice, Dice, BrierUnion = place("soft_dice"), place("dice"), place("brier_union")
	Hausdorff, RatioError      = place("hd95_pixels"), place("vcdr_error")
	Energy, DiceMax, DiceMatch = place("ged"), place("dice_max"), place("dice_match")
)

func place(key string) int {
	return slices.IndexFunc(Figures, func(f Figure) bool { return f.Key == key })
}
