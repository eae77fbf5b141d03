package conv

import (
	"fmt"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
)

// conv2dWhole writes a result to y. conv2dParted writes the first Chunk outputs to y and the others
// to `rest`. conv2dBoth writes a result to y and what it is before the activation to `rest`.
const (
	conv2dWhole = `fn keep(i: i32, v: stored) {}
fn write(pixel: i32, n: i32, outputs: i32, v: stored) { y[pixel * outputs + n] = v; }
`
	conv2dBoth = `@group(0) @binding(7) var<storage, read_write> rest: array<stored>;
fn keep(i: i32, v: stored) { rest[i] = v; }
fn write(pixel: i32, n: i32, outputs: i32, v: stored) { y[pixel * outputs + n] = v; }
`
	conv2dParted = `@group(0) @binding(7) var<storage, read_write> rest: array<stored>;
fn keep(i: i32, v: stored) {}
fn write(pixel: i32, n: i32, outputs: i32, v: stored) {
  let first = i32(params.chunk / WIDTH);
  if (n < first) { y[pixel * first + n] = v; } else { rest[pixel * (outputs - first) + n - first] = v; }
}
`
)

// conv2dFourTerms and conv2dOneTerm are headers of conv2d_subgroups.wgsl for four inputs or one.
const (
	conv2dFourTerms = `const TERMS: u32 = 4u;
alias Terms = vec4<f32>;
alias Four = mat4x4<f32>;
alias Weights = mat4x4<f32>;
fn load_weights(at: i32, quads: i32) -> Weights {
  return Weights(vec4<f32>(w[at]), vec4<f32>(w[at + quads]), vec4<f32>(w[at + 2 * quads]), vec4<f32>(w[at + 3 * quads]));
}
`
	conv2dOneTerm = `const TERMS: u32 = 1u;
alias Terms = f32;
alias Four = vec4<f32>;
alias Weights = vec4<f32>;
fn load_weights(at: i32, quads: i32) -> Weights { return vec4<f32>(w[at]); }
`
)

// conv2dHeader is the header of conv2d_common.wgsl. A kernel reads 1 or 4 inputs of x at a time and
// computes 1 or 4 outputs at a time.
func conv2dHeader(p *Params, inputs, outputs int, write string) string {
	if write == conv2dParted && p.Chunk == 0 {
		write = conv2dBoth
	}
	element := map[int]string{1: "real", 4: "real4"}[inputs]
	return kernels.InOneWidth(outputs) + fmt.Sprintf("alias element = %s;\n", element) +
		epilogueHeader(p) + write + conv2dGeometryPart
}

// conv2dGroups are the workgroups of the variants.
type conv2dGroups struct {
	subgroups, registers, plain func(p *Params) [3]int
	tiles                       func(p *Params) (conv2dTile, [3]int)
}

// conv2dVariants are the ways to compute a convolution, or its gradient by the weights.
// variants.csv says why there are four. Variants with outputs in quads need parts that consist of
// whole quads.
func conv2dVariants(entry, write string, groups conv2dGroups) []tensor.Variant {
	quads := func(p *Params) bool { return p.Outputs%4 == 0 && (write != conv2dParted || p.Chunk%4 == 0) }
	variant := func(file string, inputs, outputs int, groups func(p *Params) [3]int) tensor.Variant {
		return tensor.Variant{
			Source: kernels.Joined(conv2dCommonPart, file), Entry: entry,
			Header: func(params any) string { return conv2dHeader(params.(*Params), inputs, outputs, write) },
			Groups: func(params any) [3]int { return groups(params.(*Params)) },
		}
	}
	subgroups := variant(conv2dSubgroupsFile, 4, 4, groups.subgroups)
	subgroups.Name, subgroups.Enables = "subgroups", "enable subgroups;"
	subgroups.Runs = func(info gpu.Info, params any) bool { return kernels.EightLanes(info) && quads(params.(*Params)) }
	// 32 outputs give every lane a quad.
	subgroups.Prefers = func(_ gpu.Info, params any) bool { return params.(*Params).Outputs >= 32 }
	subgroups.Header = func(params any) string {
		p := params.(*Params)
		if p.Inputs%4 == 0 {
			return conv2dHeader(p, 4, 4, write) + conv2dFourTerms
		}
		return conv2dHeader(p, 1, 4, write) + conv2dOneTerm
	}

	tiles := variant(conv2dTilesFile, 4, 4, func(p *Params) [3]int {
		_, n := groups.tiles(p)
		return n
	})
	header := tiles.Header
	tiles.Name = "tiles"
	tiles.Runs = func(_ gpu.Info, params any) bool {
		p := params.(*Params)
		return quads(p) && p.Inputs%4 == 0
	}
	tiles.Prefers = func(info gpu.Info, params any) bool {
		return kernels.OnGPU(info, params) && fillsTile(params.(*Params))
	}
	tiles.Header = func(params any) string {
		tile, _ := groups.tiles(params.(*Params))
		return header(params) + tile.constants()
	}

	registers := variant(conv2dRegistersFile, 1, 4, groups.registers)
	registers.Name = "registers"
	registers.Runs = func(_ gpu.Info, params any) bool { return quads(params.(*Params)) }
	registers.Prefers = func(info gpu.Info, params any) bool {
		return kernels.OnCPU(info, params) || fillsTile(params.(*Params))
	}
	return []tensor.Variant{subgroups, tiles, registers, variant(conv2dFile, 1, 1, groups.plain)}
}

