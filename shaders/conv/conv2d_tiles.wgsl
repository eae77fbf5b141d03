// Convolution for GPUs, as a product of matrices that are gathered on the way (implicit GEMM). A
// workgroup keeps a tile of 4 ROWS × 4 COLUMNS results, 4 × 4 an invocation. It walks along the
// contraction through workgroup memory, STEP terms at a time. The maths are those of conv2d.wgsl.
// Inputs and outputs are multiples of four. Below conv2d_common.wgsl: element and stored are real4.
//
//   forward          rows are pixels (b, u, v),  columns outputs, the contraction runs over (t, s,
//     input)
//   backward_weight  rows are (t, s, input),     columns outputs, the contraction runs over the
//     pixels of one part
//
// If there are few results and long sums, slices of a workgroup share one tile ("split-K" inside a
// workgroup). Slice i adds up DEPTH of every STEP terms, from term i DEPTH on.
//
// If storage is of f16, forward at inference multiplies and adds the terms of a step in f16, which
// GPUs do up to twice as fast, and adds the steps in f32. A step has eight terms at most. Its sum
// is off by eight roundings of 2^-11 at most, and the error does not grow with the contraction.
//
// The header also declares HALF (storage is f16, at inference), ROWS and COLUMNS (quads: 16, 16, or
// 4, 4), SLICES (1 or 16), DEPTH (terms, a multiple of four: 8, 4) and PARTIALS (SIZE if there are
// slices, else 1).

const TILE: u32 = ROWS * COLUMNS;
const SIZE: u32 = TILE * SLICES;
const STEP: u32 = DEPTH * SLICES;
const LEFT: u32 = STEP * ROWS;
const RIGHT: u32 = STEP * COLUMNS;
// of a term quad: neighbours write to different banks of memory
const PITCH: u32 = ROWS * 4u + 4u;
const PADDED: u32 = LEFT + STEP;

// forward: [term quad][row]; backward_weight: [term][row quad]
var<workgroup> left: array<real4, PADDED>;
var<workgroup> right: array<real4, RIGHT>; // [term][column quad]
var<workgroup> partial: array<vec4<f32>, PARTIALS>;

