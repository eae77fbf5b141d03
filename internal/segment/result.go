package segment

import (
	"image"

	"mrprism/internal/files/imageio"
	"mrprism/internal/trust"
	"mrprism/model"
	"mrprism/weights"
)

// Result is a segmented image.
type Result struct {
	Maps
	Measurements Measurements
	Steered      bool               // the model follows raters' weights; otherwise they hardly move its mask
	TakesMarks   bool               // the model takes marks as evidence
	Timings      map[string]float64 // ms: search, encode, rec0 … recN, mirror, others, total; of those that ran
	Adapter      string             // the device
	Why          string             // why auto chose the device; "" without a choice
	Precision    model.Precision
	// Found is false if the mask of the anchor is empty. If the search found nothing, every map is 0.
	Found   bool
	Doubts  []Doubt              // reasons not to believe the result
	Figures trust.Figures        // the figures that Doubt is computed from
	Looks   map[string][]float32 // encoder features of the field, "whole", and of the region, "close"
	// Photograph is Looks["whole"] where the field has at least twice the region's side: only then
	// does it show by which camera the photograph was taken. Otherwise it is nil.
	Photograph []float32
	// Sharpness of the picture, or of its lit field where the model searches it: about −3.1 to −2
	// in fundus photographs, and below −2.9 in those that are not sharp.
	Sharpness float64
	// Quality of a whole photograph that the model searched, where Photograph is known or nothing was
	// found; nil: of any other picture.
	Quality *Quality
	// Appearance are the figures of the photograph by which a camera is told: trust.Appearances.
	Appearance []float64
	// Doubt is how odd the result is beside results on training images, from 0 on. A result above 1 is
	// doubted; it is at least 1 if nothing was found. nil: the weights do not know.
	Doubt *float64

	readings []reading // by measure
}

// Maps are the maps of an image. Its methods make them on demand: probabilities (Height, Width), 0
// outside of the region.
type Maps struct {
	Width, Height int           // pixels of the image as displayed
	Picture       imageio.Image // the image without its pixels
	Classes       []string      // K structures; each lies inside the one before
	Raters        []string      // M raters, or levels: "at least j of M experts"; none without heads
	Labels        string        // weights.LabelsRaters, LabelsAgreementLevels or LabelsPanels
	ROI           imageio.Square
	Recurrences   int // Rec0 … RecN

	side   int
	masks  [][]float32 // calibrated masks of Rec0 … RecN, each (S, S, K)
	raters []float32   // of the last recurrence, (S, S, M, K); nil without heads
	others []float32   // (S, S, K), see Others; nil without evidence
	plain  []float32   // the masks of the last recurrence before calibrate, (S, S, K); nil: nothing was found
	given  given
	eyeBy  signs

	leftOut []int // output.others
	kept    kept  // of a part of the image; nil: none is
	part    bool  // of Within

	separate bool            // structures do not lie inside each other
	margins  map[int]float64 // of outlines by class, radii; there is none without outlines
}

// given are the marks that a result settled around. Their masks are of the whole image, width pixels
// wide, in which the result begins at x, y.
type given struct {
	marks       []Evidence
	width, x, y int
}

// Doubt is a reason not to believe a result.
type Doubt struct {
	Code string `json:"code"` // for programs: one of trust's codes
	Text string `json:"text"` // a sentence for people
}

// Within are the maps of the part of the image in the region, which begins at x, y. They are 0
// outside of it.
func (r *Maps) Within() (part *Maps, x, y int) {
	within := *r
	within.part = true
	x, y = max(0, r.ROI.X), max(0, r.ROI.Y)
	within.Width, within.Height = min(r.Width, r.ROI.X+r.ROI.Side)-x, min(r.Height, r.ROI.Y+r.ROI.Side)-y
	within.ROI.X, within.ROI.Y = r.ROI.X-x, r.ROI.Y-y
	within.given.x, within.given.y = r.given.x+x, r.given.y+y
	return &within, x, y
}

// Probability is the calibrated map of a structure after the last recurrence.
func (r *Maps) Probability(class int) []float32 { return r.Recurrence(r.Recurrences, class) }

// Recurrence is the calibrated map after recurrence i.
func (r *Maps) Recurrence(i, class int) []float32 {
	return r.restore(r.masks[i], len(r.Classes), class)
}

// Others is what the raters would mark on the mean who have not marked, or the calibrated map if no
// mark was given.
func (r *Maps) Others(class int) []float32 {
	if r.others == nil {
		return r.Probability(class)
	}
	return r.restore(r.others, len(r.Classes), class)
}

// Marks are the marks that the result settled around, as they were given.
func (r *Maps) Marks() []Evidence { return r.given.marks }

// Mark is mark i of Marks as a map: 1 where it says inside, otherwise 0.
func (r *Maps) Mark(i int) []float32 {
	out := make([]float32, r.Width*r.Height)
	for at := range out {
		if g := r.given; g.marks[i].Mask[(g.y+at/r.Width)*g.width+g.x+at%r.Width] == 255 {
			out[at] = 1
		}
	}
	return out
}

// heads is the number of maps of raters, as of Engine.heads.
func (r *Maps) heads() int { return len(r.raters) / (r.side * r.side * len(r.Classes)) }

// Rater is the map that rater m would draw, or that at least m + 1 experts would mark.
func (r *Maps) Rater(m, class int) []float32 {
	k := len(r.Classes)
	return r.restore(r.raters, r.heads()*k, m*k+class)
}

// Disagreement is the probability that two different raters, drawn at random, disagree about a
// pixel.
func (r *Maps) Disagreement(class int) []float32 {
	return imageio.Restore(r.disagreement(class), r.side, 1, 0, r.ROI, r.Width, r.Height, image.Rectangle{}, clamp)
}

// disagreement has the network's shape (S, S). Raters draw independently with probabilities z_m:
// the disagreement is the mean over pairs of z_m(1 − z_n) + z_n(1 − z_m). Levels say that the
// number c of experts who mark the pixel has P(c ≥ j) = z_j: the disagreement is E[2c(M −
// c)/(M(M − 1))].
func (r *Maps) disagreement(class int) []float32 {
	m, k := len(r.Raters), len(r.Classes)
	out := make([]float32, r.side*r.side)
	if m < 2 {
		return out
	}
	z := make([]float64, m+1) // z[m] stays 0: more than all experts
	for i := range out {
		for j := range m {
			z[j] = float64(r.raters[(i*m+j)*k+class])
		}
		out[i] = float32(pairwise(z[:m]))
		if r.Labels == weights.LabelsAgreementLevels {
			out[i] = float32(counted(z))
		}
	}
	return out
}

// pairwise is the mean over pairs of z_m(1 − z_n) + z_n(1 − z_m): ((M − 1)Σz − (Σz)² +
// Σz²) / (M(M − 1)/2).
func pairwise(z []float64) float64 {
	sum, squares, m := 0.0, 0.0, float64(len(z))
	for _, v := range z {
		sum += v
		squares += v * v
	}
	return ((m-1)*sum - sum*sum + squares) / (m * (m - 1) / 2)
}

// counted is Σ_c P(c)·2c(M − c)/(M(M − 1)) with P(c) = z[c−1] − z[c]; z falls and ends
// with 0.
func counted(z []float64) float64 {
	sum, m := 0.0, len(z)-1
	for c := 1; c < m; c++ {
		sum += (z[c-1] - z[c]) * float64(2*c*(m-c))
	}
	return sum / float64(m*(m-1))
}
