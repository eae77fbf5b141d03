// Package adam has the optimiser Adam: one step of it, and the clipping of gradients.
package adam

import (
	_ "embed"
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed adam.wgsl
var adamFile string

type adamParams struct {
	N                            uint32
	Beta1, Beta2, Epsilon, Decay float32
}

// Options are the constants of Adam. The schedule tensor has what changes from step to step.
type Options struct {
	Beta1, Beta2, Epsilon float32
	Decay                 float32 // decoupled weight decay
}

// Schedule gives the five values of the schedule tensor for step t = 1, 2, …: the learning rate,
// Adam's bias corrections, the factor of gradients (0: no update) and the momentum of the averaged
// weights.
func Schedule(o Options, t int, rate, factor, averaging float64) []float32 {
	return []float32{
		float32(rate),
		float32(1 / (1 - math.Pow(float64(o.Beta1), float64(t)))),
		float32(1 / (1 - math.Pow(float64(o.Beta2), float64(t)))),
		float32(factor), float32(averaging),
	}
}

func adamCount(p *adamParams) uint32 { return p.N }

var adamStep = kernels.Wide(kernels.InPieces(adamCount, adamPart[float64], adamPart[float32],
	kernels.Flat("adam_step", adamFile, []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite, gpu.ReadWrite, gpu.ReadWrite, gpu.ReadWrite}, adamCount, nil)), 0, 1, 2, 3, 4, 5)

func adamPart[F gpu.Float](p *adamParams, a []gpu.ArrayOf[F], from, to int) {
	rate, c1, c2, factor, averaging := a[1].F[0], a[1].F[1], a[1].F[2], a[1].F[3], a[1].F[4]
	if factor == 0 {
		return
	}
	s := vector.AdamStep[F]{
		Factor: factor, Rate: rate, Correction1: c1, Correction2: c2, Averaging: averaging,
		Beta1: p.Beta1, Beta2: p.Beta2, Epsilon: p.Epsilon, Decay: p.Decay,
	}
	s.Update(a[4].F[from:to], a[0].F[from:to], a[2].F[from:to], a[3].F[from:to], a[5].F[from:to])
}

// Step appends the update of the parameter x by its gradient, with first and second moments m and v
// and the exponential moving average of x, all of one shape. schedule (5) is Schedule's.
func Step(x, gradient, m, v, average, schedule *tensor.Tensor, o Options) {
	kernels.SameShape("adam", x, gradient, m, v, average)
	p := &adamParams{uint32(x.Elements()), o.Beta1, o.Beta2, o.Epsilon, o.Decay}
	x.Graph().Dispatch(adamStep, p, gradient, schedule, m, v, x, average)
}
