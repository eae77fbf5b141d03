// Package attention has softmax attention of several heads, in floats and in int8, and the table of
// positions.
package attention

import (
	_ "embed"
	"fmt"
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
)

//go:embed attention_common.wgsl
var attentionCommonPart string

//go:embed attention.wgsl
var attentionFile string

//go:embed attention_lanes.wgsl
var attentionLanesFile string

//go:embed attention_narrow.wgsl
var attentionNarrowFile string

//go:embed attention_tiles.wgsl
var attentionTilesFile string

// Headers of attention_common.wgsl. A kernel reads one channel of a token at a time or a quad of
// channels, in floats or int8.
const (
	attentionFloats = `alias stored = real;
alias made = real;
alias floats = f32;
fn loaded(v: stored) -> f32 { return f32(v); }
fn store_sum(i: u32, v: f32) { lse_out[i] = v; }
`
	attentionQuads = `alias stored = real4;
alias made = real4;
alias floats = vec4<f32>;
fn loaded(v: stored) -> vec4<f32> { return vec4<f32>(v); }
fn store_sum(i: u32, v: f32) { lse_out[i] = v; }
`
	attentionInt8Quads = `alias stored = u32;
alias made = vec4<f32>;
alias floats = vec4<f32>;
fn loaded(v: u32) -> vec4<f32> { return vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(v) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u)); }
fn store_sum(_i: u32, _v: f32) {} // only gradients need it
`
)

const (
	// The workgroup size of attention.wgsl and attention_narrow.wgsl, and the tokens of an
	// invocation.
	attentionSize, attentionRows = 8, 8
	// The tokens of a workgroup of attention_tiles.wgsl.
	attentionTileQueries, attentionTileKeys = 64, 8
	// The tokens of a workgroup of attention_lanes.wgsl, for heads of up to 16 channels.
	attentionLanesTokens = 8 * 4
)

// Params has the fields of the Params in attention_common.wgsl, which explains them.
type Params struct {
	Batch, Queries, Keys, Heads, Width uint32
	Scale, ValueStep                   float32
}

// attentionLayout says how a kernel divides the count(p) tokens of a head among workgroups. A
// workgroup of the tiled variant has `tile` tokens. A workgroup of the narrow variant has
// attentionSize × narrow(p) tokens.
type attentionLayout struct {
	count  func(p *Params) uint32
	tile   uint32
	narrow func(p *Params) uint32
}

var (
	attentionForwardQueries  = attentionLayout{attentionQueries, attentionTileQueries, attentionForwardRows}
	attentionBackwardQueries = attentionLayout{attentionQueries, attentionTileQueries, attentionBackwardRows}
	attentionBackwardKeys    = attentionLayout{attentionKeys, attentionTileKeys, attentionBackwardRows}
)

func attentionAllRows(p *Params) uint32 { return p.Batch * p.Queries * p.Heads }
func attentionQueries(p *Params) uint32 { return p.Queries }
func attentionKeys(p *Params) uint32    { return p.Keys }

func attentionForwardRows(p *Params) uint32 {
	return min(attentionRows, attentionRows*8/p.Width)
}
func attentionBackwardRows(p *Params) uint32 { return attentionRows * 4 / p.Width }

// groups is the number of workgroups of a variant whose workgroups have tokens(p) tokens each.
func (l attentionLayout) groups(tokens func(p *Params) uint32) func(params any) [3]int {
	return func(params any) [3]int {
		p := params.(*Params)
		return [3]int{kernels.Ceil(int(l.count(p)), int(tokens(p))), int(p.Heads), int(p.Batch)}
	}
}

// inQuads is the header of a kernel that holds channels in quads.
func (p *Params) inQuads(quads string) string {
	return quads + tensor.Constants(map[string]int{"QUADS": int(p.Width / 4)})
}

// tiles and inLanes are the variants "tiles" and "lanes". quads is the header of floats or int8.
func (l attentionLayout) tiles(quads string) tensor.Variant {
	return tensor.Variant{
		Name: "tiles", Source: kernels.Joined(attentionCommonPart, attentionTilesFile),
		Runs:    func(_ gpu.Info, params any) bool { return params.(*Params).Width%4 == 0 },
		Prefers: kernels.OnGPU,
		Groups:  l.groups(func(*Params) uint32 { return l.tile }),
		Header:  func(params any) string { return params.(*Params).inQuads(quads) },
	}
}

