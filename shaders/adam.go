package shaders

import (
	_ "embed"
	"math"

	"mrprism/internal/gpu"
)

//go:embed adam.wgsl
var adamFile string

type adamParams struct {
	N                            uint32
	Beta1, Beta2, Epsilon, Decay float32
}

// AdamOptions are the constants of Adam; what changes from step to step is in the schedule tensor.
type AdamOptions struct {
	Beta1, Beta2, Epsilon float32
	Decay                 float32 // decoupled weight decay
}

// AdamSchedule gives the five values of the schedule tensor for step t = 1, 2, …: the learning rate, Adam's bias corrections,
// the factor of gradients (0: no update) and the momentum of the averaged weights.
func AdamSchedule(o AdamOptions, t int, rate, factor, averaging float64) []float32 {
	return []float32{
		float32(rate),
		float32(1 / (1 - math.Pow(float64(o.Beta1), float64(t)))),
		float32(1 / (1 - math.Pow(float64(o.Beta2), float64(t)))),
		float32(factor), float32(averaging),
	}
}

var adamStep = wide(flat("adam_step", adamFile, []gpu.Access{read, read, write, write, write, write},
	func(p *adamParams) uint32 { return p.N },
	func(p *adamParams, a []gpu.Array) {
		schedule, m, v, x, average := a[1].F, a[2].F, a[3].F, a[4].F, a[5].F
		if schedule[3] == 0 {
			return
		}
		b1, b2 := float64(p.Beta1), float64(p.Beta2)
		for i := range int(p.N) {
			g := a[0].F[i] * schedule[3]
			m[i] = b1*m[i] + (1-b1)*g
			v[i] = b2*v[i] + (1-b2)*g*g
			step := m[i] * schedule[1] / (math.Sqrt(v[i]*schedule[2]) + float64(p.Epsilon))
			x[i] -= schedule[0] * (step + float64(p.Decay)*x[i])
			average[i] = schedule[4]*average[i] + (1-schedule[4])*x[i]
		}
	}), 0, 1, 2, 3, 4, 5)

// Adam appends the update of the parameter x by its gradient, with first and second moments m and v and the exponential moving
// average of x, all of one shape; schedule holds what AdamSchedule gives.
func Adam(x, gradient, m, v, average, schedule *Tensor, o AdamOptions) {
	sameShape("adam", x, gradient, m, v, average)
	p := &adamParams{uint32(x.Elements()), o.Beta1, o.Beta2, o.Epsilon, o.Decay}
	x.Graph().Dispatch(adamStep, p, gradient, schedule, m, v, x, average)
}
