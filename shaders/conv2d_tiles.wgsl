// Convolution for GPUs, as a product of matrices that are gathered on the way (implicit GEMM): a workgroup keeps a tile of
// 4 ROWS × 4 COLUMNS results, 4 × 4 an invocation, and walks along the contraction STEP at a time, through workgroup memory.
// Small tiles make more workgroups, large ones load less. The maths are those of conv2d.wgsl. Joined with
// conv2d_tiles_channels.wgsl or conv2d_tiles_quads.wgsl, conv2d_products.wgsl, conv2d_terms.wgsl and the parts of conv2d.wgsl.
//
//   forward          rows are pixels (b, u, v),  columns outputs, the contraction runs over (t, s, input)
//   backward_weight  rows are (t, s, input),     columns outputs, the contraction runs over the pixels of one part; no slices

const PITCH: u32 = ROWS * 4u + 4u; // of a term quad, so that neighbours write to other banks of memory
const PADDED: u32 = LEFT + STEP;
var<workgroup> left: array<real4, PADDED>; // forward: [term quad][row]; backward_weight: [term][row quad]
var<workgroup> right: array<real4, RIGHT>; // [term][column quad]

fn row_at(g: Geometry, i: i32) -> i32 { return row_of(g, term(g, i / i32(CHANNELS)), i % i32(CHANNELS), vec2<i32>()); }

@compute @workgroup_size(SIZE)
fn conv2d_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let phase = phase_of(group.z);
  let channels = i32(CHANNELS);
  let length = g.rows.taps * g.cols.taps * i32(params.inputs);
  let first_row = i32(group.x * ROWS * 4u);
  let first_column = i32(group.y * COLUMNS * 4u);
  let row_quad = local % TILE / COLUMNS;
  let column_quad = local % COLUMNS;
  let row = first_row + i32(row_quad) * 4;
  let column = first_column + i32(column_quad) * 4;
  let slice = local / TILE;
  // What this invocation loads of every step: if it is one of the first, four terms of a row of x (neighbours load neighbouring ones), if it is one
  // of the last, a term of four columns of the weights. They are under way while the step before is added up.
  let loads_x = local < LEFT;
  let x_row = local / 2u % (ROWS * 4u);
  let x_quad = local / (ROWS * 8u) * 2u + local % 2u;
  let x_position = position(g, first_row + i32(x_row));
  var x_at = i32(x_quad) * 4;
  var x_term = term(g, x_at / channels);
  var x_next = real4();
  if (loads_x) { x_next = load_terms(g, x_position, terms(g, x_term), x_at, length); }
  let loads_w = local >= SIZE - RIGHT;
  let w_own = local - select(0u, SIZE - RIGHT, loads_w);
  let w_column = first_column + i32(w_own % COLUMNS) * 4;
  var w_at = i32(w_own / COLUMNS);
  let w_channel = w_at % channels;
  var w_term = term(g, w_at / channels);
  var w_next = real4();
  if (loads_w) { w_next = load_weights(row_of(g, w_term, w_channel, phase), w_at < length, w_column); }
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
      x_term = term_after(g, x_term, i32(STEP) / channels);
      x_next = load_terms(g, x_position, terms(g, x_term), x_at, length);
    }
    if (loads_w) {
      w_at += i32(STEP);
      w_term = term_after(g, w_term, i32(STEP) / channels);
      w_next = load_weights(row_of(g, w_term, w_channel, phase), w_at < length, w_column);
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
  let last = min(row + 4, g.batch * g.rows.count * g.cols.count);
  if (SLICES > 1u) {
    let sum = whole(local, 3u, s3, whole(local, 2u, s2, whole(local, 1u, s1, whole(local, 0u, s0, summed()))));
    if (row + i32(slice) < last) { store(destination(g, position(g, row + i32(slice)), phase), column, sum); }
    return;
  }
  var sums = array<vec4<f32>, 4>(s0, s1, s2, s3);
  var p = position(g, row);
  for (var i = row; i < last; i++) {
    store(destination(g, p, phase), column, sums[i - row]);
    p = next(g, p);
  }
}

@compute @workgroup_size(SIZE)
fn conv2d_backward_weight(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let channels = i32(CHANNELS);
  let length = g.rows.taps * g.cols.taps * i32(params.inputs);
  let first_row = i32(group.x * ROWS * 4u);
  let first = i32(group.z * params.chunk);
  let last = min(g.batch * g.rows.count * g.cols.count, first + i32(params.chunk));
  // What this invocation loads of every step, as in forward: four rows of a pixel of x, and four columns of a pixel of dy.
  let x_row = first_row + i32(local % ROWS) * 4;
  let x_terms = terms(g, term(g, x_row / channels));
  let loads_x = local < LEFT;
  let x_pixel = first + i32(local / ROWS);
  var x_position = position(g, x_pixel);
  var x_next = real4();
  if (loads_x) { x_next = load_terms(g, x_position, x_terms, x_row, select(0, length, x_pixel < last)); }
  let loads_dy = local >= SIZE - RIGHT;
  let dy_own = local - select(0u, SIZE - RIGHT, loads_dy);
  let dy_column = i32((group.y * COLUMNS + dy_own % COLUMNS) * 4u);
  let dy_pixel = first + i32(dy_own / COLUMNS);
  var dy_position = position(g, dy_pixel);
  var dy_next = real4();
  if (loads_dy) { dy_next = load_gradients(destination(g, dy_position, vec2<i32>()), dy_pixel < last, dy_column); }
  var s0 = vec4<f32>();
  var s1 = vec4<f32>();
  var s2 = vec4<f32>();
  var s3 = vec4<f32>();
  let steps = (last - first + i32(DEPTH) - 1) / i32(DEPTH);
  for (var step = 0; step < steps; step++) {
    if (loads_x) { left[local] = x_next; }
    if (loads_dy) { right[dy_own] = dy_next; }
    workgroupBarrier();
    let further = (step + 1) * i32(DEPTH);
    if (loads_x) {
      x_position = position_after(g, x_position, i32(DEPTH));
      x_next = load_terms(g, x_position, x_terms, x_row, select(0, length, x_pixel + further < last));
    }
    if (loads_dy) {
      dy_position = position_after(g, dy_position, i32(DEPTH));
      dy_next = load_gradients(destination(g, dy_position, vec2<i32>()), dy_pixel + further < last, dy_column);
    }
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
  let column = i32((group.y * COLUMNS + local % COLUMNS) * 4u);
  let part = i32(group.z) * g.rows.w_size * g.cols.w_size * i32(params.inputs);
  var sums = array<vec4<f32>, 4>(s0, s1, s2, s3);
  let end = min(row + 4, length);
  for (var i = row; i < end; i++) { store_weights(part + row_at(g, i), column, sums[i - row]); }
}
