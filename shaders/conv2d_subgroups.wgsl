enable subgroups;

// Convolution for processors that emulate a GPU with subgroups of eight: a subgroup computes 16 pixels × 32 outputs. Each lane
// keeps the four outputs of one quad for every pixel, and loads x for two of the pixels; a broadcast gives it to the others.
// The maths, and the fields of Params, are those of conv2d.wgsl; outputs are a multiple of four.

alias real = f32; // what storage holds; f16 where a plan asks for it
alias real4 = vec4<f32>; // the same, in quads
const LANES: u32 = 8u; // a workgroup is one subgroup
const ACTIVATION: u32 = 0u; // 1 ReLU, 2 GELU, 3 sigmoid

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
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<real>;
@group(0) @binding(2) var<storage, read> w: array<real4>;
@group(0) @binding(3) var<storage, read> bias: array<real4>;
@group(0) @binding(4) var<storage, read> residual: array<real4>;
@group(0) @binding(5) var<storage, read> shortcut: array<real4>;
@group(0) @binding(6) var<storage, read_write> y: array<real4>;
@group(0) @binding(2) var<storage, read> dy: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> dw: array<vec4<f32>>;

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

// source is the first channel of the pixel of x that tap (t, s) reads, or -1 outside.
fn source(p: Position, t: i32, s: i32) -> i32 {
  let r = p.u * params.rows.x_step + params.rows.x_start + t * params.rows.x_tap;
  let c = p.v * params.cols.x_step + params.cols.x_start + s * params.cols.x_tap;
  let inside = (r >= 0) & (r < params.rows.x_size) & (c >= 0) & (c < params.cols.x_size) & (p.b < i32(params.batch));
  return select(-1, ((p.b * params.rows.x_size + r) * params.cols.x_size + c) * i32(params.inputs), inside);
}

// phase is that of a forward workgroup, on either axis.
fn phase_of(z: u32) -> vec2<i32> {
  return vec2<i32>(vec2<u32>(z / params.parts, z % params.parts));
}

// destination is the pixel of y, or -1 beyond the last.
fn destination(p: Position, phase: vec2<i32>) -> i32 {
  let r = p.u * params.rows.y_step + params.rows.y_start + phase.x;
  let c = p.v * params.cols.y_step + params.cols.y_start + phase.y;
  return select(-1, (p.b * params.rows.y_size + r) * params.cols.y_size + c, p.b < i32(params.batch));
}

