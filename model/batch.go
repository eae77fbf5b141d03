package model

import (
	"math"
	"math/rand/v2"
	"slices"

	"mrprism/shaders/tensor"
)

// Batch is the data of one step, in the shapes of Step's inputs.
type Batch struct {
	X, Z, Valid []float32
	Own         []float32       // (B, M, K), 1 where the rater's head learns from the label, his own; nil: as Valid
	W0          []float32       // log confidence
	Prior       []float32       // log ψ, of Steered recipes
	Shuffles    [][]Reweighting // [recurrence][reweighting]
	Revealed    *Revealed       // of recipes that settle; otherwise nil
	Diagnosis   []float32       // (B), 0 or 1, for methods that are Diagnosed
	Progress    float64         // share of the run that is done, 0..1
	First       int             // the place of its first image in the step, for Draw
	fed         [][]float32     // of the step's feeds
}

// Reweighting is the data of one raters.Shuffle.
type Reweighting struct {
	Order         []uint32
	Scale, Offset []float32
}

// Draw draws the random inputs of Algorithm 1. The start is w₀ = log clip(ψ + ε, 1e-3, 1), with
// ψ ~ U(.1, .9) for each rater and ε ~ N(0, .2²) for each element (PAPER.md §3.4). Draw also
// draws the reweightings of L_sff (§3.8) and, in Steered recipes, the prior of the raters who have
// marked the image. In Steered recipes ψ is one half, since the prior says how raters differ. Draw
// reveals marks in recipes that settle.
//
// All batches of a step, and all ranks, are to give equal generators: what is drawn once holds for
// the whole step, and what is drawn for an image depends on the image's place in the step alone.
func (b *Batch) Draw(s *Step, r Recipe, random *rand.Rand) {
	raters, classes := s.W0.Dim(3), s.W0.Dim(4)
	images := NewDraws(random, b.First, s.W0.Dim(0))
	psi := make([]float64, raters)
	for m := range psi {
		if r.Steered {
			psi[m] = startEstimate
		} else {
			psi[m] = 0.1 + 0.8*random.Float64()
		}
	}
	b.W0 = make([]float32, s.W0.Elements())
	for i := range b.W0 {
		if r.FixedStart {
			b.W0[i] = float32(math.Log(startEstimate))
			continue
		}
		v := psi[i/classes%raters] + 0.2*images.Of(i, len(b.W0)).NormFloat64()
		b.W0[i] = float32(math.Log(min(max(v, Lowest), 1)))
	}
	if s.Prior != nil {
		b.Prior = priors(s.Prior.Shape(), b.own(), images)
	}
	if r.Settles > 0 {
		b.Revealed = b.reveal(s, images)
	}
	for _, f := range s.feeds {
		b.fed = append(b.fed, f.fill(b, images))
	}
	b.Shuffles = make([][]Reweighting, len(s.Shuffles))
	for i := range b.Shuffles {
		for range r.Permutations {
			b.Shuffles[i] = append(b.Shuffles[i], permutation(raters, random))
		}
		for range r.Draws {
			b.Shuffles[i] = append(b.Shuffles[i], randomConfidence(raters, random))
		}
	}
}

// Draws has a generator for each image of a batch.
type Draws []*rand.Rand

// NewDraws makes generators for images from place first of the step on.
func NewDraws(random *rand.Rand, first, images int) Draws {
	high, low := random.Uint64(), random.Uint64()
	d := make(Draws, images)
	for i := range d {
		d[i] = rand.New(rand.NewPCG(high, low^uint64(first+i+1)*0x9e3779b97f4a7c15))
	}
	return d
}

// Of is the generator for element i of n that all images share equally, one image after the other.
func (d Draws) Of(i, n int) *rand.Rand { return d[i/(n/len(d))] }

// priors draws log ψ (B, h, w, M, K) for each image, equal over pixels and structures, as
// SetRaterWeights sets it at inference. In 40 % of the images all ψ are 1. In 30 % one rater's ψ
// is 1 and the others' is 1e-3; that rater has marked the image by valid (B, M, K), and structures
// that the rater has not marked keep all ψ at 1. In 30 % each rater's ψ is drawn evenly in its
// logarithm.
func priors(shape []int, valid []float32, draws Draws) []float32 {
	pixels, raters, classes := shape[1]*shape[2], shape[3], shape[4]
	least := math.Log(Lowest)
	prior := make([]float32, 0, len(draws)*pixels*raters*classes)
	for image, random := range draws {
		marked := valid[image*raters*classes:][:raters*classes]
		var present []int // raters who have marked anything
		for m := range raters {
			if slices.Contains(marked[m*classes:][:classes], 1) {
				present = append(present, m)
			}
		}
		weight := make([]float32, raters*classes)
		kind, alone := random.Float64(), 0
		if len(present) > 0 {
			alone = present[random.IntN(len(present))]
		}
		for m := range raters {
			between := least * random.Float64()
			for k := range classes {
				switch {
				case kind < 0.4 || kind < 0.7 && (m == alone || marked[alone*classes+k] == 0):
				case kind < 0.7:
					weight[m*classes+k] = float32(least)
				default:
					weight[m*classes+k] = float32(between)
				}
			}
		}
		for range pixels {
			prior = append(prior, weight...)
		}
	}
	return prior
}

