// The geometry of every convolution, in floats and in int8: which pixel is multiplied by which
// weight. Go writes this file into the header. The file below declares the uniform params with
// batch, inputs, parts, rows and cols.
//
// Position u of an axis and tap t read x at u x_step + x_start + t x_tap (zero outside), write y at
// u y_step + y_start, and use the weight at w_start + t w_tap.
//
// Header: floats (the type of a sum: f32, vec4<f32>), activated and slope (the activation of the
// result) and the constants of Params.adds and has_bias (conv2d_epilogue.go).

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

// Geometry is a copy of params. An entry point reads it once: a processor that emulates a GPU reads
// a uniform again wherever it is named.
struct Geometry {
  batch: i32,
  rows: Axis,
  cols: Axis,
}

fn geometry() -> Geometry { return Geometry(i32(params.batch), params.rows, params.cols); }

// phase_geometry is the geometry of a forward workgroup. Either axis has params.parts phases.
fn phase_geometry(z: u32) -> Geometry {
  return Geometry(i32(params.batch), in_phase(params.rows, i32(z / params.parts)), in_phase(params.cols, i32(z % params.parts)));
}

fn in_phase(a: Axis, phase: i32) -> Axis {
  var b = a;
  let first = a.w_start + phase;
  b.y_start += phase;
  b.x_start += first / a.y_step;
  b.w_start = first % a.y_step;
  b.taps = (a.w_size - b.w_start + a.y_step - 1) / a.y_step;
  return b;
}

// Position is (b, u, v). Positions beyond the last have a b past the batch.
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

// destination is the pixel of y that a position writes.
fn destination(g: Geometry, p: Position) -> i32 {
  let r = p.u * g.rows.y_step + g.rows.y_start;
  let c = p.v * g.cols.y_step + g.cols.y_start;
  return (p.b * g.rows.y_size + r) * g.cols.y_size + c;
}

// weight_at is where tap (t, s) lies among the (kh, kw) of the weights.
fn weight_at(g: Geometry, t: i32, s: i32) -> i32 {
  let r = g.rows.w_start + t * g.rows.w_tap;
  return r * g.cols.w_size + g.cols.w_start + s * g.cols.w_tap;
}

// Term is four terms of the contraction: tap (t, s) and the k-th four inputs.
struct Term {
  t: i32,
  s: i32,
  k: i32,
}

// term_after is the n-th term after a. Most steps stay within a tap and need no division: divisions
// take a GPU long.
fn term_after(g: Geometry, a: Term, n: i32) -> Term {
  let inputs = i32(params.inputs / 4u);
  let k = a.k + n;
  if (k < inputs) { return Term(a.t, a.s, k); }
  let s = a.s + k / inputs;
  return Term(a.t + s / g.cols.taps, s % g.cols.taps, k % inputs);
}

fn term(g: Geometry, i: i32) -> Term { return term_after(g, Term(0, 0, 0), i); }
