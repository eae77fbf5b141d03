// Package model is the MrPrism network (Wu et al., "Multi-rater Prism"): the encoder, ConP, DivP,
// and Algorithm 1 in training and at inference.
//
// Where the paper is open or contradicts itself, comments cite "PAPER.md §n", an item of PAPER.md in
// this folder. DECISIONS.md says what we chose beyond the paper and what we tried.
//
// Glossary, paper to code:
//
//	x    image                  (B, S, S, 3), normalised by Normalise
//	z^m  rater m's label        z (B, S, S, M, K), 0 or 1; valid (B, M, K) says which exist
//	z̃^m  DivP's estimate        zHat (B, S/8, S/8, M, K), a probability
//	w̃    log confidence         w (B, S/8, S/8, M, K) = log z̃
//	ỹ    calibrated mask        y (B, S, S, K), a probability; half is the same at S/2
//	f₀   encoder features       Features
//	⊙    fusion                 shaders.Fuse under a Rule
//	τ, ζ                        Recipe.Recurrences, Recipe.ShuffleWeight
package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Config is the architecture. Widths are channels.
type Config struct {
	Name        string
	Blocks      [4]int // basic blocks of the encoder's four layers
	Widths      [4]int
	Stem        int
	Bridge      int
	ConP        [4]int // ConP's four stages, coarse to fine
	MaxKeys     int    // keys and values of attention are average-pooled to at most this many
	Embedding   [3]int // hidden widths of the confidence embedding
	DivP        [4]int
	DivPStem    int
	DivPHeads   int
	RaterHead   int       // width of each rater's head
	Raters      int       // M
	Classes     int       // K
	AreaPrior   []float64 // share of pixels of each structure: where the mask's bias starts; nil: 0.1
	Independent bool      // structures need not lie inside those before them; otherwise inference keeps each inside (PAPER.md §3.10)
	Levels      bool      // what stands for raters are agreement levels: inference keeps each inside the one before
	Steered     bool      // ConP adds the embedded confidences to the maps that they query (ours; PAPER.md §2 has the query alone)

	Recompute bool // in training: keep little of what the gradient needs and compute it again; no bit of the result changes

	Precision Precision          // of inference or of training
	Ranges    map[string]float32 // of Int8: the largest |x| that layers are given, by their names
}

// steered is what follows the name of an architecture that is Steered.
const steered = "-steered"

// Steer makes an architecture a Steered one, of the same parameters.
func (c *Config) Steer() {
	if !c.Steered {
		c.Name, c.Steered = c.Name+steered, true
	}
}

// SameParameters says whether the names are of architectures with the same parameters.
func SameParameters(config, other string) bool {
	return strings.TrimSuffix(config, steered) == strings.TrimSuffix(other, steered)
}

// NewConfig gives the named architecture: "paper", "compact" (what the page downloads) or "tiny" (tests), and those followed by "-steered".
func NewConfig(name string, raters, classes int) (Config, error) {
	if raters < 1 || classes < 1 {
		return Config{}, fmt.Errorf("model: %d raters and %d classes: at least one of each is needed", raters, classes)
	}
	c := Config{
		Name: name, Raters: raters, Classes: classes,
		Embedding: [3]int{64, 128, 256}, DivP: [4]int{32, 64, 64, 32}, DivPStem: 64, DivPHeads: 8, RaterHead: 16,
	}
	architecture, isSteered := strings.CutSuffix(name, steered)
	c.Steered = isSteered
	switch architecture {
	case "paper":
		c.Blocks, c.Widths, c.Stem, c.Bridge = [4]int{3, 4, 6, 3}, [4]int{64, 128, 256, 512}, 64, 512
		c.ConP, c.MaxKeys = [4]int{512, 256, 128, 64}, 1024
	case "compact":
		c.Blocks, c.Widths, c.Stem, c.Bridge = [4]int{2, 2, 2, 2}, [4]int{32, 64, 128, 256}, 32, 256
		c.ConP, c.MaxKeys = [4]int{256, 128, 64, 32}, 256
	case "tiny":
		c.Blocks, c.Widths, c.Stem, c.Bridge = [4]int{1, 1, 1, 1}, [4]int{8, 16, 16, 16}, 8, 16
		c.ConP, c.MaxKeys = [4]int{16, 16, 16, 16}, 16
		c.Embedding, c.DivP, c.DivPStem, c.DivPHeads, c.RaterHead = [3]int{8, 16, 32}, [4]int{8, 8, 8, 8}, 8, 2, 4
	default:
		return Config{}, fmt.Errorf("model: no configuration %q; there are paper, compact and tiny", name)
	}
	return c, nil
}

// Image sides must be multiples of this: the bridge halves the side six times.
const SideMultiple = 64

// Normalise is what the network expects of a pixel value v in 0..1.
func Normalise(v float32) float32 { return (v - 0.5) / 0.25 }

// Denormalise takes what Normalise gives back to 0..1.
func Denormalise(v float32) float32 { return v*0.25 + 0.5 }

// Standardise takes brightness and contrast out of an image's values, of any shape. What lies beyond the 5th and the 95th percentile counts as
// those for the mean and the deviation (they are winsorised), so that specks and haloes do not hide what is faint; then values become
// (v − mean) / deviation, within ±4. Deviations below 0.01 of 0..1 count as that, so that noise is not blown up to a picture.
func Standardise(x []float32) {
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	low, high := sorted[len(x)/20], sorted[len(x)-1-len(x)/20]
	mean, square := 0., 0.
	for _, v := range sorted {
		mean += float64(min(max(v, low), high)) / float64(len(x))
	}
	for _, v := range sorted {
		d := float64(min(max(v, low), high)) - mean
		square += d * d / float64(len(x))
	}
	deviation := max(math.Sqrt(square), 0.01)
	for i, v := range x {
		x[i] = float32(min(max((float64(v)-mean)/deviation, -4), 4))
	}
}

// lowest is the clamp of every probability before a logarithm (PAPER.md §3.4).
const lowest = 1e-3
