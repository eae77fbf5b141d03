package conv

import (
	"slices"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/tensor"
	"mrprism/shaders/pointwise"
)

// conv2dSplit takes x, weight, bias, residual, shortcut, as conv2dForward does, and the two parts
// of the result, of which the first has Chunk outputs.
var conv2dSplit = &tensor.Kernel{
	Name: "conv2d_split", Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite, gpu.ReadWrite},
	Body: tensor.Body(conv2dSplitBody), Fast: tensor.Fast(conv2dForwardFast), Variants: conv2dSplitVariants(),
}

// restAt is the position of conv2dSplit's last argument.
const restAt = ResultAt + 1

// conv2dSplitVariants are those of conv2dForward.
func conv2dSplitVariants() []tensor.Variant {
	variants := conv2dVariants(conv2dParted, conv2dForwardGroups)
	for i := range variants {
		variants[i].Entry = "conv2d_forward"
	}
	return variants
}

func conv2dSplitBody(p *Params, a []gpu.Array) {
	rows, outputs := p.Batch*uint32(p.Rows.YSize*p.Cols.YSize), p.Outputs
	both := gpu.Array{F: make([]float64, rows*outputs)}
	conv2dForwardBody(p, append(slices.Clone(a[:ResultAt]), both))
	pointwise.SplitForward.Body(&pointwise.ConcatParams{Rows: rows, Columns: outputs, Part: p.Chunk}, []gpu.Array{both, a[ResultAt], a[restAt]})
}
