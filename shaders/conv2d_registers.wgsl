// Convolution for processors that emulate a GPU: each invocation keeps 8 pixels × 8 outputs (quads a and b) in named variables,
// so that few loads serve many products; no workgroup memory. The maths, and the fields of Params, are those of conv2d.wgsl;
// outputs are a multiple of four.

alias real = f32; // what storage holds; f16 where a plan asks for it
alias real4 = vec4<f32>; // the same, in quads
const SIZE: u32 = 32u;
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

// finished is what a quad of y becomes.
fn finished(pixel: i32, quad: i32, sum: vec4<f32>) -> vec4<f32> {
  let quads = i32(params.outputs) / 4;
  var v = sum;
  let i = pixel * quads + quad;
  let adds = params.adds & 3u;
  if (adds == 3u) { v += vec4<f32>(residual[i]); }
  if (params.has_bias == 2u) { v = v * vec4<f32>(bias[quad]) + vec4<f32>(bias[quads + quad]); }
  if (adds == 1u) { v += vec4<f32>(y[i]); }
  if (adds == 2u) { v += vec4<f32>(residual[i]); }
  v = activated(v);
  if ((params.adds & 4u) != 0u) { v += vec4<f32>(shortcut[i]); }
  return v;
}

// store finishes the quads a and b of one pixel. Where there is only one quad, both are it.
fn store(pixel: i32, qa: i32, qb: i32, a: vec4<f32>, b: vec4<f32>) {
  if (pixel >= 0) {
    let quads = i32(params.outputs) / 4;
    let va = finished(pixel, qa, a);
    let vb = finished(pixel, qb, b);
    y[pixel * quads + qa] = real4(va);
    y[pixel * quads + qb] = real4(vb);
  }
}

