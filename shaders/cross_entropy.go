package shaders

import (
	_ "embed"
	"math"

	"mrprism/internal/gpu"
)

//go:embed cross_entropy.wgsl
var crossEntropyFile string

type crossEntropyParams struct {
	N   uint32
	Low float32
}

func crossEntropyCount(p *crossEntropyParams) uint32 { return p.N }

var (
	crossEntropyForward = flat("cross_entropy_forward", crossEntropyFile, []gpu.Access{read, read, write}, crossEntropyCount,
		func(p *crossEntropyParams, a []gpu.Array) {
			for i := range int(p.N) {
				q, t := min(max(a[0].F[i], float64(p.Low)), 1-float64(p.Low)), a[1].F[i]
				a[2].F[i] = -(t*math.Log(q) + (1-t)*math.Log(1-q))
			}
		})
	crossEntropyBackward = flat("cross_entropy_backward", crossEntropyFile, []gpu.Access{read, read, read, write}, crossEntropyCount,
		func(p *crossEntropyParams, a []gpu.Array) {
			for i := range int(p.N) {
				q := min(max(a[0].F[i], float64(p.Low)), 1-float64(p.Low))
				a[3].F[i] += (q - a[1].F[i]) / (q * (1 - q)) * a[2].F[i]
			}
		})
)

// CrossEntropy is the binary cross-entropy of probabilities p against targets t, element by element, with p clamped to
// [low, 1-low]; the gradient passes the clamp (PAPER.md §3.8). No gradient by t.
func CrossEntropy(p, t *Tensor, low float32) *Tensor {
	sameShape("cross_entropy", p, t)
	g := p.Graph()
	params := &crossEntropyParams{uint32(p.Elements()), low}
	l := g.New("cross_entropy", p.Shape(), p)
	g.Dispatch(crossEntropyForward, params, p, t, l)
	g.OnBackward(l, func() { g.Dispatch(crossEntropyBackward, params, p, t, l.Gradient(), p.Gradient()) })
	return l
}
