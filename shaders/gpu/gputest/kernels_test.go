package gputest_test

import (
	"math"

	"mrprism/shaders/gpu"
)

// vectors is WGSL over f32 vectors of any length with several entry points; each states what it
// computes.
const vectors = `
struct Params { n: u32, factor: f32, bias: i32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(1) var<storage, read_write> z: array<f32>;

// y = factor·x + bias
@compute @workgroup_size(64) fn scale(@builtin(global_invocation_id) id: vec3u) {
	if (id.x < params.n) { y[id.x] = params.factor * x[id.x] + f32(params.bias); }
}

// y += x
@compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3u) {
	if (id.x < params.n) { y[id.x] += x[id.x]; }
}

// z += 1
@compute @workgroup_size(64) fn increment(@builtin(global_invocation_id) id: vec3u) {
	if (id.x < params.n) { z[id.x] += 1.0; }
}

// y and v become their sum
@group(0) @binding(1) var<storage, read_write> v: array<f32>;
@compute @workgroup_size(64) fn both(@builtin(global_invocation_id) id: vec3u) {
	if (id.x < params.n) {
		y[id.x] += v[id.x];
		v[id.x] = y[id.x];
	}
}

// z = 1 on a GPU; the Go body writes 2, and a test can tell which of them ran
@compute @workgroup_size(64) fn who(@builtin(global_invocation_id) id: vec3u) {
	if (id.x < params.n) { z[id.x] = 1.0; }
}

// z becomes a sum of many terms: slow on purpose
@compute @workgroup_size(64) fn slow(@builtin(global_invocation_id) id: vec3u) {
	var sum = z[id.x];
	for (var i = 0u; i < params.n; i++) { sum = sum * params.factor + 1.0; }
	z[id.x] = sum;
}
`

type vectorParams struct {
	N      uint32
	Factor float32
	Bias   int32
}

func vectorProgram(entry string, body func(p vectorParams, x, y []float64), arguments ...gpu.Access) *gpu.Program {
	return &gpu.Program{
		Name: "gputest_" + entry, Source: vectors, Entry: entry, Arguments: arguments,
		Body: func(params any, a []gpu.Array) {
			last := a[len(a)-1].F
			body(*params.(*vectorParams), a[0].F, last)
		},
	}
}

var (
	scale = vectorProgram("scale", func(p vectorParams, x, y []float64) {
		for i := range p.N {
			y[i] = float64(p.Factor)*x[i] + float64(p.Bias)
		}
	}, gpu.Read, gpu.ReadWrite)
	add = vectorProgram("add", func(p vectorParams, x, y []float64) {
		for i := range p.N {
			y[i] += x[i]
		}
	}, gpu.Read, gpu.ReadWrite)
	increment = vectorProgram("increment", func(p vectorParams, z, _ []float64) {
		for i := range p.N {
			z[i]++
		}
	}, gpu.ReadWrite)
	both = vectorProgram("both", func(p vectorParams, v, y []float64) {
		for i := range p.N {
			y[i] += v[i]
			v[i] = y[i]
		}
	}, gpu.ReadWrite, gpu.ReadWrite)
	who = vectorProgram("who", func(p vectorParams, z, _ []float64) {
		for i := range p.N {
			z[i] = 2
		}
	}, gpu.ReadWrite)
	slow = vectorProgram("slow", func(p vectorParams, z, _ []float64) {
		for i := range z {
			for range p.N {
				z[i] = z[i]*float64(p.Factor) + 1
			}
		}
	}, gpu.ReadWrite)
)

// unpack is y[i] = the i-th int8 of x, four to a word, lowest byte first.
var unpack = &gpu.Program{
	Name: "gputest_unpack", Entry: "unpack", Arguments: []gpu.Access{gpu.Read, gpu.ReadWrite},
	Source: `
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<i32>;
@compute @workgroup_size(64) fn unpack(@builtin(global_invocation_id) id: vec3u) {
	if (id.x < arrayLength(&y)) { y[id.x] = i32(x[id.x / 4u] << (24u - 8u * (id.x % 4u))) >> 24u; }
}`,
	Body: func(_ any, a []gpu.Array) {
		for i := range a[1].I {
			a[1].I[i] = int32(a[0].B[i])
		}
	},
}

// grid numbers the workgroups of a dispatch, x fastest.
var grid = &gpu.Program{
	Name: "gputest_grid", Entry: "grid", Arguments: []gpu.Access{gpu.ReadWrite},
	Source: `
struct Params { x: u32, y: u32, z: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> cells: array<u32>;
@compute @workgroup_size(1) fn grid(@builtin(workgroup_id) id: vec3u) {
	let i = id.x + params.x * (id.y + params.y * id.z);
	cells[i] = i + 1u;
}`,
	Body: func(_ any, a []gpu.Array) {
		for i := range a[0].U {
			a[0].U[i] = uint32(i) + 1
		}
	},
}

type gridParams struct{ X, Y, Z uint32 }

// isNaN is nan[i] = 1 if x[i] is NaN. It looks at the bits: a WGSL compiler may assume that x == x.
var isNaN = &gpu.Program{
	Name: "gputest_is_nan", Entry: "is_nan", Arguments: []gpu.Access{gpu.Read, gpu.ReadWrite},
	Source: `
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> nan: array<u32>;
@compute @workgroup_size(64) fn is_nan(@builtin(global_invocation_id) id: vec3u) {
	if (id.x < arrayLength(&x)) { nan[id.x] = select(0u, 1u, (bitcast<u32>(x[id.x]) & 0x7fffffffu) > 0x7f800000u); }
}`,
	Body: func(_ any, a []gpu.Array) {
		for i, v := range a[0].F {
			a[1].U[i] = 0
			if math.IsNaN(v) {
				a[1].U[i] = 1
			}
		}
	},
}

// gather has as many storage arguments as every device allows. The last becomes the sum of the
// others.
var gather = &gpu.Program{
	Name: "gputest_gather", Entry: "gather",
	Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite},
	Source: `
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read> c: array<f32>;
@group(0) @binding(4) var<storage, read> d: array<f32>;
@group(0) @binding(5) var<storage, read> e: array<f32>;
@group(0) @binding(6) var<storage, read> f: array<f32>;
@group(0) @binding(7) var<storage, read> g: array<f32>;
@group(0) @binding(8) var<storage, read_write> sum: array<f32>;
@compute @workgroup_size(1) fn gather(@builtin(global_invocation_id) id: vec3u) {
	let i = id.x;
	sum[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i];
}`,
	Body: func(_ any, a []gpu.Array) {
		for i := range a[7].F {
			a[7].F[i] = 0
			for k := range 7 {
				a[7].F[i] += a[k].F[i]
			}
		}
	},
}
