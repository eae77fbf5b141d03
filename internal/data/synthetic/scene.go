package synthetic

import (
	"fmt"
	"image"
	"math"

	"mrprism/internal/choice"
	"mrprism/internal/data/paint"
)

// Scene is an eye seen in a view. The raters mark it, and its true masks are known.
type Scene struct {
	Eye *Eye
	view
}

// NewScene frames the disc closely in a square of the given side, with the disc's radius 0.2 to
// 0.28 of the side and its centre near the middle. A seed gives one scene, which has the same
// proportions at every side.
func NewScene(seed uint64, side int) *Scene {
	r := paint.Source(seed, forFraming)
	s := float64(side)
	v := view{width: side, height: side, radius: s * r.Between(0.20, 0.28)}
	v.x, v.y = s*(0.5+r.Between(-0.06, 0.06))-0.5, s*(0.5+r.Between(-0.06, 0.06))-0.5
	return &Scene{NewEye(seed), v}
}

// Image paints the scene.
func (s *Scene) Image() *image.RGBA {
	return newPainter(s.Eye).paint(s.view, func(x, y int) float64 { return 1 })
}

// TextureImage has the texture of Image but no disc, cup, vessels or macula. A network that sees it
// can only learn from labels.
func (s *Scene) TextureImage() *image.RGBA { return newPainter(s.Eye).paintTexture(s.view) }

// Truth is the structure itself: 1[s > 0], row by row.
func (s *Scene) Truth(class int) []bool {
	mask := make([]bool, s.width*s.height)
	s.eachPixel(func(i int, x, y float64) { mask[i] = s.Eye.Distance(class, x, y) > 0 })
	return mask
}

// eachPixel calls f for every pixel with its point of the eye.
func (s *Scene) eachPixel(f func(i int, x, y float64)) {
	for i := range s.width * s.height {
		x, y := s.point(i%s.width, i/s.width)
		f(i, x, y)
	}
}

// The purposes of random sources.
const (
	forGeometry uint64 = iota
	forVessels
	forTexture
	forSensor
	forFraming
	forOrder
	forRaters                  // rater m of a case uses forRaters + m
	forPanel  uint64 = 1 << 20 // far above the raters' purposes
)

// SampleSeed is the eye of the tests that segment a photograph; the site has its own (cmd/bundle).
const SampleSeed = 4

// Photograph paints a whole fundus photograph: the round field of a camera on black. A low image
// cuts the field off above and below. The disc lies beside the middle and takes about 0.083 of the
// width, as in a 30° photograph centred near the disc.
func Photograph(seed uint64, width, height int) *image.RGBA {
	img, _ := NewPhotograph(seed, width, height)
	return img
}

// NewPhotograph also returns the photograph's scene.
func NewPhotograph(seed uint64, width, height int) (*image.RGBA, *Scene) {
	e := NewEye(seed)
	r := paint.Source(seed, forFraming)
	w, h := float64(width), float64(height)
	fieldRadius := 0.5 * min(w, 1.17*h)
	radius := fieldRadius * r.Between(0.155, 0.19)
	v := view{width: width, height: height, radius: radius}
	v.x = w/2 - e.temporal*fieldRadius*r.Between(0.15, 0.27)
	v.y = h/2 + fieldRadius*r.Between(-0.10, 0.10)

	cx, cy := (w-1)/2, (h-1)/2
	soft := max(0.7, fieldRadius*0.006)
	cut := min(h/2-1.5, fieldRadius*0.855) // the field stop's straight edges
	aperture := func(x, y int) float64 {
		dx, dy := float64(x)-cx, float64(y)-cy
		inside := min(fieldRadius-math.Hypot(dx, dy), cut-math.Abs(dy))
		// The notch that marks the upper right: a small tab on the rim at 45°.
		along, across := (dx-dy)*math.Sqrt2/2, (dx+dy)*math.Sqrt2/2
		tab := min(fieldRadius*1.035-along, fieldRadius*0.045-math.Abs(across), along)
		return paint.Smooth(max(inside, tab)/soft + 0.5)
	}
	return newPainter(e).paint(v, aperture), &Scene{e, v}
}

