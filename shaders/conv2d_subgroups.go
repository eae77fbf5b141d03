package shaders

import (
	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
)

// forwardInSubgroups is a variant that computes forwards in blocks of 16 pixels × 32 outputs.
func forwardInSubgroups(name, source string, runs func(gpu.Info, any) bool) tensor.Variant {
	return tensor.Variant{Name: name, Source: source, Runs: runs, Prefers: fillsSubgroups, Groups: func(params any) [3]int {
		p := params.(*conv2dParams)
		return p.phased([3]int{ceil(p.pixels(), 16), ceil(int(p.Outputs), 32), 1})
	}, Consts: conv2dActivation}
}

// weightInSubgroups is one of the gradient by the weights, in blocks of 32 rows × 32 outputs.
func weightInSubgroups(name, source string, runs func(gpu.Info, any) bool) tensor.Variant {
	return tensor.Variant{Name: name, Source: source, Runs: runs, Prefers: fillsSubgroups, Groups: func(params any) [3]int {
		p := params.(*conv2dParams)
		return [3]int{ceil(int(p.Cols.Taps)*int(p.Inputs), 32), ceil(int(p.Outputs), 32), int(p.Parts) * int(p.Rows.Taps)}
	}}
}

// runsSubgroups: subgroups of eight lanes, each with a quad of outputs, and inputs in quads.
func runsSubgroups(info gpu.Info, params any) bool { return inQuads(info, params) && eightLanes(info) }

// runsSubgroupChannels: the same for any number of inputs.
func runsSubgroupChannels(info gpu.Info, params any) bool {
	return outputQuads(info, params) && eightLanes(info)
}

// fillsSubgroups: enough outputs for all lanes.
func fillsSubgroups(_ gpu.Info, params any) bool { return params.(*conv2dParams).Outputs >= 32 }
