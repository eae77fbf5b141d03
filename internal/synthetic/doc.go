// Package synthetic makes fundus-like images whose truth is known: the source of the site's sample
// photograph, of test data, and of claims about self-calibration.
//
// An [Eye] is drawn from a seed alone: an optic disc r(θ) = r₀(1 + Σ aₖ cos(kθ + φₖ)) with a cup
// inside, vessels, macula and texture. Geometry is in disc radii (r₀ = 1) with the disc's centre at
// the origin, x to the right and y down, so one eye can be painted at any size and magnification:
// whole with [Photograph], or close around the disc with [NewScene].
//
// Where the image is hard to read is known too: structure c appears through the ramp σ(s/β), where
// s is the signed distance to its contour (positive inside) and the ambiguity β(θ) varies with the
// angle. Raters mark z = 1[s + b + kβ + σ·g > 0] with g a smooth standard normal field, so that the
// probability of each label is known in closed form.
//
// Pictures in which there is no disc are drawn too, of the kinds in [ForeignKinds]: they teach a
// network to mark nothing, and test that it does.
//
// Everything is deterministic by seed and the same in every program.
package synthetic
