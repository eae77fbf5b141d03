// Convolution for GPUs as in conv2d_tiles.wgsl, forwards: a workgroup keeps 64 × 64 results, and an invocation 8 × 8 of them, every eighth row and two
// quads of columns. That is half of the reading from workgroup memory for a product, which is what holds 4 × 4 up on large GPUs, and four times the registers.
// Joined with conv2d_tiles_quads.wgsl, conv2d_products.wgsl, conv2d_terms.wgsl and the parts of conv2d.wgsl.

const STEP8: i32 = 8; // terms a step
var<workgroup> left: array<real4, 128>;  // [term quad][row]
var<workgroup> right: array<real4, 128>; // [term][column quad]

@compute @workgroup_size(64)
fn conv2d_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let phase = phase_of(group.z);
  let length = g.rows.taps * g.cols.taps * i32(params.inputs);
  let first_row = i32(group.x * 64u);
  let first_column = i32(group.y * 64u);
  // What this invocation loads of every step, while the one before is added up: eight terms of a row, and two terms of four columns.
  let x_position = position(g, first_row + i32(local));
  let w_channel = i32(local / 16u);
  let w_column = first_column + i32(local % 16u) * 4;
  var a = term(g, 0);
  var b = term(g, 1);
  var x_a = load_x(g, x_position, a, true);
  var x_b = load_x(g, x_position, b, 4 < length);
  var w_a = load_weights(row_of(g, a, w_channel, phase), true, w_column);
  var w_b = load_weights(row_of(g, b, w_channel, phase), 4 < length, w_column);
  var s0 = vec4<f32>();
  var s1 = vec4<f32>();
  var s2 = vec4<f32>();
  var s3 = vec4<f32>();
  var s4 = vec4<f32>();
  var s5 = vec4<f32>();
  var s6 = vec4<f32>();
  var s7 = vec4<f32>();
  var u0 = vec4<f32>();
  var u1 = vec4<f32>();
  var u2 = vec4<f32>();
  var u3 = vec4<f32>();
  var u4 = vec4<f32>();
  var u5 = vec4<f32>();
  var u6 = vec4<f32>();
  var u7 = vec4<f32>();
  let row = local / 8u;
  let column = local % 8u;
  let steps = (length + STEP8 - 1) / STEP8;
  for (var step = 0; step < steps; step++) {
    left[local] = x_a;
    left[64u + local] = x_b;
    right[local] = w_a;
    right[64u + local] = w_b;
    workgroupBarrier();
    let at = (step + 1) * STEP8;
    a = term_after(g, b, 1);
    b = term_after(g, a, 1);
    x_a = load_x(g, x_position, a, at < length);
    x_b = load_x(g, x_position, b, at + 4 < length);
    w_a = load_weights(row_of(g, a, w_channel, phase), at < length, w_column);
    w_b = load_weights(row_of(g, b, w_channel, phase), at + 4 < length, w_column);
    var t0 = real4(); var t1 = real4(); var t2 = real4(); var t3 = real4(); var t4 = real4(); var t5 = real4(); var t6 = real4(); var t7 = real4();
    var v0 = real4(); var v1 = real4(); var v2 = real4(); var v3 = real4(); var v4 = real4(); var v5 = real4(); var v6 = real4(); var v7 = real4();
    for (var quad = 0u; quad < 2u; quad++) {
      let w = quad * 64u + column;
      let w0 = right[w]; let w1 = right[w + 16u]; let w2 = right[w + 32u]; let w3 = right[w + 48u];
      let z0 = right[w + 8u]; let z1 = right[w + 24u]; let z2 = right[w + 40u]; let z3 = right[w + 56u];
      let x = quad * 64u + row;
      let x0 = left[x];
      let x1 = left[x + 8u];
      let x2 = left[x + 16u];
      let x3 = left[x + 24u];
      let x4 = left[x + 32u];
      let x5 = left[x + 40u];
      let x6 = left[x + 48u];
      let x7 = left[x + 56u];
      if (HALF) {
        t0 = plus_half(t0, x0, w0, w1, w2, w3); v0 = plus_half(v0, x0, z0, z1, z2, z3);
        t1 = plus_half(t1, x1, w0, w1, w2, w3); v1 = plus_half(v1, x1, z0, z1, z2, z3);
        t2 = plus_half(t2, x2, w0, w1, w2, w3); v2 = plus_half(v2, x2, z0, z1, z2, z3);
        t3 = plus_half(t3, x3, w0, w1, w2, w3); v3 = plus_half(v3, x3, z0, z1, z2, z3);
        t4 = plus_half(t4, x4, w0, w1, w2, w3); v4 = plus_half(v4, x4, z0, z1, z2, z3);
        t5 = plus_half(t5, x5, w0, w1, w2, w3); v5 = plus_half(v5, x5, z0, z1, z2, z3);
        t6 = plus_half(t6, x6, w0, w1, w2, w3); v6 = plus_half(v6, x6, z0, z1, z2, z3);
        t7 = plus_half(t7, x7, w0, w1, w2, w3); v7 = plus_half(v7, x7, z0, z1, z2, z3);
      } else {
        s0 = plus(s0, x0, w0, w1, w2, w3); u0 = plus(u0, x0, z0, z1, z2, z3);
        s1 = plus(s1, x1, w0, w1, w2, w3); u1 = plus(u1, x1, z0, z1, z2, z3);
        s2 = plus(s2, x2, w0, w1, w2, w3); u2 = plus(u2, x2, z0, z1, z2, z3);
        s3 = plus(s3, x3, w0, w1, w2, w3); u3 = plus(u3, x3, z0, z1, z2, z3);
        s4 = plus(s4, x4, w0, w1, w2, w3); u4 = plus(u4, x4, z0, z1, z2, z3);
        s5 = plus(s5, x5, w0, w1, w2, w3); u5 = plus(u5, x5, z0, z1, z2, z3);
        s6 = plus(s6, x6, w0, w1, w2, w3); u6 = plus(u6, x6, z0, z1, z2, z3);
        s7 = plus(s7, x7, w0, w1, w2, w3); u7 = plus(u7, x7, z0, z1, z2, z3);
      }
    }
    if (HALF) {
      s0 += vec4<f32>(t0); u0 += vec4<f32>(v0);
      s1 += vec4<f32>(t1); u1 += vec4<f32>(v1);
      s2 += vec4<f32>(t2); u2 += vec4<f32>(v2);
      s3 += vec4<f32>(t3); u3 += vec4<f32>(v3);
      s4 += vec4<f32>(t4); u4 += vec4<f32>(v4);
      s5 += vec4<f32>(t5); u5 += vec4<f32>(v5);
      s6 += vec4<f32>(t6); u6 += vec4<f32>(v6);
      s7 += vec4<f32>(t7); u7 += vec4<f32>(v7);
    }
    workgroupBarrier();
  }
  let first = first_row + i32(row);
  let n = first_column + i32(column) * 4;
  var sums = array<vec4<f32>, 16>(s0, u0, s1, u1, s2, u2, s3, u3, s4, u4, s5, u5, s6, u6, s7, u7);
  let last = min(first + 64, g.batch * g.rows.count * g.cols.count);
  for (var i = first; i < last; i += 8) {
    let pixel = destination(g, position(g, i), phase);
    store(pixel, n, sums[(i - first) / 4]);
    store(pixel, n + 32, sums[(i - first) / 4 + 1]);
  }
}
