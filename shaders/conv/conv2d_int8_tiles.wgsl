// Convolution of int8 with int8 for GPUs, as conv2d_tiles.wgsl computes floats: a workgroup keeps a
// tile of 4 ROWS pixels × 4 COLUMNS outputs, 4 × 4 an invocation. It walks along the contraction
// through workgroup memory, STEP words of four products at a time. Below conv2d_int8_common.wgsl.
//
// The header also declares ROWS, COLUMNS, SLICES, DEPTH (in words: 8, 4) and PARTIALS, which
// conv2d_tiles.wgsl explains, and requires packed_4x8_integer_dot_product.

const TILE: u32 = ROWS * COLUMNS;
const SIZE: u32 = TILE * SLICES;
const STEP: u32 = DEPTH * SLICES;
const LEFT: u32 = STEP * ROWS;
const RIGHT: u32 = STEP * COLUMNS;
const PITCH: u32 = ROWS + 1u; // of a word: neighbours write to different banks of memory
const PADDED: u32 = LEFT + STEP;
var<workgroup> left: array<vec4<u32>, PADDED>; // [word][row quad]
var<workgroup> right: array<vec4<u32>, RIGHT>; // [word][column quad]
var<workgroup> partial: array<vec4<i32>, PARTIALS>;

// sum_slices adds up a row of the 4 × 4 results over all slices, in their order. Invocations of
// slice `row` get the sum. Others keep what they have.
fn sum_slices(local: u32, row: u32, own: vec4<i32>, has: vec4<i32>) -> vec4<i32> {
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

fn load_x(g: Geometry, p: Position, a: Term, ok: bool) -> u32 {
  let pixel = source(g, p, a.t, a.s);
  let inside = (pixel >= 0) & ok;
  return select(0u, x[select(0, pixel * i32(params.inputs / 4u) + a.k, inside)], inside);
}

// load_pixels gives a word of each of four pixels, and zeros if it is not ok: beyond the last word.
fn load_pixels(g: Geometry, p0: Position, p1: Position, p2: Position, p3: Position, a: Term, ok: bool) -> vec4<u32> {
  return vec4<u32>(load_x(g, p0, a, ok), load_x(g, p1, a, ok), load_x(g, p2, a, ok), load_x(g, p3, a, ok));
}

// weight_of is the row of the weights, (taps, words), that belongs to a term.
fn weight_of(g: Geometry, a: Term) -> i32 {
  return weight_at(g, a.t, a.s) * i32(params.inputs / 4u) + a.k;
}

fn dots(x: u32, words: vec4<u32>) -> vec4<i32> {
  return vec4<i32>(dot4I8Packed(x, words.x), dot4I8Packed(x, words.y), dot4I8Packed(x, words.z), dot4I8Packed(x, words.w));
}

@compute @workgroup_size(SIZE)
fn conv2d_int8(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let g = phase_geometry(group.z);
  let quads = i32(params.outputs) / 4;
  let length = g.rows.taps * g.cols.taps * i32(params.inputs) / 4;
  let first_row = i32(group.x * ROWS * 4u);
  let first_quad = i32(group.y * COLUMNS);
  let row_quad = local % TILE / COLUMNS;
  let column_quad = local % COLUMNS;
  let slice = local / TILE;
  // The first invocations load a word of four pixels for every step (neighbours load neighbouring
  // words). The last ones load a word of the weights of four outputs. The loads of a step are under
  // way while the step before is added up.
  let loads_x = local < LEFT;
  let x_row = local / STEP;
  let x_word = local % STEP;
  let p0 = position(g, first_row + i32(x_row) * 4);
  let p1 = next(g, p0);
  let p2 = next(g, p1);
  let p3 = next(g, p2);
  var x_at = i32(x_word);
  var x_term = term(g, x_at);
  var x_next = vec4<u32>();
  if (loads_x) { x_next = load_pixels(g, p0, p1, p2, p3, x_term, x_at < length); }
  let loads_w = local >= SIZE - RIGHT;
  let w_own = local - select(0u, SIZE - RIGHT, loads_w);
  let w_quad = min(first_quad + i32(w_own % COLUMNS), quads - 1);
  var w_at = i32(w_own / COLUMNS);
  var w_term = term(g, w_at);
  var w_next = vec4<u32>();
  if (loads_w) { w_next = w[select(0, weight_of(g, w_term) * quads, w_at < length) + w_quad]; }
  var s0 = vec4<i32>();
  var s1 = vec4<i32>();
  var s2 = vec4<i32>();
  var s3 = vec4<i32>();
  let steps = (length + i32(STEP) - 1) / i32(STEP);
  for (var step = 0; step < steps; step++) {
    if (loads_x) { left[x_word * PITCH + x_row] = x_next; }
    if (loads_w) { right[w_own] = w_next; }
    workgroupBarrier();
    if (loads_x) {
      x_at += i32(STEP);
      x_term = term_after(g, x_term, i32(STEP));
      x_next = load_pixels(g, p0, p1, p2, p3, x_term, x_at < length);
    }
    if (loads_w) {
      w_at += i32(STEP);
      w_term = term_after(g, w_term, i32(STEP));
      w_next = w[select(0, weight_of(g, w_term) * quads, w_at < length) + w_quad];
    }
    for (var k = 0u; k < DEPTH; k++) {
      let d = slice * DEPTH + k;
      let a = left[d * PITCH + row_quad];
      let b = right[d * COLUMNS + column_quad];
      s0 += dots(a.x, b);
      s1 += dots(a.y, b);
      s2 += dots(a.z, b);
      s3 += dots(a.w, b);
    }
    workgroupBarrier();
  }
  let quad = first_quad + i32(column_quad);
  let f = finish(min(quad, quads - 1));
  let row = first_row + i32(row_quad) * 4;
  let last = min(row + 4, positions(g));
  if (SLICES > 1u) {
    let sum = sum_slices(local, 3u, s3, sum_slices(local, 2u, s2, sum_slices(local, 1u, s1, sum_slices(local, 0u, s0, vec4<i32>()))));
    if (row + i32(slice) < last) { store(destination(g, position(g, row + i32(slice))), quad, f, sum); }
    return;
  }
  var sums = array<vec4<i32>, 4>(s0, s1, s2, s3);
  var p = position(g, row);
  for (var i = row; i < last; i++) {
    store(destination(g, p), quad, f, sums[i - row]);
    p = next(g, p);
  }
}
