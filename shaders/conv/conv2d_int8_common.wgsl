// Shared part of the convolutions of int8 (conv2d_int8*.wgsl): their parameters and arguments, and
// how they finish a sum.
//
// Header: conv2d_geometry.wgsl, floats (vec4<f32>), INT8 (1: y is int8, else f32) and ACTIVATION
// (with INT8 1: ReLU, or 0). All other floats are f32.

// The fields of Params in conv2d_common.wgsl, and then those for int8.
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
  table: u32,           // 0
  table_outputs: u32,   // 0
  int8: u32,            // 1: y is int8
  shift: u32,           // low bits that are cut from a sum, so that the rest is exact in f32
  int8_residual: u32,   // 1: the residual is int8
  sum_factor: f32,      // of a cut sum, beside its output's scale
  residual_factor: f32, // of the residual
  factor: f32,          // of bias, shift and shortcut
}

@group(0) @binding(0) var<uniform> params: Params;
// (B, H, W, Cin / 4), four channels a word
@group(0) @binding(1) var<storage, read> x: array<u32>;
// (taps, Cin / 4, Cout), four channels a word, a quad of outputs an element
@group(0) @binding(2) var<storage, read> w: array<vec4<u32>>;
// (Cout), the size of one step of a weight
@group(0) @binding(3) var<storage, read> scale: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> residual: array<u32>;     // int8, or the bits of f32
@group(0) @binding(6) var<storage, read> shortcut: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> y: array<u32>;      // int8, or the bits of f32

// A word has four whole numbers from −127 to 127, the first in the low byte.
fn unpacked(word: u32) -> vec4<i32> {
  return bitcast<vec4<i32>>(vec4<u32>(word) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u);
}

fn packed(v: vec4<i32>) -> u32 {
  let bytes = (bitcast<vec4<u32>>(v) & vec4<u32>(255u)) << vec4<u32>(0u, 8u, 16u, 24u);
  return bytes.x | bytes.y | bytes.z | bytes.w;
}

// load gives four channels, each increased by 128 to 0 … 255: a processor multiplies faster if it
// knows that one factor is not negative. Channels outside the image are 128. Every sum is therefore
// too large by 128 times the sum of all weights.
fn load(base: i32, k: i32) -> u32 {
  return select(0u, x[max(base, 0) + k], base >= 0) ^ 0x80808080u;
}

// channel is channel c of a word that load gives. weights are the weights of channel c for a quad
// of outputs.
fn channel(word: u32, c: u32) -> i32 { return i32((word >> (8u * c)) & 255u); }
fn weights(words: vec4<u32>, c: u32) -> vec4<i32> { return bitcast<vec4<i32>>(words << vec4<u32>(24u - 8u * c)) >> vec4<u32>(24u); }

fn residual_at(i: i32) -> vec4<f32> {
  if (params.int8_residual == 1u) { return vec4<f32>(unpacked(residual[i])); }
  return bitcast<vec4<f32>>(vec4<u32>(residual[4 * i], residual[4 * i + 1], residual[4 * i + 2], residual[4 * i + 3]));
}

// fixed is v in 256ths of a step of y, rounded.
fn fixed(v: vec4<f32>) -> vec4<i32> {
  return vec4<i32>(clamp(round(v), vec4<f32>(-8388608.0), vec4<f32>(8388608.0)));
}

// Finish says how to finish a sum of a quad of outputs: sum × by + start + residual × residual_by.
struct Finish {
  by: vec4<f32>,
  residual_by: vec4<f32>,
  start: vec4<f32>,
}

fn finish(quad: i32) -> Finish {
  let quads = i32(params.outputs) / 4;
  var f = Finish(scale[quad] * params.sum_factor, vec4<f32>(params.residual_factor), vec4<f32>());
  if (params.has_bias == 1u) { f.start = bias[quad] * params.factor; }
  if (params.has_bias == SCALE_AND_SHIFT) {
    let factor = bias[quad];
    f.by *= factor;
    f.start = bias[quads + quad] * params.factor;
    if ((params.adds & ~ADD_SHORTCUT) == ADD_RESIDUAL_FIRST) { f.residual_by *= factor; }
  }
  return f;
}

// store finishes a quad of sums and writes it. If y is int8, every term is rounded (fixed) before
// it is added, so that every device gets the same bits: a term is one product in f32, which every
// device rounds in the same way, and no addition follows that a device could fuse with it. Sums of
// whole numbers are exact, and a sum is exact in f32 once params.shift bits are cut.
fn store(pixel: i32, quad: i32, f: Finish, total: vec4<i32>) {
  let quads = i32(params.outputs) / 4;
  if (quad >= quads) { return; }
  let i = pixel * quads + quad;
  let sum = vec4<f32>(total >> vec4<u32>(params.shift));
  if (INT8 == 1u) {
    var t = fixed(sum * f.by) + fixed(f.start);
    if ((params.adds & ~ADD_SHORTCUT) != 0u) { t += fixed(residual_at(i) * f.residual_by); }
    if (ACTIVATION != 0u) { t = max(t, vec4<i32>()); }
    if ((params.adds & ADD_SHORTCUT) != 0u) { t += fixed(shortcut[i] * params.factor); }
    y[i] = packed(clamp((t + vec4<i32>(128)) >> vec4<u32>(8u), vec4<i32>(-127), vec4<i32>(127)));
    return;
  }
  var v = sum * f.by + f.start;
  if ((params.adds & ~ADD_SHORTCUT) != 0u) { v += residual_at(i) * f.residual_by; }
  v = activated(v);
  if ((params.adds & ADD_SHORTCUT) != 0u) { v += shortcut[i]; }
  let bits = bitcast<vec4<u32>>(v);
  y[4 * i] = bits.x;
  y[4 * i + 1] = bits.y;
  y[4 * i + 2] = bits.z;
  y[4 * i + 3] = bits.w;
}
