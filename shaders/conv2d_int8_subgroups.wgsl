enable subgroups;

// Convolution of int8 with int8 for processors that emulate a GPU with subgroups of eight: a subgroup computes 16 pixels × 32 outputs. Each
// lane keeps the four outputs of one quad for every pixel, and loads x for two of the pixels; a broadcast gives it to the others. The
// geometry is that of conv2d.wgsl, the products those of dot4I8Packed: unpacked, they become the multiply-adds of 16-bit numbers that x86 has,
// and cost less than the packed ones, which a driver unpacks without knowing of what is needed again. What is done with the sums, at `store`.

const LANES: u32 = 8u; // a workgroup is one subgroup
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

@compute @workgroup_size(LANES)
fn conv2d_int8(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let phase = phase_of(group.z);
  let quads = i32(params.outputs) / 4;
  let words = i32(params.inputs) / 4;
  let quad = i32(group.y * LANES + lane);
  let q = min(quad, quads - 1);
  let pa = position(i32(group.x * 2u * LANES + lane));
  let pb = position(i32(group.x * 2u * LANES + LANES + lane));
  var all = vec4<i32>(); // the sum of the weights
  var s0 = vec4<i32>();
  var s1 = vec4<i32>();
  var s2 = vec4<i32>();
  var s3 = vec4<i32>();
  var s4 = vec4<i32>();
  var s5 = vec4<i32>();
  var s6 = vec4<i32>();
  var s7 = vec4<i32>();
  var s8 = vec4<i32>();
  var s9 = vec4<i32>();
  var s10 = vec4<i32>();
  var s11 = vec4<i32>();
  var s12 = vec4<i32>();
  var s13 = vec4<i32>();
  var s14 = vec4<i32>();
  var s15 = vec4<i32>();
  var t = 0;
  var s = 0;
  for (var tap = 0; tap < params.rows.taps * params.cols.taps; tap++) { // (t, s), without divisions, which cost as much as a word
    let xa = source(pa, t, s);
    let xb = source(pb, t, s);
    let row = (params.rows.w_start + phase.x + t * params.rows.w_tap) * params.cols.w_size + params.cols.w_start + phase.y + s * params.cols.w_tap;
    var from_w = row * words * quads + q;
    for (var k = 0; k < words; k++) {
      let word = w[from_w];
      let va = load(xa, k);
      let vb = load(xb, k);
      let w0 = weights(word, 0u);
      let a0 = channel(va, 0u);
      let b0 = channel(vb, 0u);
      all += w0;
      s0 += subgroupBroadcast(a0, 0u) * w0;
      s1 += subgroupBroadcast(a0, 1u) * w0;
      s2 += subgroupBroadcast(a0, 2u) * w0;
      s3 += subgroupBroadcast(a0, 3u) * w0;
      s4 += subgroupBroadcast(a0, 4u) * w0;
      s5 += subgroupBroadcast(a0, 5u) * w0;
      s6 += subgroupBroadcast(a0, 6u) * w0;
      s7 += subgroupBroadcast(a0, 7u) * w0;
      s8 += subgroupBroadcast(b0, 0u) * w0;
      s9 += subgroupBroadcast(b0, 1u) * w0;
      s10 += subgroupBroadcast(b0, 2u) * w0;
      s11 += subgroupBroadcast(b0, 3u) * w0;
      s12 += subgroupBroadcast(b0, 4u) * w0;
      s13 += subgroupBroadcast(b0, 5u) * w0;
      s14 += subgroupBroadcast(b0, 6u) * w0;
      s15 += subgroupBroadcast(b0, 7u) * w0;
      let w1 = weights(word, 1u);
      let a1 = channel(va, 1u);
      let b1 = channel(vb, 1u);
      all += w1;
      s0 += subgroupBroadcast(a1, 0u) * w1;
      s1 += subgroupBroadcast(a1, 1u) * w1;
      s2 += subgroupBroadcast(a1, 2u) * w1;
      s3 += subgroupBroadcast(a1, 3u) * w1;
      s4 += subgroupBroadcast(a1, 4u) * w1;
      s5 += subgroupBroadcast(a1, 5u) * w1;
      s6 += subgroupBroadcast(a1, 6u) * w1;
      s7 += subgroupBroadcast(a1, 7u) * w1;
      s8 += subgroupBroadcast(b1, 0u) * w1;
      s9 += subgroupBroadcast(b1, 1u) * w1;
      s10 += subgroupBroadcast(b1, 2u) * w1;
      s11 += subgroupBroadcast(b1, 3u) * w1;
      s12 += subgroupBroadcast(b1, 4u) * w1;
      s13 += subgroupBroadcast(b1, 5u) * w1;
      s14 += subgroupBroadcast(b1, 6u) * w1;
      s15 += subgroupBroadcast(b1, 7u) * w1;
      let w2 = weights(word, 2u);
      let a2 = channel(va, 2u);
      let b2 = channel(vb, 2u);
      all += w2;
      s0 += subgroupBroadcast(a2, 0u) * w2;
      s1 += subgroupBroadcast(a2, 1u) * w2;
      s2 += subgroupBroadcast(a2, 2u) * w2;
      s3 += subgroupBroadcast(a2, 3u) * w2;
      s4 += subgroupBroadcast(a2, 4u) * w2;
      s5 += subgroupBroadcast(a2, 5u) * w2;
      s6 += subgroupBroadcast(a2, 6u) * w2;
      s7 += subgroupBroadcast(a2, 7u) * w2;
      s8 += subgroupBroadcast(b2, 0u) * w2;
      s9 += subgroupBroadcast(b2, 1u) * w2;
      s10 += subgroupBroadcast(b2, 2u) * w2;
      s11 += subgroupBroadcast(b2, 3u) * w2;
      s12 += subgroupBroadcast(b2, 4u) * w2;
      s13 += subgroupBroadcast(b2, 5u) * w2;
      s14 += subgroupBroadcast(b2, 6u) * w2;
      s15 += subgroupBroadcast(b2, 7u) * w2;
      let w3 = weights(word, 3u);
      let a3 = channel(va, 3u);
      let b3 = channel(vb, 3u);
      all += w3;
      s0 += subgroupBroadcast(a3, 0u) * w3;
      s1 += subgroupBroadcast(a3, 1u) * w3;
      s2 += subgroupBroadcast(a3, 2u) * w3;
      s3 += subgroupBroadcast(a3, 3u) * w3;
      s4 += subgroupBroadcast(a3, 4u) * w3;
      s5 += subgroupBroadcast(a3, 5u) * w3;
      s6 += subgroupBroadcast(a3, 6u) * w3;
      s7 += subgroupBroadcast(a3, 7u) * w3;
      s8 += subgroupBroadcast(b3, 0u) * w3;
      s9 += subgroupBroadcast(b3, 1u) * w3;
      s10 += subgroupBroadcast(b3, 2u) * w3;
      s11 += subgroupBroadcast(b3, 3u) * w3;
      s12 += subgroupBroadcast(b3, 4u) * w3;
      s13 += subgroupBroadcast(b3, 5u) * w3;
      s14 += subgroupBroadcast(b3, 6u) * w3;
      s15 += subgroupBroadcast(b3, 7u) * w3;
      from_w += quads;
    }
    s = select(s + 1, 0, s + 1 == params.cols.taps);
    t += select(0, 1, s == 0);
  }
  all *= 128;
  let f = finish(q);
  let da = destination(pa, phase);
  let db = destination(pb, phase);
  store(subgroupBroadcast(da, 0u), quad, f, s0 - all);
  store(subgroupBroadcast(da, 1u), quad, f, s1 - all);
  store(subgroupBroadcast(da, 2u), quad, f, s2 - all);
  store(subgroupBroadcast(da, 3u), quad, f, s3 - all);
  store(subgroupBroadcast(da, 4u), quad, f, s4 - all);
  store(subgroupBroadcast(da, 5u), quad, f, s5 - all);
  store(subgroupBroadcast(da, 6u), quad, f, s6 - all);
  store(subgroupBroadcast(da, 7u), quad, f, s7 - all);
  store(subgroupBroadcast(db, 0u), quad, f, s8 - all);
  store(subgroupBroadcast(db, 1u), quad, f, s9 - all);
  store(subgroupBroadcast(db, 2u), quad, f, s10 - all);
  store(subgroupBroadcast(db, 3u), quad, f, s11 - all);
  store(subgroupBroadcast(db, 4u), quad, f, s12 - all);
  store(subgroupBroadcast(db, 5u), quad, f, s13 - all);
  store(subgroupBroadcast(db, 6u), quad, f, s14 - all);
  store(subgroupBroadcast(db, 7u), quad, f, s15 - all);
}
