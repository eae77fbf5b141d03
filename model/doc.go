// Package model is the MrPrism network (Wu et al., "Multi-rater Prism"): encoder, ConP, DivP,
// and Algorithm 1 in training and at inference.
//
// Where the paper is open or contradicts itself, comments cite "PAPER.md §n", an item of PAPER.md
// in this folder. DECISIONS.md says what we chose beyond the paper and what we tried.
//
// config.go has the architecture and its labels, network.go the network. recipe.go says how a
// network is trained, train.go builds the losses of Algorithm 1, update.go the optimiser's step.
// settle.go has the passes around given marks, reveal.go what training gives of them, evidence.go
// what inference is given. infer.go runs one image. method.go is where another way to learn from
// several raters is put in, on the same encoder and decoder: package rivals has them.
// integration.go is for Table 4. precision.go says how a device computes a network, which changes
// no equation of it.
//
// Glossary, paper to code:
//
//	x    image                  (B, S, S, 3), normalised by Normalise
//	z^m  rater m's label        z (B, S, S, M, K), 0 or 1; valid (B, M, K) says which exist
//	z̃^m  DivP's estimate        zHat (B, S/8, S/8, M, K), a probability
//	w̃    log confidence         w (B, S/8, S/8, M, K) = log z̃
//	ỹ    calibrated mask        y (B, S, S, K), a probability; half is the same at S/2
//	f₀   encoder features       Features
//	⊙    fusion                 raters.Fuse under a Rule
//	τ, ζ                        Recipe.Recurrences, Recipe.ShuffleWeight
package model