// Scenario is a group of raters and images for which theory predicts the order of the methods.
type Scenario struct {
	Name        string
	Description string
	Raters      []Rater
	Permuted    bool // the raters' order is drawn anew for each image: a column is no single person
	NoImage     bool // the image is texture without a structure: a network can only learn from labels
	// Panel, if not nil, is the least and the greatest number of raters who mark an image. Each image's
	// number is drawn uniformly, and then its raters. The others leave no mask.
	Panel *[2]int
}

// Scenarios are the presets.
var Scenarios = []Scenario{
	{Name: "unbiased", Description: "six unbiased raters, equally careful",
		Raters: raters(6, func(int) Rater { return Rater{Noise: 0.08} })},
	{Name: "one-expert", Description: "one expert among five who mark too much, most where the contour is ambiguous",
		Raters: raters(6, oneExpert)},
	{Name: "random-errors", Description: "six raters who differ in the share of blots, blank and swapped masks",
		Raters: raters(6, func(i int) Rater {
			share := []float64{0, 0.02, 0.05, 0.1, 0.15, 0.2}[i]
			return Rater{Noise: 0.05, Missed: share, Strayed: share / 2, Blank: share / 4, Swapped: share / 4}
		})},
	{Name: "sectoral", Description: "four raters, each reliable in one quadrant",
		Raters: raters(4, func(i int) Rater {
			quadrant := &Sector{Centre: float64(i) * math.Pi / 2, HalfWidth: math.Pi / 4 * 1.2, Noise: 0.03}
			return Rater{Noise: 0.25, Sector: quadrant}
		})},
	{Name: "permuted", Description: "one-expert with the raters' order drawn anew for each image",
		Raters: raters(6, oneExpert), Permuted: true},
	{Name: "no-image", Description: "one-expert with images that show nothing",
		Raters: raters(6, oneExpert), NoImage: true},
	{Name: "changing-panels", Description: "eight raters who mark too much or too little, more or less carefully; three to five of them an image",
		Raters: raters(8, func(i int) Rater {
			return Rater{
				Bias:  []float64{0.02, -0.04, 0.08, -0.10, 0.12, -0.06, 0.16, -0.14}[i],
				Noise: []float64{0.03, 0.04, 0.05, 0.06, 0.08, 0.10, 0.12, 0.07}[i],
			}
		}), Panel: &[2]int{3, 5}},
}

// raters are rater1, rater2, ….
func raters(n int, rater func(i int) Rater) []Rater {
	all := make([]Rater, n)
	for i := range all {
		all[i] = rater(i)
		all[i].Name = fmt.Sprintf("rater%d", i+1)
	}
	return all
}

func oneExpert(i int) Rater {
	if i == 0 {
		return Rater{Noise: 0.03}
	}
	return Rater{Bias: 0.10 + 0.02*float64(i-1), Response: 1, Noise: 0.06}
}

// FindScenario returns a preset by name. The error lists the names.
func FindScenario(name string) (Scenario, error) {
	return choice.Find("scenario", name, Scenarios, func(s Scenario) string { return s.Name })
}

// Case is one image of a scenario with the labels of its raters, in the order of the data set's
// rater folders.
type Case struct {
	Scene  *Scene
	Labels [][][]bool // by rater, class, pixel; nil for a rater who is not in the image's panel
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
		c.Order = paint.Source(s.Eye.seed, forOrder).Perm(len(sc.Raters))
	}
	panel := sc.panel(s.Eye.seed)
	for _, m := range c.Order {
		var marks [][]bool
		if panel[m] {
			marks = s.Mark(sc.Raters[m], forRaters+uint64(m))
		}
		c.Labels = append(c.Labels, marks)
	}
	return c
}

// panel says which of the scenario's raters mark the image of a seed.
func (sc *Scenario) panel(seed uint64) []bool {
	marks, size := make([]bool, len(sc.Raters)), len(sc.Raters)
	r := paint.Source(seed, forPanel)
	if sc.Panel != nil {
		size = sc.Panel[0] + r.IntN(sc.Panel[1]-sc.Panel[0]+1)
	}
	for _, m := range r.Perm(len(marks))[:size] {
		marks[m] = true
	}
	return marks
}
