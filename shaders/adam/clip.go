package adam

import (
	_ "embed"
	"fmt"
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

//go:embed clip.wgsl
var clipSource string

type clipParams struct {
	N, Chunks uint32
	Limit     float32
}

func clipChunks(p *clipParams) uint32 { return p.Chunks }
func clipOnce(*clipParams) uint32     { return 1 }

var (
	squareSumsPartial = kernels.InPieces(clipChunks, squareSumsPart[float64], squareSumsPart[float32],
		kernels.PerElement("square_sums_partial", clipSource, []gpu.Access{gpu.Read, gpu.ReadWrite}, clipChunks, nil))
	clipSchedule = kernels.InPieces(clipOnce, clipSchedulePart[float64], clipSchedulePart[float32],
		kernels.PerElement("clip_schedule", clipSource, []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}, func(p *clipParams) uint32 { return p.N }, nil))
)

func squareSumsPart[F gpu.Float](p *clipParams, a []gpu.ArrayOf[F], from, to int) {
	sums, x, step := a[1].F[from:to], a[0].F[:p.N], int(p.Chunks)
	clear(sums)
	for ; from < len(x); from, to = from+step, to+step {
		for i, v := range x[from:min(to, len(x))] {
			sums[i] += v * v
		}
	}
}

// clipSchedulePart computes the whole schedule: there is one, whatever the piece.
func clipSchedulePart[F gpu.Float](p *clipParams, a []gpu.ArrayOf[F], _, _ int) {
	schedule, squares, y := a[0].F, float64(a[1].F[0]), a[2].F
	copy(y[:p.N], schedule)
	switch norm := float64(schedule[3]) * math.Sqrt(squares); {
	case math.IsInf(squares, 0) || math.IsNaN(squares):
		y[3] = 0
	case p.Limit > 0 && norm > float64(p.Limit):
		y[3] *= F(float64(p.Limit) / norm)
	}
}

// SquareSum is Σ x², of shape (1), added up in a fixed order. No gradient.
func SquareSum(x *tensor.Tensor) *tensor.Tensor {
	g, n := x.Graph(), x.Elements()
	p := &clipParams{N: uint32(n), Chunks: uint32(pointwise.ReductionStripes(n))}
	partials := g.New("partial square sums", []int{int(p.Chunks)})
	g.Dispatch(squareSumsPartial, p, x, partials)
	y := g.New("square sum", []int{1})
	g.Dispatch(pointwise.ReduceRowsWrite, &pointwise.ReduceParams{Rows: p.Chunks, Columns: 1, Chunks: p.Chunks}, partials, y)
	return y
}

// Clip returns the schedule (5) for Step, with a factor that keeps the norm of the gradients within
// limit. squares (1) is the sum of the squared gradients, without the schedule's factor. A limit of
// 0 allows any norm. If the norm is not finite, the factor is 0, and Step changes nothing.
func Clip(schedule, squares *tensor.Tensor, limit float32) *tensor.Tensor {
	if schedule.Elements() != 5 || squares.Elements() != 1 {
		panic(fmt.Sprintf("ClipSchedule: schedule %v, squares %v", schedule, squares))
	}
	g := schedule.Graph()
	y := g.New("clipped schedule", schedule.Shape())
	g.Dispatch(clipSchedule, &clipParams{N: 5, Chunks: 1, Limit: limit}, schedule, squares, y)
	return y
}
