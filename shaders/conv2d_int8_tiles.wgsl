requires packed_4x8_integer_dot_product;

// Convolution of int8 with int8 for GPUs, as a product of matrices that are gathered on the way (implicit GEMM): a workgroup keeps a tile of
// 4 ROWS pixels × 4 COLUMNS outputs, 4 × 4 an invocation, and walks along the contraction DEPTH words of four products at a time, through
// workgroup memory. The geometry is that of conv2d.wgsl. What is done with the sums, at `store`.

const ROWS: u32 = 16u;    // quads
const COLUMNS: u32 = 16u; // quads
const DEPTH: u32 = 8u;    // words
const SIZE: u32 = 256u;   // ROWS × COLUMNS
const LEFT: u32 = 128u;   // DEPTH × ROWS
const RIGHT: u32 = 128u;  // DEPTH × COLUMNS
const ACTIVATION: u32 = 0u; // 1 ReLU; of f32 also 2 GELU, 3 sigmoid
const INT8: u32 = 0u;       // 1: y is int8

struct Axis {
  count: i32,
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
@group(0) @binding(1) var<storage, read> x: array<u32>;            // (B, H, W, Cin / 4), four channels a word
@group(0) @binding(2) var<storage, read> w: array<vec4<u32>>;      // (taps, Cin / 4, Cout), four channels a word, a quad of outputs an element
@group(0) @binding(3) var<storage, read> scale: array<vec4<f32>>;  // (Cout), what one step of a weight is worth
@group(0) @binding(4) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> residual: array<u32>;     // int8, or the bits of f32
@group(0) @binding(6) var<storage, read> shortcut: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> y: array<u32>;      // int8, or the bits of f32

// Position is (b, u, v); b is past the batch for what lies beyond the last.
struct Position {
  b: i32,
  u: i32,
  v: i32,
}

fn position(p: i32) -> Position {
  let row = p / params.cols.count;
  return Position(row / params.rows.count, row % params.rows.count, p % params.cols.count);
}

fn next(p: Position) -> Position {
  let wraps = p.v + 1 == params.cols.count;
  let u = p.u + select(0, 1, wraps);
  let ends = u == params.rows.count;
  return Position(p.b + select(0, 1, ends), select(u, 0, ends), select(p.v + 1, 0, wraps));
}

// source is the first word of the pixel of x that tap (t, s) reads, or -1 outside.
fn source(p: Position, t: i32, s: i32) -> i32 {
  let r = p.u * params.rows.x_step + params.rows.x_start + t * params.rows.x_tap;
  let c = p.v * params.cols.x_step + params.cols.x_start + s * params.cols.x_tap;
  let inside = (r >= 0) & (r < params.rows.x_size) & (c >= 0) & (c < params.cols.x_size) & (p.b < i32(params.batch));
  return select(-1, ((p.b * params.rows.x_size + r) * params.cols.x_size + c) * i32(params.inputs / 4u), inside);
}

// phase_of is that of a workgroup, on either axis.
fn phase_of(z: u32) -> vec2<i32> {
  return vec2<i32>(vec2<u32>(z / params.parts, z % params.parts));
}

// destination is the pixel of y, or -1 beyond the last.
fn destination(p: Position, phase: vec2<i32>) -> i32 {
  let r = p.u * params.rows.y_step + params.rows.y_start + phase.x;
  let c = p.v * params.cols.y_step + params.cols.y_start + phase.y;
  return select(-1, (p.b * params.rows.y_size + r) * params.cols.y_size + c, p.b < i32(params.batch));
}

// activated is the activation of activation.wgsl that the result goes through.
fn activated(v: vec4<f32>) -> vec4<f32> {
  if (ACTIVATION == 1u) { return select(v, vec4<f32>(), v <= vec4<f32>()); }
  if (ACTIVATION == 2u) {
    let a = abs(v) * 0.70710678;
    let t = 1.0 / (1.0 + 0.3275911 * a);
    let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return v * 0.5 * (1.0 + sign(v) * (1.0 - poly * exp(-a * a)));
  }
  if (ACTIVATION == 3u) { return 1.0 / (1.0 + exp(-v)); }
  return v;
}

fn unpacked(word: u32) -> vec4<i32> {
  return bitcast<vec4<i32>>(vec4<u32>(word) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u);
}

fn packed(v: vec4<i32>) -> u32 {
  let bytes = (bitcast<vec4<u32>>(v) & vec4<u32>(255u)) << vec4<u32>(0u, 8u, 16u, 24u);
  return bytes.x | bytes.y | bytes.z | bytes.w;
}

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
  if ((pixel < 0) | (quad >= quads)) { return; }
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

var<workgroup> left: array<vec4<u32>, LEFT>;   // [depth][row quad]
var<workgroup> right: array<vec4<u32>, RIGHT>; // [depth][column quad]

// Term is one word of the contraction: tap (t, s) and word k of the channels.
struct Term {
  t: i32,
  s: i32,
  k: i32,
}

fn term(i: i32) -> Term {
  let words = i32(params.inputs) / 4;
  let tap = i / words;
  return Term(tap / params.cols.taps, tap % params.cols.taps, i % words);
}

fn load_x(p: Position, a: Term, ok: bool) -> u32 {
  let pixel = source(p, a.t, a.s);
  let inside = (pixel >= 0) & ok;
  return select(0u, x[select(0, pixel + a.k, inside)], inside);
}

fn dots(x: u32, words: vec4<u32>) -> vec4<i32> {
  return vec4<i32>(dot4I8Packed(x, words.x), dot4I8Packed(x, words.y), dot4I8Packed(x, words.z), dot4I8Packed(x, words.w));
}

@compute @workgroup_size(SIZE)
fn conv2d_int8(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let quads = i32(params.outputs) / 4;
  let words = i32(params.inputs) / 4;
  let phase = phase_of(group.z);
  let length = params.rows.taps * params.cols.taps * words;
  let first_row = i32(group.x * ROWS * 4u);
  let first_quad = i32(group.y * COLUMNS);
  var s0 = vec4<i32>();
  var s1 = vec4<i32>();
  var s2 = vec4<i32>();
  var s3 = vec4<i32>();
  for (var start = 0; start < length; start += i32(DEPTH)) {
    for (var i = local; i < LEFT; i += SIZE) { // neighbours load neighbouring channels
      let at = start + i32(i % DEPTH);
      let a = term(at);
      let p0 = position(first_row + i32(i / DEPTH) * 4);
      let p1 = next(p0);
      let p2 = next(p1);
      let p3 = next(p2);
      let ok = at < length; // beyond it x is zero, and the weight of no account
      left[(i % DEPTH) * ROWS + i / DEPTH] = vec4<u32>(load_x(p0, a, ok), load_x(p1, a, ok), load_x(p2, a, ok), load_x(p3, a, ok));
    }
    for (var i = local; i < RIGHT; i += SIZE) {
      let a = term(min(start + i32(i / COLUMNS), length - 1));
      let row = (params.rows.w_start + phase.x + a.t * params.rows.w_tap) * params.cols.w_size + params.cols.w_start + phase.y + a.s * params.cols.w_tap;
      right[i] = w[(row * words + a.k) * quads + min(first_quad + i32(i % COLUMNS), quads - 1)];
    }
    workgroupBarrier();
    for (var d = 0u; d < DEPTH; d++) {
      let a = left[d * ROWS + local / COLUMNS];
      let b = right[d * COLUMNS + local % COLUMNS];
      s0 += dots(a.x, b);
      s1 += dots(a.y, b);
      s2 += dots(a.z, b);
      s3 += dots(a.w, b);
    }
    workgroupBarrier();
  }
  let quad = first_quad + i32(local % COLUMNS);
  let f = finish(min(quad, quads - 1));
  let p0 = position(first_row + i32(local / COLUMNS) * 4);
  let p1 = next(p0);
  let p2 = next(p1);
  let p3 = next(p2);
  store(destination(p0, phase), quad, f, s0);
  store(destination(p1, phase), quad, f, s1);
  store(destination(p2, phase), quad, f, s2);
  store(destination(p3, phase), quad, f, s3);
}
