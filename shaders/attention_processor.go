package shaders

import (
	"math"

	"mrprism/internal/gpu"
	"mrprism/internal/vector"
)

// attentionForwardFast computes, head by head, the scores of some queries as a matrix product, their
// exponentials, and the values so weighted as another product.
func attentionForwardFast(p *attentionParams, a []gpu.Array32, split gpu.Split) {
	keys, width, all := int(p.Keys), int(p.Width), int(p.Heads*p.Width)
	shared, more := takeRoom(), takeRoom()
	defer shared.leave()
	defer more.leave()
	transposed, values := &shared.matrix, &more.matrix
	for b := range int(p.Batch) {
		for head := range int(p.Heads) {
			kv := a[1].F[b*keys*2*all+head*width:]
			transposed.Reset(width, keys)
			for panel := range transposed.Panels() {
				transposed.PackTransposed(panel, kv, 2*all)
			}
			values.Reset(keys, width)
			for panel := range values.Panels() {
				values.Pack(panel, 0, keys, kv[all:], 2*all)
			}
			rows := vector.Rows()
			split(ceil(int(p.Queries), rows), func(from, to int) {
				room := takeRoom()
				defer room.leave()
				for first := from * rows; first < min(to*rows, int(p.Queries)); first += rows {
					p.attend(b, head, first, min(rows, int(p.Queries)-first), transposed, values, room, a)
				}
			})
		}
	}
}

// attend computes some queries of one head.
func (p *attentionParams) attend(b, head, first, count int, transposed, values *vector.Matrix, room *room, a []gpu.Array32) {
	q, y, logSumExp := a[0].F, a[2].F, a[3].F
	keys, width, heads := int(p.Keys), int(p.Width), int(p.Heads)
	index := (b*int(p.Queries)+first)*heads + head // of the first in lse; the next is heads further on
	scores, sums := roomFor(&room.rows, count*transposed.Stride()), roomFor(&room.sums, count*values.Stride())
	transposed.Multiply(count, q[index*width:], heads*width, 1, scores, transposed.Stride(), false)
	totals := make([]float32, count)
	for row := range count {
		scores := scores[row*transposed.Stride():][:keys]
		highest := vector.Max(scores)
		vector.Exp(scores, p.Scale, -p.Scale*highest)
		totals[row] = vector.Sum(scores)
		logSumExp[index+row*heads] = float32((float64(p.Scale*highest) + math.Log(float64(totals[row]))) * math.Log2E)
	}
	values.Multiply(count, scores, transposed.Stride(), 1, sums, values.Stride(), false)
	for row, total := range totals {
		to := y[(index+row*heads)*width:][:width]
		for c, sum := range sums[row*values.Stride():][:width] {
			to[c] = sum / total
		}
	}
}
