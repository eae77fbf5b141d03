package measure

import (
	"context"

	"mrprism/shaders/gpu"
	"mrprism/shaders/vector"
)

// The processor multiplies with the vectors of shaders/vector. Its ceiling is the rate of products
// of blocks that stay in the first cache, on all threads. The fastest of a few block sizes counts,
// because the best size depends on the cache and on the cost of a call.

// block is a repeated product of (rows, terms) and (terms, columns of a panel).
type block struct{ Rows, Terms, Loops int32 }

// blocks is the number of products in a dispatch: enough for the threads of any processor.
const blocks = 256

// candidates are blocks of float32. The smaller rows stay in registers.
func candidates() []block {
	rows := int32(vector.Rows())
	return []block{{Rows: rows / 8, Terms: 128}, {Rows: rows / 8, Terms: 256}, {Rows: rows, Terms: 64}, {Rows: rows, Terms: 256}}
}

// Values of the factors.
func leftValue(i int) int  { return i % 7 }
func rightValue(i int) int { return i % 3 }

// values is the list of value(i) for i < n.
func values[T int8 | float32](n int, value func(int) int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(value(i))
	}
	return out
}

// products and products8 are programs for the processor alone, on one buffer (blocks, rows,
// columns). products adds up all loops; products8 computes the same result in each loop.
var products, products8 = vectorProgram("products", func(rows, terms, loops, columns int, split gpu.Split, a gpu.Array32) {
	split(blocks, func(from, to int) {
		var right vector.Matrix
		left := values[float32](rows*terms, leftValue)
		right.Reset(terms, columns)
		right.Pack(0, 0, terms, values[float32](terms*columns, rightValue), columns)
		for i := from; i < to; i++ {
			for loop := range loops {
				right.Multiply(rows, left, terms, 1, a.F[i*rows*columns:], columns, loop > 0)
			}
		}
	})
}), vectorProgram("products8", func(rows, terms, loops, columns int, split gpu.Split, a gpu.Array32) {
	split(blocks, func(from, to int) {
		var right vector.Bytes
		size, _ := vector.WordBytes()
		left := make([]byte, rows*terms*size)
		vector.ToWords(left, values[int8](rows*terms, leftValue))
		right.Reset(terms, columns)
		for p := range right.Panels() {
			right.Pack(p, 0, terms, values[int8](terms*columns, rightValue))
		}
		lines := vector.Lines{Lines: 1, Rows: rows, Row: terms * size, Parts: 1, Negative: vector.HasNegative(values[int8](rows*terms, leftValue))}
		for i := from; i < to; i++ {
			for range loops {
				for p := range right.Panels() { // one after the other
					right.Multiply(p, &lines, left, a.I[(i*right.Panels()+p)*rows*right.Columns():])
				}
			}
		}
	})
})

func vectorProgram(name string, fast func(rows, terms, loops, columns int, split gpu.Split, a gpu.Array32)) *gpu.Program {
	return &gpu.Program{
		Name: name, Entry: name, Source: "// for the processor alone", Arguments: []gpu.Access{gpu.ReadWrite},
		Body: func(any, []gpu.Array) { panic(name + ": the processor has its own") },
		Fast: func(params any, a []gpu.Array32, split gpu.Split) {
			b := params.(*block)
			fast(int(b.Rows), int(b.Terms), int(b.Loops), vector.Columns(), split, a[0])
		},
	}
}

// measureVectors measures the processor's multiply-adds.
func (c *ceilings) measureVectors(ctx context.Context, d gpu.Device, repeats int) error {
	if err := d.Prepare(ctx, []*gpu.Program{products, products8}); err != nil {
		return err
	}
	columns := vector.Columns()
	most := blocks * vector.Rows() * columns
	buffers, err := d.Allocate(ctx, []gpu.BufferSpec{{Label: "products", Elements: most}, {Label: "products of int8", Type: gpu.I32, Elements: most}})
	if err != nil {
		return err
	}
	defer buffers[0].Release()
	defer buffers[1].Release()
	fastest := func(program *gpu.Program, result gpu.Buffer) (best Spread, err error) {
		for _, b := range candidates() {
			rate, err := fullRate(ctx, d, repeats, func(loops uint32) (gpu.Command, float64) {
				b.Loops = int32(loops)
				return gpu.Command{Program: program, Params: &b, Arguments: []gpu.Buffer{result}, Groups: [3]int{1, 1, 1}},
					blocks * float64(b.Rows) * float64(b.Terms) * float64(columns) * float64(loops)
			})
			if err != nil {
				return best, err
			}
			if rate.Median > best.Median {
				best = rate
			}
		}
		return best, nil
	}
	if c.Arithmetic, err = fastest(products, buffers[0]); err != nil || !vector.HasWords() {
		return err
	}
	c.Int8, err = fastest(products8, buffers[1])
	return err
}
