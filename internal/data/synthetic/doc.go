// Package synthetic makes fundus-like images whose true masks are known. The site's sample
// photograph, test data and the study of self-calibration come from it.
//
// An [Eye] is drawn from a seed alone: an optic disc r(θ) = r₀(1 + Σ aₖ cos(kθ + φₖ))
// with a cup inside, vessels, macula and texture. Geometry is in disc radii (r₀ = 1) with the
// disc's centre at the origin, x to the right and y down. One eye can be painted at any size and
// magnification: whole with [Photograph], or close around the disc with [NewScene].
//
// The ambiguity of the image is known too: structure c appears through the ramp σ(s/β), where s
// is the signed distance to its contour (positive inside) and the ambiguity β(θ) varies with the
// angle. Raters mark z = 1[s + b + kβ + σ·g > 0], where g is a smooth standard normal field.
// Therefore the probability of each label is known in closed form.
//
// [WriteForeign] makes data sets of the pictures of package foreign, in which there is no disc.
//
// A seed decides everything, in every program.
package synthetic