fn load(base: i32, k: i32) -> f32 {
  return select(0.0, f32(x[max(base, 0) + k]), base >= 0);
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

fn store(pixel: i32, quad: i32, sum: vec4<f32>) {
  let quads = i32(params.outputs) / 4;
  if ((pixel >= 0) & (quad < quads)) {
    var v = sum;
    let i = pixel * quads + quad;
    let adds = params.adds & 3u;
    if (adds == 3u) { v += vec4<f32>(residual[i]); }
    if (params.has_bias == 2u) { v = v * vec4<f32>(bias[quad]) + vec4<f32>(bias[quads + quad]); }
    if (adds == 1u) { v += vec4<f32>(y[i]); }
    if (adds == 2u) { v += vec4<f32>(residual[i]); }
    v = activated(v);
    if ((params.adds & 4u) != 0u) { v += vec4<f32>(shortcut[i]); }
    y[i] = real4(v);
  }
}

@compute @workgroup_size(LANES)
fn conv2d_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let phase = phase_of(group.z);
  let quads = i32(params.outputs) / 4;
  let quad = i32(group.y * LANES + lane);
  let q = min(quad, quads - 1);
  let pa = position(i32(group.x * 2u * LANES + lane));
  let pb = position(i32(group.x * 2u * LANES + LANES + lane));
  var start = vec4<f32>();
  if (params.has_bias == 1u) { start = vec4<f32>(bias[q]); }
  var s0 = start;
  var s1 = start;
  var s2 = start;
  var s3 = start;
  var s4 = start;
  var s5 = start;
  var s6 = start;
  var s7 = start;
  var s8 = start;
  var s9 = start;
  var s10 = start;
  var s11 = start;
  var s12 = start;
  var s13 = start;
  var s14 = start;
  var s15 = start;
  for (var tap = 0; tap < params.rows.taps * params.cols.taps; tap++) {
    let t = tap / params.cols.taps;
    let s = tap % params.cols.taps;
    let xa = source(pa, t, s);
    let xb = source(pb, t, s);
    let row = (params.rows.w_start + phase.x + t * params.rows.w_tap) * params.cols.w_size + params.cols.w_start + phase.y + s * params.cols.w_tap;
    var from_w = row * i32(params.inputs) * quads + q;
    for (var k = 0; k < i32(params.inputs); k++) {
      let weight = vec4<f32>(w[from_w]);
      let va = load(xa, k);
      let vb = load(xb, k);
      s0 += subgroupBroadcast(va, 0u) * weight;
      s1 += subgroupBroadcast(va, 1u) * weight;
      s2 += subgroupBroadcast(va, 2u) * weight;
      s3 += subgroupBroadcast(va, 3u) * weight;
      s4 += subgroupBroadcast(va, 4u) * weight;
      s5 += subgroupBroadcast(va, 5u) * weight;
      s6 += subgroupBroadcast(va, 6u) * weight;
      s7 += subgroupBroadcast(va, 7u) * weight;
      s8 += subgroupBroadcast(vb, 0u) * weight;
      s9 += subgroupBroadcast(vb, 1u) * weight;
      s10 += subgroupBroadcast(vb, 2u) * weight;
      s11 += subgroupBroadcast(vb, 3u) * weight;
      s12 += subgroupBroadcast(vb, 4u) * weight;
      s13 += subgroupBroadcast(vb, 5u) * weight;
      s14 += subgroupBroadcast(vb, 6u) * weight;
      s15 += subgroupBroadcast(vb, 7u) * weight;
      from_w += quads;
    }
  }
  let da = destination(pa, phase);
  let db = destination(pb, phase);
  store(subgroupBroadcast(da, 0u), quad, s0);
  store(subgroupBroadcast(da, 1u), quad, s1);
  store(subgroupBroadcast(da, 2u), quad, s2);
  store(subgroupBroadcast(da, 3u), quad, s3);
  store(subgroupBroadcast(da, 4u), quad, s4);
  store(subgroupBroadcast(da, 5u), quad, s5);
  store(subgroupBroadcast(da, 6u), quad, s6);
  store(subgroupBroadcast(da, 7u), quad, s7);
  store(subgroupBroadcast(db, 0u), quad, s8);
  store(subgroupBroadcast(db, 1u), quad, s9);
  store(subgroupBroadcast(db, 2u), quad, s10);
  store(subgroupBroadcast(db, 3u), quad, s11);
  store(subgroupBroadcast(db, 4u), quad, s12);
  store(subgroupBroadcast(db, 5u), quad, s13);
  store(subgroupBroadcast(db, 6u), quad, s14);
  store(subgroupBroadcast(db, 7u), quad, s15);
}

// Row j of the weights of one row of taps is channel j % inputs at column tap j / inputs: neighbours in x and in dw alike. A
// pixel has rows [low, high) inside the image; tap reads one of them, base being where row 0 would lie.
fn tap(base: i32, j: i32, low: i32, high: i32) -> f32 {
  let inside = (j >= low) & (j < high);
  return select(0.0, f32(x[select(0, base + j, inside)]), inside);
}

// weight_row is where row j of tap row t lies in dw, in rows; -1 beyond the last.
fn weight_row(part: i32, t: i32, j: i32) -> i32 {
  let row = (part * params.rows.w_size + params.rows.w_start + t * params.rows.w_tap) * params.cols.w_size + params.cols.w_start;
  return select(-1, row * i32(params.inputs) + j, j < params.cols.taps * i32(params.inputs));
}

fn store_weight(row: i32, quad: i32, sum: vec4<f32>) {
  let quads = i32(params.outputs) / 4;
  if ((row >= 0) & (quad < quads)) {
    let before = select(vec4<f32>(), dw[row * quads + quad], params.adds == 1u);
    dw[row * quads + quad] = before + sum;
  }
}

