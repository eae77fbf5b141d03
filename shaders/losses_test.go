package shaders

import (
	"math/rand/v2"
	"testing"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/gpu/reference"
	"mrprism/internal/compute/tensor"

	"github.com/stretchr/testify/require"
)

// probability is a value well inside (0, 1).
func probability(_, _ int, r *rand.Rand) float64 { return 0.05 + 0.9*r.Float64() }

// oneMissing is validity (B, M, K) in which rater 1 of image 0 did not label the first structure.
func oneMissing(g *tensor.Graph, batch, raters, classes int) *Tensor {
	v := make([]float32, batch*raters*classes)
	for i := range v {
		v[i] = 1
	}
	v[classes] = 0
	return g.Constant("valid", v, batch, raters, classes)
}

func TestClampLog(t *testing.T) {
	for _, shape := range [][]int{{2, 5, 7, 3}, {2, 5, 7, 4}} {
		checkOperator(t, operatorTest{
			inputs: [][]int{shape},
			build:  func(x []*Tensor) *Tensor { return ClampLog(x[0], 0.2, 0.8) },
			half:   rounded, mixed: rounded,
			fill: func(_, _ int, r *rand.Rand) float64 { // clear of both kinks
				return []float64{0.1, 0.3, 0.5, 0.7, 0.9}[r.IntN(5)] + 0.05*r.Float64()
			},
		})
	}
}

// TestClampLogAbsorbsSum compares logarithm and sum in one dispatch, on every device, with the reference's of one after the other, which
// keeping the result between them forces.
func TestClampLogAbsorbsSum(t *testing.T) {
	for name, sum := range map[string]func(log, other *Tensor) *Tensor{
		"a table":     AddBroadcast,
		"on the left": Add,
		"on the right": func(log, other *Tensor) *Tensor {
			return Add(other, log)
		},
	} {
		for _, shape := range [][]int{{1, 5, 7, 3}, {1, 5, 7, 4}} {
			test := operatorTest{inputs: [][]int{shape, shape}, fixed: map[int]bool{0: true, 1: true}, fill: probability, half: rounded}
			for _, test := range test.storages() {
				ref := reference.Open()
				test.build = func(x []*Tensor) *Tensor { return sum(ClampLog(x[0], 0.2, 0.8).Keep(), x[1]) }
				want := test.run(t, t.Context(), ref)
				test.build = func(x []*Tensor) *Tensor { return sum(ClampLog(x[0], 0.2, 0.8), x[1]) }
				fused := test.compile(t, t.Context(), ref)
				require.Equal(t, 1, fused.plan.Dispatches(), name)
				fused.plan.Release()
				require.NoError(t, ref.Close())
				asVariants(t, func(device string, d gpu.Device) {
					if !test.runsOn(d) {
						return
					}
					got := test.run(t, t.Context(), d)
					test.compare(t, device, name, got[0], want[0])
				})
			}
		}
	}
}

// ratersShapes are maps (B, H, W, M, K) whose blocks are of one pixel, and in quads of four, two and one; in the last a block would be too large.
var ratersShapes = [][]int{{2, 3, 5, 4, 2}, {1, 4, 3, 3, 1}, {2, 3, 6, 2, 2}, {2, 3, 5, 2, 4}, {1, 2, 4, 30, 3}}

func TestFuse(t *testing.T) {
	for _, shape := range ratersShapes {
		checkOperator(t, operatorTest{
			inputs: [][]int{shape, shape},
			build: func(x []*Tensor) *Tensor {
				return Fuse(x[0], x[1], oneMissing(x[0].Graph(), shape[0], shape[3], shape[4]))
			},
		})
	}
}

