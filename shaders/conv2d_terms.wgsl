// Part of conv2d_tiles.wgsl and conv2d_int8_tiles.wgsl: their tiles, and the terms of the sums. Beside conv2d_geometry.wgsl. What is joined
// with it declares `element`, what x holds, and CHANNELS, how many are in one.

const ROWS: u32 = 16u;    // quads
const COLUMNS: u32 = 16u; // quads
const DEPTH: u32 = 8u;    // terms
const SIZE: u32 = 256u;   // ROWS × COLUMNS
const LEFT: u32 = 128u;   // DEPTH × ROWS
const RIGHT: u32 = 128u;  // DEPTH × COLUMNS

// Term is one of the contraction: tap (t, s) and element k of the channels.
struct Term {
  t: i32,
  s: i32,
  k: i32,
}

fn term(i: i32) -> Term {
  let inputs = i32(params.inputs / CHANNELS);
  let tap = i / inputs;
  return Term(tap / params.cols.taps, tap % params.cols.taps, i % inputs);
}

fn load_x(p: Position, a: Term, ok: bool) -> element {
  let pixel = source(p, a.t, a.s);
  let inside = (pixel >= 0) & ok;
  return select(element(), x[select(0, pixel * i32(params.inputs / CHANNELS) + a.k, inside)], inside);
}

// weight_row is the row of the weights, (taps, channels), that belongs to a term.
fn weight_row(a: Term, phase: vec2<i32>) -> i32 {
  return weight_at(a.t, a.s, phase) * i32(params.inputs / CHANNELS) + a.k;
}