func (l attentionLayout) inLanes(quads string) tensor.Variant {
	return tensor.Variant{
		Name: "lanes", Enables: "enable subgroups;", Source: kernels.Joined(attentionCommonPart, attentionLanesFile),
		Runs: func(info gpu.Info, params any) bool {
			width := params.(*Params).Width
			return kernels.EightLanes(info) && (width == 4 || width == 8 || width == 16 || width == 32 || width == 64)
		},
		Groups: l.groups(func(p *Params) uint32 { return attentionLanesTokens / max(1, p.Width/16) }),
		Header: func(params any) string { return params.(*Params).inQuads(quads) },
	}
}

// attentionSource is the source of the plain variant, for heads of any width.
var attentionSource = kernels.Joined(attentionCommonPart, attentionFile)

func attentionHeader(any) string { return attentionFloats }

func attentionKernel(name string, arguments []gpu.Access, layout attentionLayout, body func(p *Params, a []gpu.Array)) *tensor.Kernel {
	return &tensor.Kernel{
		Name: name, Arguments: arguments, Body: tensor.Body(body),
		Variants: []tensor.Variant{
			layout.tiles(attentionQuads), layout.inLanes(attentionQuads),
			{
				Name: "narrow", Source: kernels.Joined(attentionCommonPart, attentionNarrowFile),
				Runs: func(_ gpu.Info, params any) bool {
					width := params.(*Params).Width
					return width == 4 || width == 8
				},
				Groups: layout.groups(func(p *Params) uint32 { return attentionSize * layout.narrow(p) }),
				Header: func(params any) string {
					p := params.(*Params)
					return p.inQuads(attentionQuads) + tensor.Constants(map[string]int{"ROWS": int(layout.narrow(p))})
				},
			},
			{Source: attentionSource, Header: attentionHeader, Groups: layout.groups(func(*Params) uint32 { return attentionSize * attentionRows })},
		},
	}
}

// pairs calls f for every query and every key of the same image and head, with the first elements
// of query, key and value, and the index of the query in lse and delta.
func (p *Params) pairs(f func(query, key, value, index int)) {
	n, l, heads, d := int(p.Queries), int(p.Keys), int(p.Heads), int(p.Width)
	for b := range int(p.Batch) {
		for h := range heads {
			for i := range n {
				for j := range l {
					index := (b*n+i)*heads + h
					key := ((b*l+j)*2*heads + h) * d
					f(index*d, key, key+heads*d, index)
				}
			}
		}
	}
}

// dot is the scalar product of a[i:i+d] and b[j:j+d], d being the channels of a head.
func (p *Params) dot(a []float64, i int, b []float64, j int) float64 {
	sum := 0.0
	for c := range int(p.Width) {
		sum += a[i+c] * b[j+c]
	}
	return sum
}

// addRow adds weight × x[j:j+d] to y[i:i+d].
func (p *Params) addRow(y []float64, i int, weight float64, x []float64, j int) {
	for c := range int(p.Width) {
		y[i+c] += weight * x[j+c]
	}
}

// gradients calls f for every pair, with weight = p[n, l] and scale × ds[n, l] of
// attention_common.wgsl. The arguments begin with q, kv, dy, lse, delta.
func (p *Params) gradients(a []gpu.Array, f func(query, key, value int, weight, ds float64)) {
	q, kv, dy, lse, delta := a[0].F, a[1].F, a[2].F, a[3].F, a[4].F
	p.pairs(func(query, key, value, index int) {
		weight := math.Exp2(float64(p.Scale)*p.dot(q, query, kv, key)*math.Log2E - lse[index])
		f(query, key, value, weight, float64(p.Scale)*weight*(p.dot(dy, query, kv, value)-delta[index]))
	})
}