// permutation is a non-identity permutation of the weights (of one rater: the identity).
func permutation(raters int, random *rand.Rand) Reweighting {
	w := Reweighting{Order: make([]uint32, raters), Scale: make([]float32, raters), Offset: make([]float32, raters)}
	for moved := false; !moved; {
		for m, from := range random.Perm(raters) {
			w.Order[m], w.Scale[m] = uint32(from), 1
			moved = moved || m != from || raters == 1
		}
	}
	return w
}

// randomConfidence gives rater m the confidence log ψ_m, ψ ~ U(.1, .9), in place of DivP's.
func randomConfidence(raters int, random *rand.Rand) Reweighting {
	w := Reweighting{Order: make([]uint32, raters), Scale: make([]float32, raters), Offset: make([]float32, raters)}
	for m := range w.Order {
		w.Order[m] = uint32(m)
		w.Offset[m] = float32(math.Log(0.1 + 0.8*random.Float64()))
	}
	return w
}

// Write hands a batch to a plan of the step. fade is the present weight of the fading
// cross-entropy.
func (s *Step) Write(plan *tensor.Plan, b Batch, fade float64) error {
	present, heads := shares(b.Valid, s.Z.Shape())
	own := present
	if b.Own != nil {
		own, heads = shares(b.Own, s.Z.Shape())
	}
	faded, shuffled := make([]float32, len(present)), make([]float32, len(present))
	for i, v := range present {
		faded[i], shuffled[i] = float32(fade)*v, float32(s.shuffleWeight)*own[i]
	}
	type input struct {
		to     *tensor.Tensor
		values []float32
	}
	inputs := []input{{s.X, b.X}, {s.Z, b.Z}, {s.Valid, b.Valid}, {s.W0, b.W0}, {s.Present, present}, {s.Fade, faded}, {s.Heads, heads}}
	for i, f := range s.feeds {
		inputs = append(inputs, input{f.to, b.fed[i]})
	}
	if len(s.Shuffles) > 0 {
		inputs = append(inputs, input{s.Own, shuffled})
	}
	if s.Panels != nil {
		inputs = append(inputs, input{s.Panels, panelShares(b.own(), s.Panels.Shape())})
	}
	if s.Prior != nil {
		inputs = append(inputs, input{s.Prior, b.Prior})
	}
	if v := b.Revealed; v != nil {
		inputs = append(inputs, input{s.Given.Any, v.Any}, input{s.Given.Prior, v.Prior}, input{s.Given.For, v.For}, input{s.Given.Against, v.Against}, input{s.Target, v.Target}, input{s.Hidden, v.Hidden}, input{s.Asked, v.Asked},
			input{s.Spoil.Keep, v.Keep}, input{s.Spoil.Mask, v.SpoilMask}, input{s.Spoil.KeepRaters, v.KeepRaters}, input{s.Spoil.Raters, v.SpoilRaters})
		if s.Given.Share != nil {
			inputs = append(inputs, input{s.Given.Share, v.Share}, input{s.Given.Mark, v.Mark})
		}
	}
	for i, row := range s.Shuffles {
		for j, shuffle := range row {
			w := b.Shuffles[i][j]
			if err := plan.WriteUint32(shuffle.Order, w.Order); err != nil {
				return err
			}
			inputs = append(inputs, input{shuffle.Scale, w.Scale}, input{shuffle.Offset, w.Offset})
		}
	}
	for _, in := range inputs {
		if err := plan.Write(in.to, in.values); err != nil {
			return err
		}
	}
	return nil
}

// panelShares is Step.Panels, of shape (B, 1, 1, P): 1 less 1/P for the panel who marked anything in
// an image, and 0 for all where none did. The raters of valid (B, P, K) are the panels.
func panelShares(valid []float32, shape []int) (all []float32) {
	panels := shape[3]
	for image := range slices.Chunk(valid, len(valid)/shape[0]) {
		shares, count := make([]float32, panels), float32(0)
		for p := range shares {
			if slices.Contains(image[p*len(image)/panels:(p+1)*len(image)/panels], 1) {
				shares[p], count = 1, count+1
			}
		}
		for p := range shares {
			if count > 0 {
				shares[p] = shares[p]/count - 1/float32(panels)
			}
		}
		all = append(all, shares...)
	}
	return all
}

// shares are the weights of a pixel in the losses. In a fused map (B, 1, K) the weight is
// 1/(B·S²) if a rater labelled the structure, otherwise 0. In raters' maps (B, M, K) the raters
// who labelled the structure share that weight. z is the shape (B, S, S, M, K).
func shares(valid []float32, z []int) (present, heads []float32) {
	b, m, k := z[0], z[3], z[4]
	pixel := 1 / float32(b*z[1]*z[2])
	present, heads = make([]float32, b*k), make([]float32, b*m*k)
	for i := range b {
		for c := range k {
			count := float32(0)
			for r := range m {
				count += valid[(i*m+r)*k+c]
			}
			if count == 0 {
				continue
			}
			present[i*k+c] = pixel
			for r := range m {
				heads[(i*m+r)*k+c] = pixel * valid[(i*m+r)*k+c] / count
			}
		}
	}
	return present, heads
}
