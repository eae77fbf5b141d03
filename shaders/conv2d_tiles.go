package shaders

import (
	"maps"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
)

// fillsTiles: a GPU, and enough outputs to fill a good part of a tile.
func fillsTiles(info gpu.Info, params any) bool {
	return onGPU(info, params) && params.(*conv2dParams).Outputs > 16
}

// inQuads: inputs and outputs are multiples of four.
func inQuads(info gpu.Info, params any) bool {
	return outputQuads(info, params) && params.(*conv2dParams).Inputs%4 == 0
}

// tiled is a variant with tiles for channels in quads; groups are its workgroups.
func (s *conv2dSources) tiled(name string, tile conv2dTile, groups func(p *conv2dParams, rows, columns int) [3]int) tensor.Variant {
	return tensor.Variant{
		Name: name, Source: s.tiles, Runs: inQuads, Prefers: fillsTiles,
		Groups: func(params any) [3]int { return groups(params.(*conv2dParams), tile.rows, tile.columns) },
		Consts: func(params any) map[string]string {
			constants := tile.consts()
			maps.Copy(constants, conv2dActivation(params))
			return constants
		},
	}
}

// tiledChannels is the same for any channels.
func (s *conv2dSources) tiledChannels(name string, tile conv2dTile, groups func(p *conv2dParams, rows, columns int) [3]int) tensor.Variant {
	v := s.tiled(name, tile, groups)
	v.Source, v.Runs = s.channels, nil
	return v
}

// blocked is the variant with 8 × 8 results an invocation, which is taken where it was measured to be the fastest.
func (s *conv2dSources) blocked() tensor.Variant {
	return tensor.Variant{
		Name: "blocks", Source: s.blocks, Runs: inQuads, Prefers: func(gpu.Info, any) bool { return false },
		Groups: func(params any) [3]int { return forwardTiles(params.(*conv2dParams), 64, 64) },
		Consts: conv2dActivation,
	}
}

// sliced is a variant whose tiles are shared among slices, each with its part of the sums.
func (s *conv2dSources) sliced(name string, tile conv2dTile) tensor.Variant {
	v := s.tiled(name, tile, forwardTiles)
	v.Runs = func(info gpu.Info, params any) bool {
		p := params.(*conv2dParams)
		return inQuads(info, params) && tile.fits(p, p.taps()*int(p.Inputs))
	}
	return v
}

// conv2dTile is how conv2d_terms.wgsl divides work: a workgroup has rows × columns results, of which so many slices add up depth terms in turn. Depth is at
// most rows / 4 and columns / 4, so that a step is loaded at once, a quad of either side an invocation; for floats it is a multiple of four.
type conv2dTile struct{ rows, columns, slices, depth int }

// Tiles that nobody shares.
var (
	tiles64x64 = conv2dTile{64, 64, 1, 8}
	tiles32x64 = conv2dTile{32, 64, 1, 8}
	tiles32x32 = conv2dTile{32, 32, 1, 8}
)

// The coarse maps of a network have few results of long sums, and so few tiles that a GPU would be mostly idle: slices make 64 (of int8), 16 or 4 times as
// many invocations of them, and smaller tiles more workgroups. All take 14 KiB of workgroup memory or less. A sum divided among workgroups would need a
// second dispatch and memory for its parts; divided in one, it needs neither, and is added up in the same order every time.
var (
	slices8x8   = conv2dTile{8, 8, 64, 2}
	slices16x16 = conv2dTile{16, 16, 16, 4}
	slices32x32 = conv2dTile{32, 32, 4, 8}
)

// fits: so few results that there are not 256 workgroups of these tiles, and sums of so many terms that every slice has some twice.
func (t conv2dTile) fits(p *conv2dParams, terms int) bool {
	results := p.pixels() * int(p.Outputs*p.Parts*p.Parts)
	return results < 256*t.rows*t.columns && terms >= 2*t.slices*t.depth
}

// consts are the constants of conv2d_terms.wgsl.
func (t conv2dTile) consts() map[string]string {
	rows, columns, step := t.rows/4, t.columns/4, t.slices*t.depth
	size, partials := rows*columns*t.slices, 1
	if t.slices > 1 {
		partials = size
	}
	return unsigned(map[string]int{
		"ROWS": rows, "COLUMNS": columns, "TILE": rows * columns, "SLICES": t.slices, "SIZE": size,
		"DEPTH": t.depth, "STEP": step, "LEFT": step * rows, "RIGHT": step * columns, "PARTIALS": partials,
	})
}

func forwardTiles(p *conv2dParams, rows, columns int) [3]int {
	return p.phased([3]int{ceil(p.pixels(), rows), ceil(int(p.Outputs), columns), 1})
}

func weightTiles(p *conv2dParams, rows, columns int) [3]int {
	return [3]int{ceil(p.taps()*int(p.Inputs), rows), ceil(int(p.Outputs), columns), int(p.Parts)}
}
