package shaders

import (
	"math"

	"mrprism/internal/gpu"
)

// attendingRows is how many queries share one pass over keys and values.
const attendingRows = 8

// attentionForwardFast computes, head by head, the scores of a few queries as a matrix product, their exponentials, and the values so
// weighted as another product.
func attentionForwardFast(p *attentionParams, a []gpu.Array32, split gpu.Split) {
	keys, width, all := int(p.Keys), int(p.Width), int(p.Heads*p.Width)
	transposed, values := newColumns(width, keys), newColumns(keys, width)
	for b := range int(p.Batch) {
		for head := range int(p.Heads) {
			kv := a[1].F[b*keys*2*all+head*width:]
			for j := range keys {
				for c, v := range kv[j*2*all:][:width] {
					transposed[j/4*width+c][j%4] = v
				}
			}
			for c := range ceil(width, 4) {
				values.pack(c, keys, 0, keys, kv[all:], width, 2*all)
			}
			split(ceil(int(p.Queries), attendingRows), func(from, to int) {
				scores, sums := make([]float32, attendingRows*ceil(keys, 4)*4), make([]float32, attendingRows*ceil(width, 4)*4)
				for block := from; block < to; block++ {
					p.attend(b, head, block, transposed, values, scores, sums, a)
				}
			})
		}
	}
}

// attend computes one block of queries of one head; scores and sums are room.
func (p *attentionParams) attend(b, head, block int, transposed, values columns, scores, sums []float32, a []gpu.Array32) {
	q, y, logSumExp := a[0].F, a[2].F, a[3].F
	keys, width := int(p.Keys), int(p.Width)
	var queries, weights [][]float32
	first := block * attendingRows
	index := func(row int) int { return (b*int(p.Queries)+first+row)*int(p.Heads) + head }
	for row := range min(attendingRows, int(p.Queries)-first) {
		queries = append(queries, q[index(row)*width:][:width])
		weights = append(weights, scores[row*ceil(keys, 4)*4:][:keys])
	}
	transposed.times(queries, scores)
	var totals [attendingRows]float32
	for row, scores := range weights {
		highest := scores[0]
		for _, s := range scores {
			if s > highest {
				highest = s
			}
		}
		for i := range scores {
			scores[i] = p.Scale * (scores[i] - highest)
		}
		exponentials(scores)
		for _, e := range scores {
			totals[row] += e
		}
		logSumExp[index(row)] = float32((float64(p.Scale*highest) + math.Log(float64(totals[row]))) * math.Log2E)
	}
	values.times(weights, sums)
	for row := range weights {
		for c, sum := range sums[row*ceil(width, 4)*4:][:width] {
			y[index(row)*width+c] = sum / totals[row]
		}
	}
}
