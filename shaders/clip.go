package shaders

import (
	_ "embed"
	"fmt"
	"math"

	"mrprism/internal/gpu"
)

//go:embed clip.wgsl
var clipSource string

type clipParams struct {
	N, Chunks uint32
	Limit     float32
}

var (
	squareSumsPartial = perElement("square_sums_partial", clipSource, []gpu.Access{read, write}, func(p *clipParams) uint32 { return p.Chunks },
		func(p *clipParams, a []gpu.Array) {
			clear(a[1].F[:p.Chunks])
			for i := range p.N {
				a[1].F[i%p.Chunks] += a[0].F[i] * a[0].F[i]
			}
		})
	clipSchedule = perElement("clip_schedule", clipSource, []gpu.Access{read, read, write}, func(p *clipParams) uint32 { return p.N },
		func(p *clipParams, a []gpu.Array) {
			schedule, squares, y := a[0].F, a[1].F, a[2].F
			copy(y[:p.N], schedule)
			switch norm := schedule[3] * math.Sqrt(squares[0]); {
			case math.IsInf(squares[0], 0) || math.IsNaN(squares[0]):
				y[3] = 0
			case p.Limit > 0 && norm > float64(p.Limit):
				y[3] *= float64(p.Limit) / norm
			}
		})
)

// SquareSum is Σ x², of shape (1), added up in a fixed order. No gradient.
func SquareSum(x *Tensor) *Tensor {
	g, n := x.Graph(), x.Elements()
	p := &clipParams{N: uint32(n), Chunks: uint32(reductionStripes(n))}
	partials := g.New("partial square sums", []int{int(p.Chunks)})
	g.Dispatch(squareSumsPartial, p, x, partials)
	y := g.New("square sum", []int{1})
	g.Dispatch(reduceRowsWrite, &reduceParams{p.Chunks, 1, p.Chunks}, partials, y)
	return y
}

// ClipSchedule is the schedule (5) for Adam whose factor of the gradients is made smaller where they, with the factor it has and squares (1) the
// sum of their squares, would have a norm above limit (0: any), and 0, so that there is no update, where that is not finite.
func ClipSchedule(schedule, squares *Tensor, limit float32) *Tensor {
	if schedule.Elements() != 5 || squares.Elements() != 1 {
		panic(fmt.Sprintf("ClipSchedule: schedule %v, squares %v", schedule, squares))
	}
	g := schedule.Graph()
	y := g.New("clipped schedule", schedule.Shape())
	g.Dispatch(clipSchedule, &clipParams{N: 5, Chunks: 1, Limit: limit}, schedule, squares, y)
	return y
}