func TestRaters(t *testing.T) {
	for _, shape := range ratersShapes {
		raters := shape[3]
		t.Run("weigh", func(t *testing.T) {
			checkOperator(t, operatorTest{
				inputs: [][]int{shape},
				build: func(x []*Tensor) *Tensor {
					share := make([]float32, shape[0]*raters*shape[4])
					for i := range share {
						share[i] = float32(i%5) / 4
					}
					return WeighRaters(x[0], x[0].Graph().Constant("share", share, shape[0], raters, shape[4]))
				},
			})
		})
		t.Run("shuffle", func(t *testing.T) {
			checkOperator(t, operatorTest{
				inputs: [][]int{shape}, fixed: map[int]bool{0: true}, rough: true, // no gradient by definition
				build: func(x []*Tensor) *Tensor {
					order, scale, offset := make([]uint32, raters), make([]float32, raters), make([]float32, raters)
					for m := range order {
						order[m], scale[m], offset[m] = uint32((m+raters-1)%raters), float32(m%3)/2, float32(m%2)
					}
					g := x[0].Graph()
					return ShuffleRaters(x[0], Shuffle{
						Order: g.ConstantUint32("order", order, raters),
						Scale: g.Constant("scale", scale, raters), Offset: g.Constant("offset", offset, raters),
					})
				},
			})
		})
		t.Run("disputed", func(t *testing.T) {
			checkOperator(t, operatorTest{
				inputs: [][]int{shape}, fixed: map[int]bool{0: true}, rough: true,
				fill:  func(_, i int, _ *rand.Rand) float64 { return float64(i / 7 % 2) },
				build: func(x []*Tensor) *Tensor { return Disputed(x[0], oneMissing(x[0].Graph(), shape[0], raters, shape[4])) },
			})
		})
	}
	t.Run("disputed is where valid raters differ", func(t *testing.T) {
		got := evaluate(t, func(g *tensor.Graph) *Tensor {
			z := g.Constant("z", []float32{1, 0, 1 /**/, 0, 0, 0 /**/, 1, 1, 0}, 1, 1, 3, 3, 1)
			return Disputed(z, g.Constant("valid", []float32{1, 0, 1}, 1, 3, 1))
		})
		require.Equal(t, []float32{0, 0, 1}, got)
	})
}

func TestRules(t *testing.T) {
	for _, shape := range [][]int{{2, 9, 8, 3, 2}, {1, 7, 5, 2, 2}} {
		labels := func(g *tensor.Graph) *Tensor {
			r := rand.New(rand.NewPCG(7, 8))
			z := make([]float32, shape[0]*shape[1]*shape[2]*shape[3]*shape[4])
			for i := range z {
				z[i] = float32(r.IntN(2))
			}
			return g.Constant("z", z, shape...)
		}
		t.Run("likelihood", func(t *testing.T) {
			checkOperator(t, operatorTest{
				inputs: [][]int{shape}, fill: probability,
				build: func(x []*Tensor) *Tensor {
					g := x[0].Graph()
					return LikelihoodRule(x[0], labels(g), oneMissing(g, shape[0], shape[3], shape[4]), 1.3)
				},
			})
		})
		t.Run("agreement", func(t *testing.T) {
			checkOperator(t, operatorTest{
				inputs: [][]int{shape, {shape[0], shape[1], shape[2], shape[4]}}, fill: probability, fixed: map[int]bool{1: true},
				build: func(x []*Tensor) *Tensor { return AgreementRule(x[0], x[1]) },
			})
		})
	}
}

func TestGaussianBlur(t *testing.T) {
	checkOperator(t, operatorTest{
		inputs: [][]int{{2, 7, 13, 3}},
		build:  func(x []*Tensor) *Tensor { return GaussianBlur(x[0], 1.5, 5) },
	})
	checkOperator(t, operatorTest{ // quads, and more than one gradient
		inputs: [][]int{{2, 17, 3, 4}}, half: rounded,
		build: func(x []*Tensor) *Tensor { return Add(x[0], GaussianBlur(x[0], 1.5, 5)) },
	})
}

func TestSSIM(t *testing.T) {
	checkOperator(t, operatorTest{
		inputs: [][]int{{2, 13, 9, 2}, {2, 13, 9, 2}}, fill: probability,
		build: func(x []*Tensor) *Tensor { return SSIMLoss(x[0], x[1]) },
		// variances are differences of close moments: the quotient magnifies f32 rounding, its gradient more so
		atol: 1e-4, rtol: 1e-4, fd: 1e-4,
	})
	t.Run("of a map with itself is 1", func(t *testing.T) {
		got := evaluate(t, func(g *tensor.Graph) *Tensor {
			a := make([]float32, 12*12)
			for i := range a {
				a[i] = float32(i%7) / 7
			}
			x := g.Constant("a", a, 1, 12, 12, 1)
			return SSIMLoss(x, g.Constant("b", a, 1, 12, 12, 1))
		})
		for _, v := range got {
			require.InDelta(t, 0, v, 1e-12)
		}
	})
}