@compute @workgroup_size(LANES)
fn conv2d_backward_weight(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let inputs = i32(params.inputs);
  let quads = i32(params.outputs) / 4;
  let quad = i32(group.y * LANES + lane);
  let q = min(quad, quads - 1);
  let j = i32(group.x * 2u * LANES);
  let t = i32(group.z) % params.rows.taps;
  let part = i32(group.z) / params.rows.taps;
  var s0 = vec4<f32>();
  var s1 = vec4<f32>();
  var s2 = vec4<f32>();
  var s3 = vec4<f32>();
  var s4 = vec4<f32>();
  var s5 = vec4<f32>();
  var s6 = vec4<f32>();
  var s7 = vec4<f32>();
  var s8 = vec4<f32>();
  var s9 = vec4<f32>();
  var s10 = vec4<f32>();
  var s11 = vec4<f32>();
  var s12 = vec4<f32>();
  var s13 = vec4<f32>();
  var s14 = vec4<f32>();
  var s15 = vec4<f32>();
  let first = part * i32(params.chunk);
  let last = min(i32(params.batch) * params.rows.count * params.cols.count, first + i32(params.chunk));
  var p = position(first);
  for (var i = first; i < last; i++) {
    let r = p.u * params.rows.x_step + params.rows.x_start + t * params.rows.x_tap;
    let c = p.v * params.cols.x_step + params.cols.x_start;
    let base = ((p.b * params.rows.x_size + r) * params.cols.x_size + c) * inputs;
    let low = -c * inputs;
    let high = select(low, min(low + params.cols.x_size * inputs, params.cols.taps * inputs), (r >= 0) & (r < params.rows.x_size));
    let from_y = destination(p, vec2<i32>()) * quads;
    let gradient = dy[from_y + q];
    let va = tap(base, j + i32(lane), low, high);
    let vb = tap(base, j + i32(LANES + lane), low, high);
    s0 += subgroupBroadcast(va, 0u) * gradient;
    s1 += subgroupBroadcast(va, 1u) * gradient;
    s2 += subgroupBroadcast(va, 2u) * gradient;
    s3 += subgroupBroadcast(va, 3u) * gradient;
    s4 += subgroupBroadcast(va, 4u) * gradient;
    s5 += subgroupBroadcast(va, 5u) * gradient;
    s6 += subgroupBroadcast(va, 6u) * gradient;
    s7 += subgroupBroadcast(va, 7u) * gradient;
    s8 += subgroupBroadcast(vb, 0u) * gradient;
    s9 += subgroupBroadcast(vb, 1u) * gradient;
    s10 += subgroupBroadcast(vb, 2u) * gradient;
    s11 += subgroupBroadcast(vb, 3u) * gradient;
    s12 += subgroupBroadcast(vb, 4u) * gradient;
    s13 += subgroupBroadcast(vb, 5u) * gradient;
    s14 += subgroupBroadcast(vb, 6u) * gradient;
    s15 += subgroupBroadcast(vb, 7u) * gradient;
    p = next(p);
  }
  store_weight(weight_row(part, t, j + 0), quad, s0);
  store_weight(weight_row(part, t, j + 1), quad, s1);
  store_weight(weight_row(part, t, j + 2), quad, s2);
  store_weight(weight_row(part, t, j + 3), quad, s3);
  store_weight(weight_row(part, t, j + 4), quad, s4);
  store_weight(weight_row(part, t, j + 5), quad, s5);
  store_weight(weight_row(part, t, j + 6), quad, s6);
  store_weight(weight_row(part, t, j + 7), quad, s7);
  store_weight(weight_row(part, t, j + 8), quad, s8);
  store_weight(weight_row(part, t, j + 9), quad, s9);
  store_weight(weight_row(part, t, j + 10), quad, s10);
  store_weight(weight_row(part, t, j + 11), quad, s11);
  store_weight(weight_row(part, t, j + 12), quad, s12);
  store_weight(weight_row(part, t, j + 13), quad, s13);
  store_weight(weight_row(part, t, j + 14), quad, s14);
  store_weight(weight_row(part, t, j + 15), quad, s15);
}
