// Convolution of int8 with int8: each invocation keeps 8 pixels × 4 outputs in named variables; no workgroup memory, and nothing that a device
// may lack. The geometry is that of conv2d.wgsl, the products those of dot4I8Packed, unpacked. What is done with the sums, at `store`.

const SIZE: u32 = 32u;
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

// load is four channels, 128 added to each, which makes them 0 to 255: a processor multiplies numbers faster where one is known to have no
// sign. Outside the image they are 128, so that the sum over all taps of 128 times the weight is what is too much everywhere.
fn load(base: i32, k: i32) -> u32 {
  return select(0u, x[max(base, 0) + k], base >= 0) ^ 0x80808080u;
}

// channel c of four words or one, as load gives it, and of a quad of weights, which has its sign.
fn channel(word: u32, c: u32) -> i32 { return i32((word >> (8u * c)) & 255u); }
fn weights(words: vec4<u32>, c: u32) -> vec4<i32> { return bitcast<vec4<i32>>(words << vec4<u32>(24u - 8u * c)) >> vec4<u32>(24u); }

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

@compute @workgroup_size(SIZE)
fn conv2d_int8(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
               @builtin(local_invocation_index) local: u32) {
  let block = i32((group.y * groups.x + group.x) * SIZE + local);
  let phase = phase_of(group.z);
  let quads = i32(params.outputs) / 4;
  let words = i32(params.inputs) / 4;
  let quad = block % quads;
  let p0 = position(block / quads * 8);
  let p1 = next(p0);
  let p2 = next(p1);
  let p3 = next(p2);
  let p4 = next(p3);
  let p5 = next(p4);
  let p6 = next(p5);
  let p7 = next(p6);
  var all = vec4<i32>(); // the sum of the weights
  var s0 = vec4<i32>();
  var s1 = vec4<i32>();
  var s2 = vec4<i32>();
  var s3 = vec4<i32>();
  var s4 = vec4<i32>();
  var s5 = vec4<i32>();
  var s6 = vec4<i32>();
  var s7 = vec4<i32>();
  var t = 0;
  var s = 0;
  for (var tap = 0; tap < params.rows.taps * params.cols.taps; tap++) { // (t, s), without divisions, which cost as much as a word
    let x0 = source(p0, t, s);
    let x1 = source(p1, t, s);
    let x2 = source(p2, t, s);
    let x3 = source(p3, t, s);
    let x4 = source(p4, t, s);
    let x5 = source(p5, t, s);
    let x6 = source(p6, t, s);
    let x7 = source(p7, t, s);
    let row = (params.rows.w_start + phase.x + t * params.rows.w_tap) * params.cols.w_size + params.cols.w_start + phase.y + s * params.cols.w_tap;
    var from_w = row * words * quads + quad;
    for (var k = 0; k < words; k++) {
      let word = w[from_w];
      let w0 = weights(word, 0u);
      let w1 = weights(word, 1u);
      let w2 = weights(word, 2u);
      let w3 = weights(word, 3u);
      all += w0 + w1 + w2 + w3;
      let v0 = load(x0, k);
      s0 += channel(v0, 0u) * w0 + channel(v0, 1u) * w1 + channel(v0, 2u) * w2 + channel(v0, 3u) * w3;
      let v1 = load(x1, k);
      s1 += channel(v1, 0u) * w0 + channel(v1, 1u) * w1 + channel(v1, 2u) * w2 + channel(v1, 3u) * w3;
      let v2 = load(x2, k);
      s2 += channel(v2, 0u) * w0 + channel(v2, 1u) * w1 + channel(v2, 2u) * w2 + channel(v2, 3u) * w3;
      let v3 = load(x3, k);
      s3 += channel(v3, 0u) * w0 + channel(v3, 1u) * w1 + channel(v3, 2u) * w2 + channel(v3, 3u) * w3;
      let v4 = load(x4, k);
      s4 += channel(v4, 0u) * w0 + channel(v4, 1u) * w1 + channel(v4, 2u) * w2 + channel(v4, 3u) * w3;
      let v5 = load(x5, k);
      s5 += channel(v5, 0u) * w0 + channel(v5, 1u) * w1 + channel(v5, 2u) * w2 + channel(v5, 3u) * w3;
      let v6 = load(x6, k);
      s6 += channel(v6, 0u) * w0 + channel(v6, 1u) * w1 + channel(v6, 2u) * w2 + channel(v6, 3u) * w3;
      let v7 = load(x7, k);
      s7 += channel(v7, 0u) * w0 + channel(v7, 1u) * w1 + channel(v7, 2u) * w2 + channel(v7, 3u) * w3;
      from_w += quads;
    }
    s = select(s + 1, 0, s + 1 == params.cols.taps);
    t += select(0, 1, s == 0);
  }
  all *= 128;
  let f = finish(quad);
  store(destination(p0, phase), quad, f, s0 - all);
  store(destination(p1, phase), quad, f, s1 - all);
  store(destination(p2, phase), quad, f, s2 - all);
  store(destination(p3, phase), quad, f, s3 - all);
  store(destination(p4, phase), quad, f, s4 - all);
  store(destination(p5, phase), quad, f, s5 - all);
  store(destination(p6, phase), quad, f, s6 - all);
  store(destination(p7, phase), quad, f, s7 - all);
}