func TestCrossEntropy(t *testing.T) {
	for _, shape := range [][]int{{3, 5, 7}, {3, 5, 8}} {
		checkOperator(t, operatorTest{
			inputs: [][]int{shape, shape}, fill: probability, fixed: map[int]bool{1: true},
			build: func(x []*Tensor) *Tensor { return CrossEntropy(x[0], x[1], 0.01) },
		})
	}
	t.Run("gradient passes the clamp", func(t *testing.T) {
		checkOperator(t, operatorTest{
			inputs: [][]int{{40}, {40}}, fixed: map[int]bool{1: true}, rough: true, rtol: 1e-4,
			fill:  func(k, _ int, r *rand.Rand) float64 { return []float64{r.Float64() * 0.01, 1}[k] },
			build: func(x []*Tensor) *Tensor { return CrossEntropy(x[0], x[1], 0.01) },
		})
		g := tensor.NewGraph()
		p := g.Input("p", 1).Track()
		l := CrossEntropy(p, g.Constant("t", []float32{1}, 1), 0.01)
		seed := g.Constant("seed", []float32{1}, 1)
		g.Backward(l, seed)
		d := p.Gradient().Keep()
		plan, err := Compile(t.Context(), reference.Open(), tensor.NewSet(), g)
		require.NoError(t, err)
		require.NoError(t, plan.Write(p, []float32{1e-6}))
		require.NoError(t, plan.Run(t.Context()))
		got, err := plan.Read(t.Context(), d)
		require.NoError(t, err)
		require.InDelta(t, -100, got[0][0], 1e-3) // (p̂ − 1)/(p̂ (1 − p̂)) = −1/p̂ at p̂ = 0.01
	})
}

func TestDiceLoss(t *testing.T) {
	for _, shape := range [][]int{{2, 5, 7, 3}, {3, 8, 9, 1}, {1, 2, 2, 4}} {
		checkOperator(t, operatorTest{
			inputs: [][]int{shape, shape}, fixed: map[int]bool{1: true},
			// above and below the target, never so close that a finite difference would change sides
			fill: func(input, i int, r *rand.Rand) float64 {
				return 0.2 + 0.25*float64(i%3) + 0.1*float64(input*(1-2*(i/2%2))) + 0.05*r.Float64()
			},
			build: func(x []*Tensor) *Tensor { return DiceLoss(x[0], x[1]) },
		})
	}
	t.Run("by hand", func(t *testing.T) {
		got := evaluate(t, func(g *tensor.Graph) *Tensor {
			p := g.Constant("p", []float32{1, 0.5 /**/, 1, 0.25 /**/, 0, 0.5}, 1, 3, 1, 2)
			truth := g.Constant("t", []float32{1, 0.5 /**/, 0, 0.25 /**/, 0, 0.5}, 1, 3, 1, 2)
			return DiceLoss(p, truth)
		})
		require.InDelta(t, 1.0/4, got[0], 1e-7, "one pixel of 2 and 1")
		require.Zero(t, got[1], "soft values that agree")
	})
}

func TestStraightThrough(t *testing.T) {
	for _, f := range []func(x *Tensor) *Tensor{
		func(x *Tensor) *Tensor { return Threshold(x, 0.5) },
		func(x *Tensor) *Tensor { return Clamp(x, 0.3, 0.6) },
	} {
		for _, shape := range [][]int{{3, 5, 7}, {3, 5, 8}} {
			checkOperator(t, operatorTest{
				inputs: [][]int{shape}, fill: probability, rough: true, // the gradient is stated, not the derivative
				build: func(x []*Tensor) *Tensor { return f(x[0]) },
			})
		}
	}
}

// evaluate runs a graph without inputs on the reference.
func evaluate(t *testing.T, build func(g *tensor.Graph) *Tensor) []float32 {
	t.Helper()
	g := tensor.NewGraph()
	y := build(g).Keep()
	plan, err := Compile(t.Context(), reference.Open(), tensor.NewSet(), g)
	require.NoError(t, err)
	require.NoError(t, plan.Run(t.Context()))
	values, err := plan.Read(t.Context(), y)
	require.NoError(t, err)
	return values[0]
}

func TestWhatNobodyMarkedStaysUnmarked(t *testing.T) {
	// The paper's letter, softmax over classes of Σ_m log z̃·z (PAPER.md §3.3), marks what nobody has marked where all are sure of that: the
	// class without a vote sums to 0, the maximum. Ours must not do that.
	ours := evaluate(t, func(g *tensor.Graph) *Tensor {
		e := g.Constant("estimate", []float32{.01, .01, .01}, 1, 1, 1, 3, 1)
		votes := g.Constant("z", []float32{0, 0, 0}, 1, 1, 1, 3, 1)
		valid := g.Constant("valid", []float32{1, 1, 1}, 1, 3, 1)
		return Fuse(LikelihoodRule(e, votes, valid, 1), votes, valid)
	})
	require.Equal(t, []float32{0}, ours)
}