// fillsTile says whether the outputs fill a good part of a tile, or of a block in registers.
func fillsTile(p *Params) bool { return p.Outputs > 16 }

// conv2dForwardGroups are the workgroups of conv2d_forward.
var conv2dForwardGroups = conv2dGroups{
	subgroups: func(p *Params) [3]int {
		return p.phased([3]int{kernels.Ceil(p.pixels(), 16), kernels.Ceil(int(p.Outputs), 32), 1})
	},
	tiles: func(p *Params) (conv2dTile, [3]int) {
		tile := forwardTile(p, p.taps()*int(p.Inputs))
		return tile, tile.groups(p)
	},
	registers: func(p *Params) [3]int { return p.phased(registerGroups(p, kernels.Ceil(p.pixels(), 8))) },
	plain: func(p *Params) [3]int {
		return p.phased(tensor.Linear(p.pixels()*int(p.Outputs), kernels.Workgroup))
	},
}

// conv2dWeightGroups are the workgroups of conv2d_backward_weight.
var conv2dWeightGroups = conv2dGroups{
	subgroups: func(p *Params) [3]int {
		return [3]int{kernels.Ceil(int(p.Cols.Taps)*int(p.Inputs), 32), kernels.Ceil(int(p.Outputs), 32), int(p.Parts) * int(p.Rows.Taps)}
	},
	tiles: func(p *Params) (conv2dTile, [3]int) {
		rows := p.taps() * int(p.Inputs)
		tile := tileFor(rows*int(p.Outputs*p.Parts), int(p.Chunk))
		return tile, [3]int{kernels.Ceil(rows, tile.rows), kernels.Ceil(int(p.Outputs), tile.columns), int(p.Parts)}
	},
	registers: func(p *Params) [3]int {
		return registerGroups(p, kernels.Ceil(int(p.Cols.Taps)*int(p.Inputs), 8)*int(p.Parts)*int(p.Rows.Taps))
	},
	plain: func(p *Params) [3]int {
		return tensor.Linear(int(p.Parts*p.Inputs*p.Outputs)*p.taps(), kernels.Workgroup)
	},
}

// registerGroups are the workgroups of conv2d_registers.wgsl. There are `blocks` blocks for every 8
// outputs.
func registerGroups(p *Params, blocks int) [3]int {
	return tensor.Linear(kernels.Ceil(int(p.Outputs), 8)*blocks, 32)
}

// conv2dTile is how conv2d_tiles.wgsl and conv2d_int8_tiles.wgsl divide work. A workgroup has rows
// × columns results. Its slices add up depth terms each in turn. Depth is at most rows / 4 and
// columns / 4, since an invocation loads one quad of either factor for a step. For floats depth is
// a multiple of four.
type conv2dTile struct{ rows, columns, slices, depth int }

// A map of 8×8 with 256 outputs has four large tiles, and a card has tens of multiprocessors.
// Sliced tiles make 16 times as many workgroups, and neither dispatches nor buffers.
var (
	largeTile  = conv2dTile{64, 64, 1, 8}
	slicedTile = conv2dTile{16, 16, 16, 4}
)

// tileFor returns the sliced tile if there are fewer than 64 large tiles, and if a sum has enough
// terms (or words) for two steps of every slice.
func tileFor(results, terms int) conv2dTile {
	if results < 64*largeTile.rows*largeTile.columns && terms >= 2*slicedTile.slices*slicedTile.depth {
		return slicedTile
	}
	return largeTile
}

// forwardTile is the tile of conv2d_forward.
func forwardTile(p *Params, terms int) conv2dTile {
	return tileFor(p.pixels()*int(p.Outputs*p.Parts*p.Parts), terms)
}

// groups are the workgroups of conv2d_forward.
func (t conv2dTile) groups(p *Params) [3]int {
	return p.phased([3]int{kernels.Ceil(p.pixels(), t.rows), kernels.Ceil(int(p.Outputs), t.columns), 1})
}

func (t conv2dTile) constants() string {
	rows, columns, partials := t.rows/4, t.columns/4, 1
	if t.slices > 1 {
		partials = rows * columns * t.slices
	}
	return tensor.Constants(map[string]int{
		"ROWS": rows, "COLUMNS": columns, "SLICES": t.slices, "DEPTH": t.depth, "PARTIALS": partials,
	})
}
