requires packed_4x8_integer_dot_product;

// Convolution of int8 with int8 for GPUs, as a product of matrices that are gathered on the way (implicit GEMM): a workgroup keeps a tile of
// 4 ROWS pixels × 4 COLUMNS outputs, 4 × 4 an invocation, and walks along the contraction STEP words of four products at a time, through
// workgroup memory. Joined with conv2d_terms.wgsl, conv2d_int8_finish.wgsl, conv2d_geometry.wgsl, quantize_words.wgsl and
// activation_functions.wgsl.

alias element = u32;
const CHANNELS: u32 = 4u;
alias summed = vec4<i32>;

var<workgroup> left: array<vec4<u32>, LEFT>;   // [word][row quad]
var<workgroup> right: array<vec4<u32>, RIGHT>; // [word][column quad]

fn dots(x: u32, words: vec4<u32>) -> vec4<i32> {
  return vec4<i32>(dot4I8Packed(x, words.x), dot4I8Packed(x, words.y), dot4I8Packed(x, words.z), dot4I8Packed(x, words.w));
}

@compute @workgroup_size(SIZE)
fn conv2d_int8(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let quads = i32(params.outputs) / 4;
  let phase = phase_of(group.z);
  let length = g.rows.taps * g.cols.taps * i32(params.inputs) / 4;
  let first_row = i32(group.x * ROWS * 4u);
  let first_quad = i32(group.y * COLUMNS);
  let row_quad = local % TILE / COLUMNS;
  let column_quad = local % COLUMNS;
  let slice = local / TILE;
  var s0 = vec4<i32>();
  var s1 = vec4<i32>();
  var s2 = vec4<i32>();
  var s3 = vec4<i32>();
  let steps = (length + i32(STEP) - 1) / i32(STEP);
  for (var step = 0; step < steps; step++) {
    let start = step * i32(STEP);
    for (var turn = 0u; turn < (LEFT + SIZE - 1u) / SIZE; turn++) { // neighbours load neighbouring channels
      let i = turn * SIZE + local;
      if (i < LEFT) {
        let at = start + i32(i % STEP);
        let a = term(g, at);
        let p0 = position(g, first_row + i32(i / STEP) * 4);
        let p1 = next(g, p0);
        let p2 = next(g, p1);
        let p3 = next(g, p2);
        let ok = at < length; // beyond it x is zero, and the weight of no account
        left[(i % STEP) * ROWS + i / STEP] = vec4<u32>(load_x(g, p0, a, ok), load_x(g, p1, a, ok), load_x(g, p2, a, ok), load_x(g, p3, a, ok));
      }
    }
    for (var turn = 0u; turn < (RIGHT + SIZE - 1u) / SIZE; turn++) {
      let i = turn * SIZE + local;
      if (i < RIGHT) {
        let row = weight_of(g, term(g, min(start + i32(i / COLUMNS), length - 1)), phase);
        right[i] = w[row * quads + min(first_quad + i32(i % COLUMNS), quads - 1)];
      }
    }
    workgroupBarrier();
    for (var k = 0u; k < DEPTH; k++) {
      let d = slice * DEPTH + k;
      let a = left[d * ROWS + row_quad];
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
  if (SLICES > 1u) {
    let sum = whole(local, 3u, s3, whole(local, 2u, s2, whole(local, 1u, s1, whole(local, 0u, s0, summed()))));
    if (slice < 4u) { store(destination(g, position(g, row + i32(slice)), phase), quad, f, sum); }
    return;
  }
  let p0 = position(g, row);
  let p1 = next(g, p0);
  let p2 = next(g, p1);
  let p3 = next(g, p2);
  store(destination(g, p0, phase), quad, f, s0);
  store(destination(g, p1, phase), quad, f, s1);
  store(destination(g, p2, phase), quad, f, s2);
  store(destination(g, p3, phase), quad, f, s3);
}
