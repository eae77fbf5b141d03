// Convolution for GPUs, as a product of matrices that are gathered on the way (implicit GEMM): a workgroup keeps a tile of
// 4 ROWS × 4 COLUMNS results, 4 × 4 an invocation, and walks along the contraction DEPTH at a time, through workgroup memory.
// Small tiles make more workgroups, large ones load less. The maths, and the fields of Params, are those of conv2d.wgsl.
//
//   forward          rows are pixels (b, u, v),  columns outputs, the contraction runs over (t, s, input)
//   backward_weight  rows are (t, s, input),     columns outputs, the contraction runs over the pixels of one part
//
// Where storage is of f16, forward also multiplies and adds the DEPTH terms of a step in f16, at which GPUs are up to twice as fast, and the
// steps in f32: a sum of eight is off by eight roundings of 2^-11 at most, and no error grows with the length of the contraction.

alias real = f32; // what storage holds; f16 where a plan asks for it
alias real4 = vec4<f32>; // the same, in quads
const HALF: bool = false; // real is f16
const ROWS: u32 = 16u;    // quads
const COLUMNS: u32 = 16u; // quads
const DEPTH: u32 = 8u;
const SIZE: u32 = 256u;   // ROWS × COLUMNS
const LEFT: u32 = 128u;   // DEPTH × ROWS
const RIGHT: u32 = 128u;  // DEPTH × COLUMNS
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
@group(0) @binding(2) var<storage, read> w: array<real>;
@group(0) @binding(3) var<storage, read> bias: array<real>;
@group(0) @binding(4) var<storage, read> residual: array<real>;
@group(0) @binding(5) var<storage, read> shortcut: array<real>;
@group(0) @binding(6) var<storage, read_write> y: array<real>;
@group(0) @binding(2) var<storage, read> dy: array<f32>;
@group(0) @binding(3) var<storage, read_write> dw: array<f32>;

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

var<workgroup> left: array<real4, LEFT>;   // [depth][row quad]
var<workgroup> right: array<real4, RIGHT>; // [depth][column quad]

// Tap is one term of the contraction: tap (t, s) and input k.
struct Tap {
  t: i32,
  s: i32,
  k: i32,
}

fn tap(i: i32) -> Tap {
  let inputs = i32(params.inputs);
  let st = i / inputs;
  return Tap(st / params.cols.taps, st % params.cols.taps, i % inputs);
}

// weight is the row of w, or of dw, that belongs to a tap.
fn weight(a: Tap, phase: vec2<i32>) -> i32 {
  let row = params.rows.w_start + phase.x + a.t * params.rows.w_tap;
  return (row * params.cols.w_size + params.cols.w_start + phase.y + a.s * params.cols.w_tap) * i32(params.inputs) + a.k;
}

fn load_x(p: Position, a: Tap, ok: bool) -> real {
  let pixel = source(p, a.t, a.s);
  let inside = (pixel >= 0) & ok;
  return select(real(), x[select(0, pixel + a.k, inside)], inside);
}

@compute @workgroup_size(SIZE)
fn conv2d_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let outputs = i32(params.outputs);
  let phase = phase_of(group.z);
  let length = params.rows.taps * params.cols.taps * i32(params.inputs);
  let first_row = i32(group.x * ROWS * 4u);
  let first_column = i32(group.y * COLUMNS * 4u);
  let row = first_row + i32(local / COLUMNS) * 4;
  let column = first_column + i32(local % COLUMNS) * 4;
  var s0 = vec4<f32>();
  var s1 = vec4<f32>();
  var s2 = vec4<f32>();
  var s3 = vec4<f32>();
  for (var start = 0; start < length; start += i32(DEPTH)) {
    for (var i = local; i < LEFT; i += SIZE) { // neighbours load neighbouring inputs
      let term = start + i32(i % DEPTH);
      let a = tap(term);
      let p0 = position(first_row + i32(i / DEPTH) * 4);
      let p1 = next(p0);
      let p2 = next(p1);
      let p3 = next(p2);
      let ok = term < length;
      left[(i % DEPTH) * ROWS + i / DEPTH] = real4(load_x(p0, a, ok), load_x(p1, a, ok), load_x(p2, a, ok), load_x(p3, a, ok));
    }
    for (var i = local; i < RIGHT; i += SIZE) {
      let term = start + i32(i / COLUMNS);
      let n = first_column + i32(i % COLUMNS) * 4;
      let at = weight(tap(min(term, length - 1)), phase) * outputs;
      let end = outputs - 1; // beyond it is anything: those results are not stored
      right[i] = real4(w[at + min(n, end)], w[at + min(n + 1, end)], w[at + min(n + 2, end)], w[at + min(n + 3, end)]);
    }
    workgroupBarrier();
    if (HALF) {
      var t0 = real4();
      var t1 = real4();
      var t2 = real4();
      var t3 = real4();
      for (var d = 0u; d < DEPTH; d++) {
        let a = left[d * ROWS + local / COLUMNS];
        let b = right[d * COLUMNS + local % COLUMNS];
        t0 += a.x * b;
        t1 += a.y * b;
        t2 += a.z * b;
        t3 += a.w * b;
      }
      s0 += vec4<f32>(t0);
      s1 += vec4<f32>(t1);
      s2 += vec4<f32>(t2);
      s3 += vec4<f32>(t3);
    } else {
      for (var d = 0u; d < DEPTH; d++) {
        let a = vec4<f32>(left[d * ROWS + local / COLUMNS]);
        let b = vec4<f32>(right[d * COLUMNS + local % COLUMNS]);
        s0 += a.x * b;
        s1 += a.y * b;
        s2 += a.z * b;
        s3 += a.w * b;
      }
    }
    workgroupBarrier();
  }
  let p0 = position(row);
  let p1 = next(p0);
  let p2 = next(p1);
  let p3 = next(p2);
  store(destination(p0, phase), column, s0);
  store(destination(p1, phase), column, s1);
  store(destination(p2, phase), column, s2);
  store(destination(p3, phase), column, s3);
}