// sum_slices adds up a row of the 4 × 4 results over all slices, in their order. Invocations of
// slice `row` get the sum. Others keep what they have.
fn sum_slices(local: u32, row: u32, own: vec4<f32>, has: vec4<f32>) -> vec4<f32> {
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

// sum_tile_slices adds up the 4 × 4 results over all slices. Slices 0 to 3 get a row each.
fn sum_tile_slices(local: u32, s0: vec4<f32>, s1: vec4<f32>, s2: vec4<f32>, s3: vec4<f32>) -> vec4<f32> {
  return sum_slices(local, 3u, s3, sum_slices(local, 2u, s2, sum_slices(local, 1u, s1, sum_slices(local, 0u, s0, vec4<f32>()))));
}

// position_after is the n-th position after p.
fn position_after(g: Geometry, p: Position, n: i32) -> Position {
  let v = p.v + n;
  if (v < g.cols.count) { return Position(p.b, p.u, v); }
  let u = p.u + v / g.cols.count;
  return Position(p.b + u / g.rows.count, u % g.rows.count, v % g.cols.count);
}

// load_x is a term of a pixel of x, or zeros if ok is false.
fn load_x(g: Geometry, p: Position, a: Term, ok: bool) -> real4 {
  let pixel = source(g, p, a.t, a.s);
  let inside = (pixel >= 0) & ok;
  return select(real4(), x[select(0, pixel * i32(params.inputs / 4u) + a.k, inside)], inside);
}

// row_of is the row of the weights, (taps, inputs), that belongs to channel c of a term.
fn row_of(g: Geometry, a: Term, c: i32) -> i32 {
  return weight_at(g, a.t, a.s) * i32(params.inputs) + a.k * 4 + c;
}

// column_at is the index of the four outputs from n on, in a row of the weights or in a pixel. If
// ok is false, or beyond the last output, it is an arbitrary valid index: x is zero there, or no
// result is stored.
fn column_at(row: i32, ok: bool, n: i32) -> i32 {
  let quads = i32(params.outputs) / 4;
  return select(0, row * quads, ok) + min(n / 4, quads - 1);
}

// plus adds four terms to a sum, one after the other.
fn plus(sum: vec4<f32>, x: real4, w0: real4, w1: real4, w2: real4, w3: real4) -> vec4<f32> {
  let v = vec4<f32>(x);
  return (((sum + v.x * vec4<f32>(w0)) + v.y * vec4<f32>(w1)) + v.z * vec4<f32>(w2)) + v.w * vec4<f32>(w3);
}

fn plus_half(sum: real4, x: real4, w0: real4, w1: real4, w2: real4, w3: real4) -> real4 {
  return (((sum + x.x * w0) + x.y * w1) + x.z * w2) + x.w * w3;
}

fn store(pixel: i32, column: i32, sum: vec4<f32>) {
  if (column >= i32(params.outputs)) { return; }
  var v = sum;
  if (params.has_bias == 1u) { v += vec4<f32>(bias[column / 4]); }
  put(pixel, column / 4, v);
}

@compute @workgroup_size(SIZE)
fn conv2d_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let g = phase_geometry(group.z);
  let length = g.rows.taps * g.cols.taps * i32(params.inputs);
  let first_row = i32(group.x * ROWS * 4u);
  let first_column = i32(group.y * COLUMNS * 4u);
  let row_quad = local % TILE / COLUMNS;
  let column_quad = local % COLUMNS;
  let row = first_row + i32(row_quad) * 4;
  let column = first_column + i32(column_quad) * 4;
  let slice = local / TILE;
  // The first invocations load four terms of a row of x for every step (neighbours load
  // neighbouring terms). The last ones load a term of four columns of the weights. The loads of a
  // step are under way while the step before is added up.
  let loads_x = local < LEFT;
  let x_row = local / 2u % (ROWS * 4u);
  let x_quad = local / (ROWS * 8u) * 2u + local % 2u;
  let x_position = position(g, first_row + i32(x_row));
  var x_at = i32(x_quad) * 4;
  var x_term = term(g, x_at / 4);
  var x_next = real4();
  if (loads_x) { x_next = load_x(g, x_position, x_term, x_at < length); }
  let loads_w = local >= SIZE - RIGHT;
  let w_own = local - select(0u, SIZE - RIGHT, loads_w);
  let w_column = first_column + i32(w_own % COLUMNS) * 4;
  var w_at = i32(w_own / COLUMNS);
  let w_channel = w_at % 4;
  var w_term = term(g, w_at / 4);
  var w_next = real4();
  if (loads_w) { w_next = w[column_at(row_of(g, w_term, w_channel), w_at < length, w_column)]; }
  var s0 = vec4<f32>();
  var s1 = vec4<f32>();
  var s2 = vec4<f32>();
  var s3 = vec4<f32>();
  let steps = (length + i32(STEP) - 1) / i32(STEP);
  for (var step = 0; step < steps; step++) {
    if (loads_x) { left[x_quad * PITCH + x_row] = x_next; }
    if (loads_w) { right[w_own] = w_next; }
    workgroupBarrier();
    if (loads_x) {
      x_at += i32(STEP);
      x_term = term_after(g, x_term, i32(STEP) / 4);
      x_next = load_x(g, x_position, x_term, x_at < length);
    }
    if (loads_w) {
      w_at += i32(STEP);
      w_term = term_after(g, w_term, i32(STEP) / 4);
      w_next = w[column_at(row_of(g, w_term, w_channel), w_at < length, w_column)];
    }
    var t0 = real4();
    var t1 = real4();
    var t2 = real4();
    var t3 = real4();
    for (var k = 0u; k < DEPTH / 4u; k++) {
      let quad = slice * (DEPTH / 4u) + k;
      let x = quad * PITCH + row_quad * 4u;
      let w = quad * 4u * COLUMNS + column_quad;
      let w0 = right[w];
      let w1 = right[w + COLUMNS];
      let w2 = right[w + COLUMNS * 2u];
      let w3 = right[w + COLUMNS * 3u];
      if (HALF) {
        t0 = plus_half(t0, left[x], w0, w1, w2, w3);
        t1 = plus_half(t1, left[x + 1u], w0, w1, w2, w3);
        t2 = plus_half(t2, left[x + 2u], w0, w1, w2, w3);
        t3 = plus_half(t3, left[x + 3u], w0, w1, w2, w3);
      } else {
        s0 = plus(s0, left[x], w0, w1, w2, w3);
        s1 = plus(s1, left[x + 1u], w0, w1, w2, w3);
        s2 = plus(s2, left[x + 2u], w0, w1, w2, w3);
        s3 = plus(s3, left[x + 3u], w0, w1, w2, w3);
      }
    }
    if (HALF) {
      s0 += vec4<f32>(t0);
      s1 += vec4<f32>(t1);
      s2 += vec4<f32>(t2);
      s3 += vec4<f32>(t3);
    }
    workgroupBarrier();
  }
  let last = min(row + 4, positions(g));
  if (SLICES > 1u) {
    let sum = sum_tile_slices(local, s0, s1, s2, s3);
    if (row + i32(slice) < last) { store(destination(g, position(g, row + i32(slice))), column, sum); }
    return;
  }
  var sums = array<vec4<f32>, 4>(s0, s1, s2, s3);
  var p = position(g, row);
  for (var i = row; i < last; i++) {
    store(destination(g, p), column, sums[i - row]);
    p = next(g, p);
  }
}

