// Shared part of linear_norm*.wgsl: their parameters, their arguments except x, and the moments of
// a row.
//
// Header: real4 (four numbers in storage: vec4<f32>; of f16 in plans of halves).

struct Params {
  rows: u32,
  inputs: u32,
  outputs: u32,
  has_bias: u32,
  has_residual: u32,
  eps: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> w: array<real4>;
@group(0) @binding(3) var<storage, read> bias: array<real4>;
@group(0) @binding(4) var<storage, read> residual: array<real4>;
@group(0) @binding(5) var<storage, read> scale: array<real4>;
@group(0) @binding(6) var<storage, read> shift: array<real4>;
@group(0) @binding(7) var<storage, read_write> y: array<real4>;

// started is the value to which the products of a quad of outputs of a row are added; a row has
// `quads` quads.
fn started(row: u32, quad: u32, quads: u32) -> vec4<f32> {
  var v = vec4<f32>();
  if (params.has_bias == 1u) { v = vec4<f32>(bias[quad]); }
  if (params.has_residual == 1u) { v += vec4<f32>(residual[row * quads + quad]); }
  return v;
}

// joined are the moments (mean, sum of squared distances from it) of n parts of a row and of one
// more part, each of `outputs` outputs. They are joined as in Chan, Golub and LeVeque (1983),
// without a difference of large sums.
fn joined(all: vec2<f32>, n: u32, part: vec2<f32>, outputs: f32) -> vec2<f32> {
  let share = 1.0 / f32(n + 1u);
  let d = part.x - all.x;
  return vec2<f32>(all.x + d * share, all.y + (part.y + d * d * (outputs * f32(n) * share)));
}

// mean_and_rate are μ and r of a row with these moments.
fn mean_and_rate(m: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(m.x, inverseSqrt(m.y / f32(params.outputs) + params.eps));
}

// store normalises quad v of a row, with its μ and r, and writes it.
fn store(row: u32, quad: u32, quads: u32, m: vec2<f32>, v: vec4<f32>) {
  y[row * quads + quad] = real4((v - vec4<f32>(m.x)) * m.y * vec4<f32>(scale[quad]) + vec4<f32>(shift[quad]));
}
