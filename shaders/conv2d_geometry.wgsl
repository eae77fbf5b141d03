// Part of all convolutions: where the pixels and the weights lie that meet. What is joined with it declares `params`, with the fields batch,
// parts, rows and cols that conv2d_params.wgsl has.
//
// Position u of an axis and tap t read x at u x_step + x_start + t x_tap (zero outside), write y at u y_step + y_start, and
// use the weight at w_start + t w_tap.

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

// source is the pixel of x that tap (t, s) reads, or -1 outside.
fn source(p: Position, t: i32, s: i32) -> i32 {
  let r = p.u * params.rows.x_step + params.rows.x_start + t * params.rows.x_tap;
  let c = p.v * params.cols.x_step + params.cols.x_start + s * params.cols.x_tap;
  let inside = (r >= 0) & (r < params.rows.x_size) & (c >= 0) & (c < params.cols.x_size) & (p.b < i32(params.batch));
  return select(-1, (p.b * params.rows.x_size + r) * params.cols.x_size + c, inside);
}

// phase_of is that of a forward workgroup, on either axis; what is not divided into phases has (0, 0).
fn phase_of(z: u32) -> vec2<i32> {
  return vec2<i32>(vec2<u32>(z / params.parts, z % params.parts));
}

// destination is the pixel of y, or -1 beyond the last.
fn destination(p: Position, phase: vec2<i32>) -> i32 {
  let r = p.u * params.rows.y_step + params.rows.y_start + phase.x;
  let c = p.v * params.cols.y_step + params.cols.y_start + phase.y;
  return select(-1, (p.b * params.rows.y_size + r) * params.cols.y_size + c, p.b < i32(params.batch));
}

// weight_at is where tap (t, s) lies among the (kh, kw) of the weights.
fn weight_at(t: i32, s: i32, phase: vec2<i32>) -> i32 {
  let r = params.rows.w_start + phase.x + t * params.rows.w_tap;
  return r * params.cols.w_size + params.cols.w_start + phase.y + s * params.cols.w_tap;
}
