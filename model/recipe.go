package model

import "mrprism/internal/choice"

// Rule is the confidence ℓ under which labels are fused (PAPER.md §3.3).
type Rule string

// The rules.
const (
	RuleMean       Rule = "mean"       // ℓ = 0: the mean vote
	RuleCode       Rule = "code"       // ℓ = log z̃, the released code's
	RuleLikelihood Rule = "likelihood" // ℓ = log-probability of the label that was given
	RuleAgreement  Rule = "agreement"  // ℓ = how far z̃ agrees with the calibrated mask
)

// Recipe says how a network is trained: the constants of Algorithm 1, the losses and their weights,
// the optimiser.
type Recipe struct {
	Name          string
	Recurrences   int         // τ
	Rule          Rule        // of ℓ
	Permutations  int         // reweightings of L_sff a recurrence that permute the weights
	Draws         int         // reweightings that draw random confidences U(.1, .9)
	ShuffleWeight float64     // ζ
	HeadsWeight   float64     // weight of L_MH, the cross-entropy of each head against its rater
	FadeWeight    float64     // weight of CE(ỹ, y_fuse) at the start; it falls as optim.Fade says
	FadeFloor     float64     // the share of FadeWeight where the fall ends; 1: no fall
	DiceWeight    float64     // weight of the Dice loss of ỹ against y_fuse
	NoSSIM        bool        // the mask learns by cross-entropy alone, without the first half of L_rec
	Threshold     bool        // T₀.₅ on z̃ in L_sff, straight through
	FuseLoss      bool        // the second half of L_rec, 1 − SSIM(y_fuse′, ỹ)
	Levels        bool        // agreement levels stand in the raters' place, see ForLevels
	Steered       bool        // raters keep weights ψ from 1e-3 to 1 in all recurrences; the architecture is Steered
	Integration   Integration // of the architecture, unless another is wished for
	FixedStart    bool        // w₀ = log ½ instead of a draw
	Settles       int         // passes that settle around given marks; 0: none. The architecture then has Evidence
	MaskFirst     float64     // share of the run, at its beginning, in which the mask alone learns
	HeadsFirst    float64     // share in which all but the mask learns, on a network that knows the structure, in place of MaskFirst
	Kept          bool        // encoder and ConP keep their values, and batch norm its statistics
	Frozen        bool        // the network learns nothing but to settle

	Rate     float64 // peak learning rate
	Constant bool    // no cosine
	Decay    float64 // decoupled weight decay
	Average  float64 // momentum of the averaged weights, which are exported; 0: export the last weights
}

// MaskAlone is the name of the recipe that trains the mask as the default recipe does, and nothing
// else.
const MaskAlone = "bce"

// Recipes are the names of NewRecipe without those of studies, and Studied are the latter.
var (
	Recipes = []string{"default", "evidence", "recurrent", "steered", "paper", MaskAlone}
	Studied = []string{"unsteered", "baseline", "one-pass"}
)