@compute @workgroup_size(SIZE)
fn conv2d_backward_weight(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let length = g.rows.taps * g.cols.taps * i32(params.inputs);
  let first_row = i32(group.x * ROWS * 4u);
  let first = i32(group.z * params.chunk);
  let last = min(positions(g), first + i32(params.chunk));
  let row_quad = local % TILE / COLUMNS;
  let column_quad = local % COLUMNS;
  let row = first_row + i32(row_quad) * 4;
  let column = i32((group.y * COLUMNS + column_quad) * 4u);
  let slice = local / TILE;
  // As in forward, invocations load four rows of a pixel of x for every step, and four columns of a
  // pixel of dy.
  let x_row = first_row + i32(local % ROWS) * 4;
  let x_term = term(g, x_row / 4);
  let loads_x = local < LEFT;
  let x_pixel = first + i32(local / ROWS);
  var x_position = position(g, x_pixel);
  var x_next = real4();
  if (loads_x) { x_next = load_x(g, x_position, x_term, (x_row < length) & (x_pixel < last)); }
  let loads_dy = local >= SIZE - RIGHT;
  let dy_own = local - select(0u, SIZE - RIGHT, loads_dy);
  let dy_column = i32((group.y * COLUMNS + dy_own % COLUMNS) * 4u);
  let dy_pixel = first + i32(dy_own / COLUMNS);
  var dy_position = position(g, dy_pixel);
  var dy_next = real4();
  if (loads_dy) { dy_next = dy[column_at(destination(g, dy_position), dy_pixel < last, dy_column)]; }
  var s0 = vec4<f32>();
  var s1 = vec4<f32>();
  var s2 = vec4<f32>();
  var s3 = vec4<f32>();
  let steps = (last - first + i32(STEP) - 1) / i32(STEP);
  for (var step = 0; step < steps; step++) {
    if (loads_x) { left[local] = x_next; }
    if (loads_dy) { right[dy_own] = dy_next; }
    workgroupBarrier();
    let further = (step + 1) * i32(STEP);
    if (loads_x) {
      x_position = position_after(g, x_position, i32(STEP));
      x_next = load_x(g, x_position, x_term, (x_row < length) & (x_pixel + further < last));
    }
    if (loads_dy) {
      dy_position = position_after(g, dy_position, i32(STEP));
      dy_next = dy[column_at(destination(g, dy_position), dy_pixel + further < last, dy_column)];
    }
    for (var d = 0u; d < DEPTH; d++) {
      let pixel = slice * DEPTH + d;
      let a = vec4<f32>(left[pixel * ROWS + row_quad]);
      let b = vec4<f32>(right[pixel * COLUMNS + column_quad]);
      s0 += a.x * b;
      s1 += a.y * b;
      s2 += a.z * b;
      s3 += a.w * b;
    }
    workgroupBarrier();
  }
  let part = i32(group.z) * g.rows.w_size * g.cols.w_size * i32(params.inputs);
  let end = min(row + 4, length);
  if (SLICES > 1u) {
    let i = row + i32(slice);
    let sum = sum_tile_slices(local, s0, s1, s2, s3);
    if ((i < end) & (column < i32(params.outputs))) { add_weights(part + row_of(g, term(g, i / 4), i % 4), column / 4, sum); }
    return;
  }
  var sums = array<vec4<f32>, 4>(s0, s1, s2, s3);
  if (column >= i32(params.outputs)) { return; }
  for (var i = row; i < end; i++) {
    add_weights(part + row_of(g, term(g, i / 4), i % 4), column / 4, sums[i - row]);
  }
}
