// Shared part of the convolutions of floats (conv2d*.wgsl, depthwise*.wgsl): their parameters and
// arguments, where the pixels and the weights lie that meet, and what becomes of a sum.
//
// Header: real, real4 (a number in storage and four of them: f32, vec4<f32>; f16 in plans of
// halves), element (what x is read in: real, real4), stored (what the others are read in), floats
// (the same to compute with: f32, vec4<f32>), WIDTH (numbers in stored: 1, 4), ACTIVATION (of the
// result: 0 none, 1 ReLU, 2 GELU, 3 sigmoid), and the function write(pixel, n, outputs, v), which
// writes output (or quad of outputs) n of so many.
//
// Position u of an axis and tap t read x at u x_step + x_start + t x_tap (zero outside), write y at
// u y_step + y_start, and use the weight at w_start + t w_tap.

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
  inputs: u32, // channels of x
  outputs: u32, // channels of y
  has_bias: u32, // 1: bias (C) is added; 2: the sum is scaled by bias[0], shifted by bias[1] of (2, C)
  // added to the result: & 3: 1, what y holds; 2, the residual; 3, the residual, before scale and
  // shift; & 4: the shortcut, after the activation
  adds: u32,
  // backward_weight: parts of the sum, each with a result of its own; forward: phases of either
  // axis, one a group.z: each begins a weight and a pixel of y further
  parts: u32,
  chunk: u32, // backward_weight: pixels (b, u, v) of a part; conv2d_split: outputs of the first result
  activation: u32, // ACTIVATION
  rows: Axis,
  cols: Axis,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<element>;
@group(0) @binding(2) var<storage, read> w: array<stored>;
@group(0) @binding(3) var<storage, read> bias: array<stored>;
@group(0) @binding(4) var<storage, read> residual: array<stored>;
@group(0) @binding(5) var<storage, read> shortcut: array<stored>;
@group(0) @binding(6) var<storage, read_write> y: array<stored>;
@group(0) @binding(2) var<storage, read> dy: array<stored>;
@group(0) @binding(3) var<storage, read_write> dw: array<floats>;

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

// Row j of the weights of one row of taps is channel j % inputs at column tap j / inputs, in x and
// in dw. A pixel has rows [low, high) inside the image; base is where row 0 would lie in x.
struct Rows {
  base: i32,
  low: i32,
  high: i32,
}

fn rows_at(g: Geometry, p: Position, t: i32) -> Rows {
  let inputs = i32(params.inputs);
  let r = p.u * g.rows.x_step + g.rows.x_start + t * g.rows.x_tap;
  let c = p.v * g.cols.x_step + g.cols.x_start;
  let low = -c * inputs;
  let high = select(low, min(low + g.cols.x_size * inputs, g.cols.taps * inputs), (r >= 0) & (r < g.rows.x_size));
  return Rows(((p.b * g.rows.x_size + r) * g.cols.x_size + c) * inputs, low, high);
}

// weight_row is where row j of tap row t lies in dw, in rows.
fn weight_row(g: Geometry, part: i32, t: i32, j: i32) -> i32 {
  let tap = part * g.rows.w_size * g.cols.w_size + weight_at(g, t, 0, vec2<i32>());
  return tap * i32(params.inputs) + j;
}

// add_weights writes output (or quad) n of a row of dw, or adds to it.
fn add_weights(row: i32, n: i32, sum: floats) {
  let i = row * i32(params.outputs / WIDTH) + n;
  dw[i] = sum + select(floats(), dw[i], params.adds == 1u);
}

fn activated(v: floats) -> floats {
  // a NaN passes, unlike with max()
  if (ACTIVATION == 1u) { return select(v, floats(), v <= floats()); }
  if (ACTIVATION == 2u) { // erf by Abramowitz & Stegun 7.1.26, whose absolute error is below 1.5e-7
    let a = abs(v) * 0.70710678;
    let t = 1.0 / (1.0 + 0.3275911 * a);
    let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return v * 0.5 * (1.0 + sign(v) * (1.0 - poly * exp(-a * a)));
  }
  if (ACTIVATION == 3u) { return 1.0 / (1.0 + exp(-v)); }
  return v;
}

// put finishes the sum of output (or quad) n of a pixel, with what Params says, and writes it.
fn put(pixel: i32, n: i32, sum: floats) {
  let outputs = i32(params.outputs / WIDTH);
  let i = pixel * outputs + n;
  var v = sum;
  let adds = params.adds & 3u;
  if (adds == 3u) { v += floats(residual[i]); }
  if (params.has_bias == 2u) { v = v * floats(bias[n]) + floats(bias[outputs + n]); }
  if (adds == 1u) { v += floats(y[i]); }
  if (adds == 2u) { v += floats(residual[i]); }
  v = activated(v);
  if ((params.adds & 4u) != 0u) { v += floats(shortcut[i]); }
  write(pixel, n, outputs, stored(v));
}