// NewRecipe gives the recipe of a name:
//
//	default    ours: the mask learns the mean vote by cross-entropy; then DivP also learns each
//	           rater's marks, and light passes learn to settle around given marks
//	evidence   only those passes learn, on a network that knows the rest
//	recurrent  the paper's alternation as our tables favour it: the mask by cross-entropy and a
//	           Dice loss, without L_sff and L_MH, and by concatenation
//	steered    the paper's alternation with our rule, losses and raters' weights
//	unsteered  steered without raters' weights
//	paper      the paper to the letter
//	baseline   claims compare with it: the mean vote under steered's losses of the mask, without
//	           recurrence or heads
//	one-pass   baseline with raters' weights
//	bce        baseline under binary cross-entropy alone
func NewRecipe(name string) (Recipe, error) {
	r := Recipe{
		Name: name, Recurrences: 2, Rule: RuleLikelihood, Permutations: 2, Draws: 1, ShuffleWeight: 0.3, HeadsWeight: 1,
		FadeWeight: 1, FadeFloor: 0.5, FuseLoss: true, Steered: true, Rate: 2e-3, Average: 0.98,
	}
	switch name {
	case "steered":
	case "unsteered":
		r.Steered = false
	case "paper":
		r.Recurrences, r.Rule, r.Permutations, r.Draws, r.HeadsWeight, r.FadeWeight, r.FadeFloor = 3, RuleCode, 3, 0, 0, 0, 0
		r.Threshold, r.Steered, r.Rate, r.Constant, r.Average = true, false, 1e-4, true, 0
	case "recurrent":
		r.Recurrences, r.Rule, r.Permutations, r.Draws, r.HeadsWeight, r.ShuffleWeight = 3, RuleCode, 0, 0, 0, 0
		r.Steered, r.Integration = false, Concat
		r = r.CrossEntropy()
		r.DiceWeight = 1
	case "default", "evidence", "baseline", "bce", "one-pass":
		r.Recurrences, r.Rule, r.Permutations, r.Draws, r.HeadsWeight = 1, RuleMean, 0, 0, 0
		r.FuseLoss, r.Steered, r.FixedStart = false, false, true
		switch name {
		case "default", "evidence":
			r = r.CrossEntropy()
			r.HeadsWeight, r.Settles, r.Frozen, r.MaskFirst, r.DiceWeight = 1, Settles, name == "evidence", 0.6, 1
			if r.Frozen {
				r.MaskFirst, r.DiceWeight = 0, 0
			}
		case "bce":
			r = r.CrossEntropy()
		case "one-pass":
			r.Rule, r.Steered = RuleLikelihood, true // without estimates, labels are fused under the raters' weights alone
		}
	default:
		return Recipe{}, choice.Known("recipe", name, Recipes)
	}
	return r, nil
}

// Renamed has today's names of recipes by those that versions until 28 November 2026 gave them. The
// names default and recurrent have had two meanings.
var Renamed = map[string]string{"default": "steered", "recurrent": "steered", "alternating": "recurrent"}

// ForLevels is the recipe for agreement levels in the raters' place (PAPER.md §3.13): equal
// weights in every fusion, a cross-entropy for each level, no shuffle, and a start at equal
// confidence.
func (r Recipe) ForLevels() Recipe {
	heads := r.Recurrent()
	r.Levels, r.Steered, r.FixedStart, r.Rule, r.Permutations, r.Draws = true, false, true, RuleMean, 0, 0
	if heads {
		r.HeadsWeight, r.FuseLoss = 1, false // y_fuse is the mean vote and does not depend on DivP
	}
	return r
}

// First is the recipe of the steps of MaskFirst or HeadsFirst.
func (r Recipe) First() Recipe {
	if r.HeadsFirst > 0 {
		r.FadeWeight, r.DiceWeight, r.NoSSIM, r.Kept = 0, 0, true, true
		return r
	}
	r.HeadsWeight, r.Settles = 0, 0
	return r
}

// CrossEntropy is the recipe in which the mask learns by a cross-entropy that does not fade,
// without 1 − SSIM.
func (r Recipe) CrossEntropy() Recipe {
	r.NoSSIM, r.FadeWeight, r.FadeFloor = true, 1, 1
	return r
}

// Recurrent reports whether DivP is trained. In baseline, one-pass or bce it is not: their weights
// are good for the first recurrence alone, since later ones would read DivP's estimates.
func (r Recipe) Recurrent() bool { return r.HeadsWeight > 0 || r.FuseLoss || r.Shuffles() > 0 }

// Heads reports whether DivP learns the raters' marks. In recurrent it learns how far to trust each
// rater where, by the loss of the fused labels alone: its maps are nobody's marks.
func (r Recipe) Heads() bool { return r.HeadsWeight > 0 || r.Shuffles() > 0 }

// Shuffles is the number of reweightings of L_sff a recurrence.
func (r Recipe) Shuffles() int { return r.Permutations + r.Draws }
