// Part of conv2d_tiles.wgsl, conv2d_blocks.wgsl and conv2d_int8_tiles.wgsl: their tiles, the terms of the sums, and how the sums of slices become one. Beside
// conv2d_geometry.wgsl. What is joined with it declares `element`, what x holds, CHANNELS, how many are in one, and `summed`, a quad of sums.
//
// Where there are few results and long sums ("split-K" inside a workgroup), its slices have the same tile, and each adds up its own terms: of every STEP
// terms slice i takes DEPTH, from i DEPTH on.

const ROWS: u32 = 16u;    // quads
const COLUMNS: u32 = 16u; // quads
const TILE: u32 = 256u;   // ROWS × COLUMNS
const SLICES: u32 = 1u;   // 1, or 4 and more
const SIZE: u32 = 256u;   // TILE × SLICES
const DEPTH: u32 = 8u;    // terms
const STEP: u32 = 8u;     // DEPTH × SLICES
const LEFT: u32 = 128u;   // STEP × ROWS
const RIGHT: u32 = 128u;  // STEP × COLUMNS
const PARTIALS: u32 = 1u; // SIZE where there are slices

var<workgroup> partial: array<summed, PARTIALS>;

// whole gives the invocations of slice `row` the sum over all slices, one after the other, of what each has of this row of its 4 × 4 results;
// the others keep what they have.
fn whole(local: u32, row: u32, own: summed, has: summed) -> summed {
  partial[local] = own;
  workgroupBarrier();
  var sum = has;
  if (local / TILE == row) {
    sum = partial[local % TILE];
    for (var slice = 1u; slice < SLICES; slice++) { sum += partial[slice * TILE + local % TILE]; }
  }
  workgroupBarrier();
  return sum;
}

// Term is one of the contraction: tap (t, s) and element k of the channels.
struct Term {
  t: i32,
  s: i32,
  k: i32,
}

// term_after is the term n further on. Divisions take a GPU long, and most steps along the sum stay within a tap.
fn term_after(g: Geometry, a: Term, n: i32) -> Term {
  let inputs = i32(params.inputs / CHANNELS);
  let k = a.k + n;
  if (k < inputs) { return Term(a.t, a.s, k); }
  let s = a.s + k / inputs;
  return Term(a.t + s / g.cols.taps, s % g.cols.taps, k % inputs);
}

fn term(g: Geometry, i: i32) -> Term { return term_after(g, Term(0, 0, 0), i); }

// position_after is the pixel n further on.
fn position_after(g: Geometry, p: Position, n: i32) -> Position {
  let v = p.v + n;
  if (v < g.cols.count) { return Position(p.b, p.u, v); }
  let u = p.u + v / g.cols.count;
  return Position(p.b + u / g.rows.count, u % g.rows.count, v % g.cols.count);
}

fn load_x(g: Geometry, p: Position, a: Term, ok: bool) -> element {
  let pixel = source(g, p, a.t, a.s);
  let inside = (pixel >= 0) & ok;
  return select(element(), x[select(0, pixel * i32(params.inputs / CHANNELS) + a.k, inside)], inside);
}

// weight_of is the row of the weights, (taps, channels / CHANNELS), that belongs to a term.
fn weight_of(g: Geometry, a: Term, phase: vec2<i32>) -> i32 {
  return weight_at(g, a.t, a.s, phase) * i32(params.inputs / CHANNELS) + a.k;
}
