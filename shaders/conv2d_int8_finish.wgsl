// Part of conv2d_int8_*.wgsl: their parameters and arguments, and what is done with the sums, at `store`. Beside conv2d_geometry.wgsl,
// quantize_words.wgsl and activation_functions.wgsl.

alias floats = vec4<f32>;
const INT8: u32 = 0u; // 1: y is int8

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
@group(0) @binding(1) var<storage, read> x: array<u32>;            // (B, H, W, Cin / 4), four channels a word
@group(0) @binding(2) var<storage, read> w: array<vec4<u32>>;      // (taps, Cin / 4, Cout), four channels a word, a quad of outputs an element
@group(0) @binding(3) var<storage, read> scale: array<vec4<f32>>;  // (Cout), what one step of a weight is worth
@group(0) @binding(4) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> residual: array<u32>;     // int8, or the bits of f32
@group(0) @binding(6) var<storage, read> shortcut: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> y: array<u32>;      // int8, or the bits of f32

fn residual_at(i: i32) -> vec4<f32> {
  if (params.int8_residual == 1u) { return vec4<f32>(unpacked(residual[i])); }
  return bitcast<vec4<f32>>(vec4<u32>(residual[4 * i], residual[4 * i + 1], residual[4 * i + 2], residual[4 * i + 3]));
}

// fixed is a whole number of 256ths of a step of y.
fn fixed(v: vec4<f32>) -> vec4<i32> {
  return vec4<i32>(clamp(round(v), vec4<f32>(-8388608.0), vec4<f32>(8388608.0)));
}

// Finish is what a quad of outputs needs to finish its sums: a sum times by, plus start, plus the residual times residual_by.
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

// store finishes a quad of sums and writes it. Where y is int8, every term is rounded to fixed before it is added, so that the result is the
// same to the bit on every device: a term is a product of f32, rounded as every device rounds it, and no addition follows that could be
// fused with it; sums of whole numbers are exact, and so is a sum as f32 once params.shift bits are cut.
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
