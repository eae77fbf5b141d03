// Shared part of the convolutions of int8 (conv2d_int8*.wgsl): their parameters and arguments,
// where the pixels and the weights lie that meet (as in conv2d_common.wgsl), and what becomes of a
// sum.
//
// Header: ACTIVATION (of the result: 0 none, 1 ReLU, 2 GELU, 3 sigmoid) and INT8 (1: y is int8,
// else f32). Here all other floats are f32.

struct Axis {
  count: i32, // positions u
  taps: i32,
  x_size: i32,
  x_step: i32,
  x_start: i32,
  x_tap: i32,
  y_size: i32,
  y_step: i32,
  y_start: i32,
  w_size: i32,
  w_start: i32,
  w_tap: i32,
}

struct Params {
  batch: u32,
  inputs: u32,
  outputs: u32,
  has_bias: u32,
  adds: u32,
  parts: u32,
  chunk: u32,
  activation: u32,
  rows: Axis,
  cols: Axis,
  int8: u32,            // 1: y is int8
  shift: u32,           // bits that are cut from a sum, so that what is left is exact in f32
  int8_residual: u32,   // 1: the residual is int8
  sum_factor: f32,      // of a sum so cut, beside its output's scale
  residual_factor: f32, // of the residual
  factor: f32,          // of bias, shift and shortcut
}

@group(0) @binding(0) var<uniform> params: Params;
// (B, H, W, Cin / 4), four channels a word
@group(0) @binding(1) var<storage, read> x: array<u32>;
// (taps, Cin / 4, Cout), four channels a word, a quad of outputs an element
@group(0) @binding(2) var<storage, read> w: array<vec4<u32>>;
// (Cout), what one step of a weight is worth
@group(0) @binding(3) var<storage, read> scale: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> residual: array<u32>;     // int8, or the bits of f32
@group(0) @binding(6) var<storage, read> shortcut: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> y: array<u32>;      // int8, or the bits of f32

// Geometry is that of params. An entry point reads it once: a processor that emulates a GPU reads a
// uniform again wherever it is named.
struct Geometry {
  batch: i32,
  rows: Axis,
  cols: Axis,
}

fn geometry() -> Geometry { return Geometry(i32(params.batch), params.rows, params.cols); }

// Position is (b, u, v); b is past the batch for positions beyond the last.
struct Position {
  b: i32,
  u: i32,
  v: i32,
}

fn positions(g: Geometry) -> i32 { return g.batch * g.rows.count * g.cols.count; }

fn position(g: Geometry, p: i32) -> Position {
  let row = p / g.cols.count;
  return Position(row / g.rows.count, row % g.rows.count, p % g.cols.count);
}

fn next(g: Geometry, p: Position) -> Position {
  let wraps = p.v + 1 == g.cols.count;
  let u = p.u + select(0, 1, wraps);
  let ends = u == g.rows.count;
  return Position(p.b + select(0, 1, ends), select(u, 0, ends), select(p.v + 1, 0, wraps));
}

// source is the pixel of x that tap (t, s) reads, or -1 outside.
fn source(g: Geometry, p: Position, t: i32, s: i32) -> i32 {
  let r = p.u * g.rows.x_step + g.rows.x_start + t * g.rows.x_tap;
  let c = p.v * g.cols.x_step + g.cols.x_start + s * g.cols.x_tap;
  let inside = (r >= 0) & (r < g.rows.x_size) & (c >= 0) & (c < g.cols.x_size) & (p.b < g.batch);
  return select(-1, (p.b * g.rows.x_size + r) * g.cols.x_size + c, inside);
}

// phase_of is that of a forward workgroup, on either axis; (0, 0) where nothing is divided into
// phases.
fn phase_of(z: u32) -> vec2<i32> { return vec2<i32>(vec2<u32>(z / params.parts, z % params.parts)); }

// destination is the pixel of y.
fn destination(g: Geometry, p: Position, phase: vec2<i32>) -> i32 {
  let r = p.u * g.rows.y_step + g.rows.y_start + phase.x;
  let c = p.v * g.cols.y_step + g.cols.y_start + phase.y;
  return (p.b * g.rows.y_size + r) * g.cols.y_size + c;
}

// weight_at is where tap (t, s) lies among the (kh, kw) of the weights.
fn weight_at(g: Geometry, t: i32, s: i32, phase: vec2<i32>) -> i32 {
  let r = g.rows.w_start + phase.x + t * g.rows.w_tap;
  return r * g.cols.w_size + g.cols.w_start + phase.y + s * g.cols.w_tap;
}

// A word has four whole numbers −127 to 127, the first in the low byte.
fn unpacked(word: u32) -> vec4<i32> {
  return bitcast<vec4<i32>>(vec4<u32>(word) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u);
}

