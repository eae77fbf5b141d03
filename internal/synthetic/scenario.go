package synthetic

import (
	"fmt"
	"math"
)

// Scenario is a group of raters and images for which theory predicts the order of the methods.
type Scenario struct {
	Name        string
	Description string
	Raters      []Rater
	Permuted    bool // the raters' order is drawn anew for each image: a column is no single person
	NoImage     bool // the image is texture without a structure: a network can only learn from labels
}

// Scenarios are the presets.
var Scenarios = []Scenario{
	{Name: "unbiased", Description: "six unbiased raters, equally careful", Raters: unbiased()},
	{Name: "one-expert", Description: "one expert among five who mark too much, most where the contour is ambiguous", Raters: oneExpert()},
	{Name: "random-errors", Description: "six raters who differ in the share of blots, blank and swapped masks", Raters: randomErrors()},
	{Name: "sectoral", Description: "four raters, each reliable in one quadrant", Raters: sectoral()},
	{Name: "permuted", Description: "one-expert with the raters' order drawn anew for each image", Raters: oneExpert(), Permuted: true},
	{Name: "no-image", Description: "one-expert with images that show nothing", Raters: oneExpert(), NoImage: true},
}

// FindScenario returns a preset by name. The error lists the names.
func FindScenario(name string) (Scenario, error) {
	return find("scenario", name, Scenarios, func(s Scenario) string { return s.Name })
}

func raterName(i int) string { return fmt.Sprintf("rater%d", i+1) }

func unbiased() (raters []Rater) {
	for i := range 6 {
		raters = append(raters, Rater{Name: raterName(i), Noise: 0.08})
	}
	return raters
}

func oneExpert() []Rater {
	raters := []Rater{{Name: raterName(0), Noise: 0.03}}
	for i := range 5 {
		raters = append(raters, Rater{Name: raterName(i + 1), Bias: 0.10 + 0.02*float64(i), Response: 1, Noise: 0.06})
	}
	return raters
}

func randomErrors() (raters []Rater) {
	for i, share := range []float64{0, 0.02, 0.05, 0.1, 0.15, 0.2} {
		raters = append(raters, Rater{Name: raterName(i), Noise: 0.05, Missed: share, Strayed: share / 2, Blank: share / 4, Swapped: share / 4})
	}
	return raters
}

func sectoral() (raters []Rater) {
	for i := range 4 {
		raters = append(raters, Rater{Name: raterName(i), Noise: 0.25,
			Sector: &Sector{Centre: float64(i) * math.Pi / 2, HalfWidth: math.Pi / 4 * 1.2, Noise: 0.03}})
	}
	return raters
}

// Case is one image of a scenario with the labels of its raters, in the order of the data set's
// rater folders.
type Case struct {
	Scene  *Scene
	Labels [][][]bool // by rater, class, pixel
	// Order[m] is the rater of the scenario who drew Labels[m]: m itself unless the scenario is
	// Permuted.
	Order []int
}

// Case makes image number index of a scenario. Cases of one seed differ in everything.
func (sc *Scenario) Case(seed uint64, index, side int) *Case {
	s := NewScene(seed<<20+uint64(index), side)
	c := &Case{Scene: s, Order: make([]int, len(sc.Raters))}
	for m := range c.Order {
		c.Order[m] = m
	}
	if sc.Permuted {
		c.Order = source(s.Eye.seed, forOrder).Perm(len(sc.Raters))
	}
	for _, m := range c.Order {
		c.Labels = append(c.Labels, s.Mark(sc.Raters[m], forRaters+uint64(m)))
	}
	return c
}
