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

	surface *metric.Surface
}

// Surface is the distance between the outlines of the map above one half and of the majority.
func (c *Case) Surface() metric.Surface {
	if c.surface == nil {
		c.surface = new(metric.SurfaceOf(c.Map, c.Majority, c.W, c.H))
	}
	return *c.surface
}

// overlap is a figure of the pixels of the map above one half and of the majority; NaN if what it is a
// share of is empty.
func overlap(of func(predicted, marked, both float64) float64) func(*Case) float64 {
	return func(c *Case) float64 {
		predicted, marked, both := metric.Overlap(c.Map, c.Majority)
		return of(float64(predicted), float64(marked), float64(both))
	}
}

// Tolerance is that of surface Dice, in pixels.
const Tolerance = 2

// Of compares a map, and the maps of all raters above one half if they are known, with the target.
func (t *Target) Of(p []float32, heads []metric.Bits) *Case {
	c := &Case{t, p, metric.NewCalibration(Bins), metric.NewCalibration(Bins), t.Set(heads), nil}
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

// Figures are in the order of tables and of Values. A new figure is one entry.
var Figures = []Figure{
	{"soft_dice", "Soft Dice ×100", 100, 2, false, true, func(c *Case) float64 { return c.SoftDice(c.Map) }},
	{"dice", "Dice ×100", 100, 2, false, false, func(c *Case) float64 { return metric.Dice(c.Map, c.Majority) }},
	{"iou", "IoU ×100", 100, 2, false, false, overlap(func(predicted, marked, both float64) float64 {
		if predicted+marked == 0 {
			return 1 // as Dice
		}
		return both / (predicted + marked - both)
	})},
	{"sensitivity", "Sensitivity ×100", 100, 2, false, false, overlap(func(_, marked, both float64) float64 { return both / marked })},
	{"precision", "Precision ×100", 100, 2, false, false, overlap(func(predicted, _, both float64) float64 { return both / predicted })},
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