fn packed(v: vec4<i32>) -> u32 {
  let bytes = (bitcast<vec4<u32>>(v) & vec4<u32>(255u)) << vec4<u32>(0u, 8u, 16u, 24u);
  return bytes.x | bytes.y | bytes.z | bytes.w;
}

// load is four channels, 128 added to each, which makes them 0 to 255: a processor multiplies
// numbers faster where one is known to have no sign. Outside the image they are 128, so that every
// sum is too large by the sum over all taps of 128 times the weight.
fn load(base: i32, k: i32) -> u32 {
  return select(0u, x[max(base, 0) + k], base >= 0) ^ 0x80808080u;
}

// channel c of four words or one, as load gives it, and of a quad of weights, which has its sign.
fn channel(word: u32, c: u32) -> i32 { return i32((word >> (8u * c)) & 255u); }
fn weights(words: vec4<u32>, c: u32) -> vec4<i32> { return bitcast<vec4<i32>>(words << vec4<u32>(24u - 8u * c)) >> vec4<u32>(24u); }

fn activated(v: vec4<f32>) -> vec4<f32> {
  // a NaN passes, unlike with max()
  if (ACTIVATION == 1u) { return select(v, vec4<f32>(), v <= vec4<f32>()); }
  if (ACTIVATION == 2u) { // erf by Abramowitz & Stegun 7.1.26, whose absolute error is below 1.5e-7
    let a = abs(v) * 0.70710678;
    let t = 1.0 / (1.0 + 0.3275911 * a);
    let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return v * 0.5 * (1.0 + sign(v) * (1.0 - poly * exp(-a * a)));
  }
  if (ACTIVATION == 3u) { return 1.0 / (1.0 + exp(-v)); }
  return v;
}

fn residual_at(i: i32) -> vec4<f32> {
  if (params.int8_residual == 1u) { return vec4<f32>(unpacked(residual[i])); }
  return bitcast<vec4<f32>>(vec4<u32>(residual[4 * i], residual[4 * i + 1], residual[4 * i + 2], residual[4 * i + 3]));
}

// fixed is a whole number of 256ths of a step of y.
fn fixed(v: vec4<f32>) -> vec4<i32> {
  return vec4<i32>(clamp(round(v), vec4<f32>(-8388608.0), vec4<f32>(8388608.0)));
}

// Finish finishes the sums of a quad of outputs: a sum times by, plus start, plus the residual
// times residual_by.
struct Finish {
  by: vec4<f32>,
  residual_by: vec4<f32>,
  start: vec4<f32>,
}

fn finish(quad: i32) -> Finish {
  let quads = i32(params.outputs) / 4;
  var f = Finish(scale[quad] * params.sum_factor, vec4<f32>(params.residual_factor), vec4<f32>());
  if (params.has_bias == 1u) { f.start = bias[quad] * params.factor; }
  if (params.has_bias == 2u) {
    let factor = bias[quad];
    f.by *= factor;
    f.start = bias[quads + quad] * params.factor;
    if ((params.adds & 3u) == 3u) { f.residual_by *= factor; }
  }
  return f;
}

// store finishes a quad of sums and writes it. Where y is int8, every term is rounded to fixed
// before it is added, so that every device has the same bits: a term is a product of f32, rounded
// as every device rounds it, and no addition follows that could be fused with it; sums of whole
// numbers are exact, and so is a sum as f32 once params.shift bits are cut.
fn store(pixel: i32, quad: i32, f: Finish, total: vec4<i32>) {
  let quads = i32(params.outputs) / 4;
  if (quad >= quads) { return; }
  let i = pixel * quads + quad;
  let sum = vec4<f32>(total >> vec4<u32>(params.shift));
  if (INT8 == 1u) {
    var t = fixed(sum * f.by) + fixed(f.start);
    if ((params.adds & 3u) != 0u) { t += fixed(residual_at(i) * f.residual_by); }
    if (ACTIVATION == 1u) { t = max(t, vec4<i32>()); }
    if ((params.adds & 4u) != 0u) { t += fixed(shortcut[i] * params.factor); }
    y[i] = packed(clamp((t + vec4<i32>(128)) >> vec4<u32>(8u), vec4<i32>(-127), vec4<i32>(127)));
    return;
  }
  var v = sum * f.by + f.start;
  if ((params.adds & 3u) != 0u) { v += residual_at(i) * f.residual_by; }
  v = activated(v);
  if ((params.adds & 4u) != 0u) { v += shortcut[i]; }
  let bits = bitcast<vec4<u32>>(v);
  y[4 * i] = bits.x;
  y[4 * i + 1] = bits.y;
  y[4 * i + 2] = bits.z;
  y[4 * i + 3] = bits.w;
}
