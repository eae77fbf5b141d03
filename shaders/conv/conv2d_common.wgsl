// Shared part of the convolutions of floats (conv2d*.wgsl, depthwise*.wgsl): their parameters and
// arguments, and how they finish a sum.
//
// Header: conv2d_geometry.wgsl, real and real4 (a number in storage and four of them: f32,
// vec4<f32>; of f16 in plans of halves), element (the type of x: real, real4), stored (the type of
// the other arguments), floats (stored to compute with: f32, vec4<f32>), WIDTH (numbers in stored:
// 1, 4), and the functions write(pixel, n, outputs, v), which writes output (or quad) n of `outputs`
// many, and keep(i, v), which gets element (or quad) i of y before the activation.

struct Params {
  batch: u32,
  inputs: u32, // channels of x
  outputs: u32, // channels of y
  // 1: bias (C) is added. SCALE_AND_SHIFT: bias[0] scales the sum, bias[1] of (2, C) shifts it.
  has_bias: u32,
  // What is added to the sum: 0 or one of ADD_TO_Y, ADD_RESIDUAL and ADD_RESIDUAL_FIRST, and
  // ADD_SHORTCUT. TIMES_SLOPE: the sum of these is multiplied by the slope at the shortcut.
  adds: u32,
  // backward_weight: the number of parts of the sum, each with a result of its own. forward: the
  // number of phases of either axis, one for each group.z. Each begins one pixel of y after the
  // phase before, and takes every y_step-th weight.
  parts: u32,
  chunk: u32, // backward_weight: pixels (b, u, v) of a part; conv2d_split: outputs of the first result, see conv2d_variants.go
  activation: u32, // of activated
  rows: Axis,
  cols: Axis,
  table: u32, // pixels of the residual, which all images share; 0: it has a pixel for each of y
  table_outputs: u32, // outputs of that residual, which the others lack; 0: it has all
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

// For one row of taps, the weights are a matrix. Row j belongs to channel j % inputs of column tap
// j / inputs. Rows [low, high) of a pixel lie inside the image. Row j reads x[base + j].
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

// weight_row is the row of dw for row j of tap row t.
fn weight_row(g: Geometry, part: i32, t: i32, j: i32) -> i32 {
  let tap = part * g.rows.w_size * g.cols.w_size + weight_at(g, t, 0);
  return tap * i32(params.inputs) + j;
}

// add_weights writes output (or quad) n of a row of dw, or adds to it.
fn add_weights(row: i32, n: i32, sum: floats) {
  let i = row * i32(params.outputs / WIDTH) + n;
  dw[i] = sum + select(floats(), dw[i], params.adds == ADD_TO_Y && !FRESH);
}

// put finishes the sum of output (or quad) n of a pixel as Params say, and writes it.
fn put(pixel: i32, n: i32, sum: floats) {
  let outputs = i32(params.outputs / WIDTH);
  let i = pixel * outputs + n;
  var v = sum;
  var adds = params.adds & ~(ADD_SHORTCUT | TIMES_SLOPE);
  var at = i;
  if (params.table > 0u) {
    let width = select(outputs, i32(params.table_outputs / WIDTH), params.table_outputs > 0u);
    at = pixel % i32(params.table) * width + n;
    if (n >= width) { adds = 0u; }
  }
  if (adds == ADD_RESIDUAL_FIRST) { v += floats(residual[at]); }
  if (params.has_bias == SCALE_AND_SHIFT) { v = v * floats(bias[n]) + floats(bias[outputs + n]); }
  if (adds == ADD_TO_Y && !FRESH) { v += floats(y[i]); }
  if (adds == ADD_RESIDUAL) { v += floats(residual[at]); }
  keep(i, stored(v));
  if ((params.adds & TIMES_SLOPE) != 0u) { v *= slope(floats(shortcut[i])); } else { v = activated(v); }
  if ((params.adds & ADD_SHORTCUT) != 0u) { v += floats(shortcut[i]); }
  write(pixel, n, outputs, stored(v));
}
