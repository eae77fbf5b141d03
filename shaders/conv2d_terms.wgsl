// Part of conv2d_tiles.wgsl and conv2d_int8_tiles.wgsl: their tiles, the terms of the sums, and how the sums of slices become one. Beside
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

fn term(g: Geometry, i: i32) -> Term {
  let inputs = i32(params.inputs / CHANNELS);
  let tap = i / inputs;
  return Term(tap / g.cols.taps, tap % g.cols.taps, i % inputs);
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