@compute @workgroup_size(SIZE)
fn conv2d_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                  @builtin(local_invocation_index) local: u32) {
  let block = i32((group.y * groups.x + group.x) * SIZE + local);
  let phase = phase_of(group.z);
  let quads = i32(params.outputs) / 4;
  let pairs = (quads + 1) / 2;
  let qa = block % pairs * 2;
  let qb = min(qa + 1, quads - 1);
  let p0 = position(block / pairs * 8);
  let p1 = next(p0);
  let p2 = next(p1);
  let p3 = next(p2);
  let p4 = next(p3);
  let p5 = next(p4);
  let p6 = next(p5);
  let p7 = next(p6);
  var start_a = vec4<f32>();
  var start_b = vec4<f32>();
  if (params.has_bias == 1u) {
    start_a = vec4<f32>(bias[qa]);
    start_b = vec4<f32>(bias[qb]);
  }
  var a0 = start_a;
  var b0 = start_b;
  var a1 = start_a;
  var b1 = start_b;
  var a2 = start_a;
  var b2 = start_b;
  var a3 = start_a;
  var b3 = start_b;
  var a4 = start_a;
  var b4 = start_b;
  var a5 = start_a;
  var b5 = start_b;
  var a6 = start_a;
  var b6 = start_b;
  var a7 = start_a;
  var b7 = start_b;
  for (var tap = 0; tap < params.rows.taps * params.cols.taps; tap++) {
    let t = tap / params.cols.taps;
    let s = tap % params.cols.taps;
    let x0 = source(p0, t, s);
    let x1 = source(p1, t, s);
    let x2 = source(p2, t, s);
    let x3 = source(p3, t, s);
    let x4 = source(p4, t, s);
    let x5 = source(p5, t, s);
    let x6 = source(p6, t, s);
    let x7 = source(p7, t, s);
    let row = (params.rows.w_start + phase.x + t * params.rows.w_tap) * params.cols.w_size + params.cols.w_start + phase.y + s * params.cols.w_tap;
    var from_w = row * i32(params.inputs) * quads;
    for (var k = 0; k < i32(params.inputs); k++) {
      let wa = vec4<f32>(w[from_w + qa]);
      let wb = vec4<f32>(w[from_w + qb]);
      let v0 = load(x0, k);
      a0 += v0 * wa;
      b0 += v0 * wb;
      let v1 = load(x1, k);
      a1 += v1 * wa;
      b1 += v1 * wb;
      let v2 = load(x2, k);
      a2 += v2 * wa;
      b2 += v2 * wb;
      let v3 = load(x3, k);
      a3 += v3 * wa;
      b3 += v3 * wb;
      let v4 = load(x4, k);
      a4 += v4 * wa;
      b4 += v4 * wb;
      let v5 = load(x5, k);
      a5 += v5 * wa;
      b5 += v5 * wb;
      let v6 = load(x6, k);
      a6 += v6 * wa;
      b6 += v6 * wb;
      let v7 = load(x7, k);
      a7 += v7 * wa;
      b7 += v7 * wb;
      from_w += quads;
    }
  }
  store(destination(p0, phase), qa, qb, a0, b0);
  store(destination(p1, phase), qa, qb, a1, b1);
  store(destination(p2, phase), qa, qb, a2, b2);
  store(destination(p3, phase), qa, qb, a3, b3);
  store(destination(p4, phase), qa, qb, a4, b4);
  store(destination(p5, phase), qa, qb, a5, b5);
  store(destination(p6, phase), qa, qb, a6, b6);
  store(destination(p7, phase), qa, qb, a7, b7);
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

fn store_weight(row: i32, qa: i32, qb: i32, a: vec4<f32>, b: vec4<f32>) {
  if (row >= 0) {
    let quads = i32(params.outputs) / 4;
    let before_a = select(vec4<f32>(), dw[row * quads + qa], params.adds == 1u);
    let before_b = select(vec4<f32>(), dw[row * quads + qb], params.adds == 1u);
    dw[row * quads + qa] = before_a + a;
    dw[row * quads + qb] = before_b + b;
  }
}

@compute @workgroup_size(SIZE)
fn conv2d_backward_weight(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                          @builtin(local_invocation_index) local: u32) {
  let block = i32((group.y * groups.x + group.x) * SIZE + local);
  let inputs = i32(params.inputs);
  let quads = i32(params.outputs) / 4;
  let pairs = (quads + 1) / 2;
  let qa = block % pairs * 2;
  let qb = min(qa + 1, quads - 1);
  let blocks = (params.cols.taps * inputs + 7) / 8;
  let j = (block / pairs) % blocks * 8;
  let t = (block / pairs / blocks) % params.rows.taps;
  let part = block / pairs / blocks / params.rows.taps;
  if (part >= i32(params.parts)) { return; }
  var a0 = vec4<f32>();
  var b0 = vec4<f32>();
  var a1 = vec4<f32>();
  var b1 = vec4<f32>();
  var a2 = vec4<f32>();
  var b2 = vec4<f32>();
  var a3 = vec4<f32>();
  var b3 = vec4<f32>();
  var a4 = vec4<f32>();
  var b4 = vec4<f32>();
  var a5 = vec4<f32>();
  var b5 = vec4<f32>();
  var a6 = vec4<f32>();
  var b6 = vec4<f32>();
  var a7 = vec4<f32>();
  var b7 = vec4<f32>();
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
    let ya = dy[from_y + qa];
    let yb = dy[from_y + qb];
    let v0 = tap(base, j + 0, low, high);
    a0 += v0 * ya;
    b0 += v0 * yb;
    let v1 = tap(base, j + 1, low, high);
    a1 += v1 * ya;
    b1 += v1 * yb;
    let v2 = tap(base, j + 2, low, high);
    a2 += v2 * ya;
    b2 += v2 * yb;
    let v3 = tap(base, j + 3, low, high);
    a3 += v3 * ya;
    b3 += v3 * yb;
    let v4 = tap(base, j + 4, low, high);
    a4 += v4 * ya;
    b4 += v4 * yb;
    let v5 = tap(base, j + 5, low, high);
    a5 += v5 * ya;
    b5 += v5 * yb;
    let v6 = tap(base, j + 6, low, high);
    a6 += v6 * ya;
    b6 += v6 * yb;
    let v7 = tap(base, j + 7, low, high);
    a7 += v7 * ya;
    b7 += v7 * yb;
    p = next(p);
  }
  store_weight(weight_row(part, t, j + 0), qa, qb, a0, b0);
  store_weight(weight_row(part, t, j + 1), qa, qb, a1, b1);
  store_weight(weight_row(part, t, j + 2), qa, qb, a2, b2);
  store_weight(weight_row(part, t, j + 3), qa, qb, a3, b3);
  store_weight(weight_row(part, t, j + 4), qa, qb, a4, b4);
  store_weight(weight_row(part, t, j + 5), qa, qb, a5, b5);
  store_weight(weight_row(part, t, j + 6), qa, qb, a6, b6);
  store_weight(weight_row(part, t, j + 7), qa, qb, a7, b7);
}