var (
	attentionForward = kernels.Wide(kernels.Faster(attentionKernel("attention_forward", []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite, gpu.ReadWrite}, attentionForwardQueries,
		func(p *Params, a []gpu.Array) {
			q, kv, y, lse := a[0].F, a[1].F, a[2].F, a[3].F
			rows := int(attentionAllRows(p))
			highest, total := make([]float64, rows), make([]float64, rows)
			for i := range rows {
				highest[i] = math.Inf(-1)
			}
			clear(y[:rows*int(p.Width)])
			p.pairs(func(query, key, _, i int) {
				highest[i] = max(highest[i], float64(p.Scale)*p.dot(q, query, kv, key))
			})
			p.pairs(func(query, key, _, i int) {
				total[i] += math.Exp(float64(p.Scale)*p.dot(q, query, kv, key) - highest[i])
			})
			p.pairs(func(query, key, value, i int) {
				weight := math.Exp(float64(p.Scale)*p.dot(q, query, kv, key)-highest[i]) / total[i]
				p.addRow(y, query, weight, kv, value)
			})
			for i := range rows {
				lse[i] = (highest[i] + math.Log(total[i])) * math.Log2E
			}
		}), attentionForwardFast), 3)

	attentionBackwardQ = kernels.Adding(kernels.Wide(kernels.Faster(attentionKernel("attention_backward_q",
		[]gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite, gpu.ReadWrite}, attentionBackwardQueries,
		func(p *Params, a []gpu.Array) {
			for i := range int(attentionAllRows(p)) {
				a[5].F[i] = p.dot(a[4].F, i*int(p.Width), a[2].F, i*int(p.Width))
			}
			p.gradients(append(a[:4:4], a[5]), func(query, key, _ int, _, ds float64) { p.addRow(a[6].F, query, ds, a[1].F, key) })
		}), attentionBackwardQFast), 3, 5))

	attentionBackwardKV = kernels.Adding(kernels.Wide(kernels.Faster(attentionKernel("attention_backward_kv",
		[]gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite}, attentionBackwardKeys,
		func(p *Params, a []gpu.Array) {
			p.gradients(a, func(query, key, value int, weight, ds float64) {
				p.addRow(a[5].F, key, ds, a[0].F, query)
				p.addRow(a[5].F, value, weight, a[2].F, query)
			})
		}), attentionBackwardKVFast), 3, 4))
)

// Kind takes q and kv. Its results are y and lse of attention_common.wgsl.
var Kind = kernels.Operator(tensor.Kind{
	Name: "Attention", Halves: tensor.HalvesBegin, Images: 2, Repeat: kernels.Repeat(func(p *Params, n uint32) { p.Batch *= n }),
}, attentionForward, func(op *tensor.Op) {
	q, kv, y, lse := op.Inputs[0], op.Inputs[1], op.Outputs[0], op.Outputs[1]
	dy, delta := y.Gradient(), op.Graph().NewOf(gpu.F32, "attention delta", lse.Shape())
	op.Dispatch(attentionBackwardQ, op.Attributes, q, kv, dy, lse, y, delta, q.Gradient())
	if kv.NeedsGradient() {
		op.Dispatch(attentionBackwardKV, op.Attributes, q, kv, dy, lse, delta, kv.Gradient())
	}
})

// Attention is softmax(q kᵀ d^-½) v, of shape (B, N, H·d), for queries q (B, N, H·d) and keys and
// values kv (B, L, 2·H·d): the keys of all heads beside the values of all heads. Each of the H
// heads has its own d ≤ 64 channels. Memory is linear in N and L.
func Attention(q, kv *tensor.Tensor, heads int) *tensor.Tensor {
	kernels.RequireShape("Attention", "q", q, -1, -1, -1)
	kernels.RequireShape("Attention", "kv", kv, q.Dim(0), -1, 2*q.Dim(2))
	if heads < 1 || q.Dim(2)%heads != 0 || q.Dim(2)/heads > 64 {
		panic(fmt.Sprintf("Attention: %v does not divide into %d heads of at most 64 channels", q, heads))
	}
	width := q.Dim(2) / heads
	g := q.Graph()
	p := &Params{
		Batch: uint32(q.Dim(0)), Queries: uint32(q.Dim(1)), Keys: uint32(kv.Dim(1)), Heads: uint32(heads), Width: uint32(width),
		Scale: float32(1 / math.Sqrt(float64(width))),
	}
	y := g.New("attention", q.Shape(), q, kv)
	lse := g.NewOf(gpu.F32, "attention log-sum-exp", []int{q.Dim(0), q.Dim(1), heads})
	g.Append(Kind, p, []*tensor.Tensor{y, lse}, q, kv)
	return y
}

// Work describes what a dispatch of a kernel computes, and counts the operations.
func (p *Params) Work(kernel string) (shape string, operations float64) {
	shape = fmt.Sprintf("%d×%d queries, %d keys, %d×%d", p.Batch, p.Queries, p.Keys, p.Heads, p.Width)
	products := map[string]float64{ // matrix products of queries, keys and channels
		attentionForward.Name: 2, attentionInt8.Name: 2, attentionBackwardQ.Name: 3, attentionBackwardKV.Name: 4,
	}[kernel]
	return shape, 2 * products * float64(p.Batch*p.Heads*p.Width) * float64(p.Queries) * float64(p.Keys)
}