// activated is the activation of activation.wgsl that the result goes through.
fn activated(v: f32) -> f32 {
  if (ACTIVATION == 1u) { return select(v, 0.0, v <= 0.0); }
  if (ACTIVATION == 2u) {
    let a = abs(v) * 0.70710678;
    let t = 1.0 / (1.0 + 0.3275911 * a);
    let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return v * 0.5 * (1.0 + sign(v) * (1.0 - poly * exp(-a * a)));
  }
  if (ACTIVATION == 3u) { return 1.0 / (1.0 + exp(-v)); }
  return v;
}

fn store(pixel: i32, column: i32, sum: vec4<f32>) {
  var values = sum;
  let adds = params.adds & 3u;
  for (var c = 0; c < 4; c++) {
    let n = column + c;
    if ((pixel >= 0) & (n < i32(params.outputs))) {
      let i = pixel * i32(params.outputs) + n;
      var v = values[c];
      if (params.has_bias == 1u) { v += f32(bias[n]); }
      if (adds == 3u) { v += f32(residual[i]); }
      if (params.has_bias == 2u) { v = v * f32(bias[n]) + f32(bias[i32(params.outputs) + n]); }
      if (adds == 1u) { v += f32(y[i]); }
      if (adds == 2u) { v += f32(residual[i]); }
      v = activated(v);
      if ((params.adds & 4u) != 0u) { v += f32(shortcut[i]); }
      y[i] = real(v);
    }
  }
}

@compute @workgroup_size(SIZE)
fn conv2d_backward_weight(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let outputs = i32(params.outputs);
  let length = params.rows.taps * params.cols.taps * i32(params.inputs);
  let first_row = i32(group.x * ROWS * 4u);
  let first_column = i32(group.y * COLUMNS * 4u);
  let first = i32(group.z * params.chunk);
  let last = min(i32(params.batch) * params.rows.count * params.cols.count, first + i32(params.chunk));
  var s0 = vec4<f32>();
  var s1 = vec4<f32>();
  var s2 = vec4<f32>();
  var s3 = vec4<f32>();
  for (var start = first; start < last; start += i32(DEPTH)) {
    for (var i = local; i < LEFT; i += SIZE) {
      let p = position(start + i32(i / ROWS));
      let ok = start + i32(i / ROWS) < last;
      let row = first_row + i32(i % ROWS) * 4;
      left[i] = real4(load_x(p, tap(row), ok & (row < length)), load_x(p, tap(row + 1), ok & (row + 1 < length)),
                          load_x(p, tap(row + 2), ok & (row + 2 < length)), load_x(p, tap(row + 3), ok & (row + 3 < length)));
    }
    for (var i = local; i < RIGHT; i += SIZE) {
      let term = start + i32(i / COLUMNS);
      let n = first_column + i32(i % COLUMNS) * 4;
      let at = destination(position(min(term, last - 1)), vec2<i32>()) * outputs;
      let end = outputs - 1; // beyond it is anything: those results are not stored
      right[i] = real4(vec4<f32>(dy[at + min(n, end)], dy[at + min(n + 1, end)], dy[at + min(n + 2, end)], dy[at + min(n + 3, end)]));
    }
    workgroupBarrier();
    for (var d = 0u; d < DEPTH; d++) {
      let a = vec4<f32>(left[d * ROWS + local / COLUMNS]);
      let b = vec4<f32>(right[d * COLUMNS + local % COLUMNS]);
      s0 += a.x * b;
      s1 += a.y * b;
      s2 += a.z * b;
      s3 += a.w * b;
    }
    workgroupBarrier();
  }
  let row = first_row + i32(local / COLUMNS) * 4;
  let column = first_column + i32(local % COLUMNS) * 4;
  store_weights(group.z, row, column, s0);
  store_weights(group.z, row + 1, column, s1);
  store_weights(group.z, row + 2, column, s2);
  store_weights(group.z, row + 3, column, s3);
}

fn store_weights(part: u32, row: i32, column: i32, sum: vec4<f32>) {
  var values = sum;
  let whole = params.rows.w_size * params.cols.w_size * i32(params.inputs);
  let to = (i32(part) * whole + weight(tap(row), vec2<i32>())) * i32(params.outputs);
  for (var c = 0; c < 4; c++) {
    let n = column + c;
    if ((row < params.rows.taps * params.cols.taps * i32(params.inputs)) & (n < i32(params.outputs))) {
      dw[to + n] = values[c] + select(0.0, dw[to + n], params.adds == 1u);
    }
  }
}
