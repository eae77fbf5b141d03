enable subgroups;

// Convolution of int8 with int8 for processors that emulate a GPU with subgroups of eight: a subgroup computes 16 pixels × 32 outputs. Each
// lane keeps the four outputs of one quad for every pixel, and loads x for two of the pixels; a broadcast gives it to the others. The
// products are those of dot4I8Packed: unpacked, they become the multiply-adds of 16-bit numbers that x86 has, and cost less than the packed
// ones, which a driver unpacks without knowing of what is needed again.
// Joined with conv2d_int8_finish.wgsl, conv2d_int8_channels.wgsl, conv2d_geometry.wgsl, quantize_words.wgsl and activation_functions.wgsl.

const LANES: u32 = 8u; // a workgroup is one subgroup

@compute @workgroup_size(LANES)
fn conv2d_int8(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let g = geometry();
  let phase = phase_of(group.z);
  let quads = i32(params.outputs) / 4;
  let words = i32(params.inputs) / 4;
  let quad = i32(group.y * LANES + lane);
  let q = min(quad, quads - 1);
  let first = i32(group.x * 2u * LANES);
  let pa = position(g, first + i32(lane));
  let pb = position(g, first + i32(LANES + lane));
  var all = vec4<i32>(); // the sum of the weights
  var s0 = vec4<i32>();
  var s1 = vec4<i32>();
  var s2 = vec4<i32>();
  var s3 = vec4<i32>();
  var s4 = vec4<i32>();
  var s5 = vec4<i32>();
  var s6 = vec4<i32>();
  var s7 = vec4<i32>();
  var s8 = vec4<i32>();
  var s9 = vec4<i32>();
  var s10 = vec4<i32>();
  var s11 = vec4<i32>();
  var s12 = vec4<i32>();
  var s13 = vec4<i32>();
  var s14 = vec4<i32>();
  var s15 = vec4<i32>();
  var t = 0;
  var s = 0;
  for (var tap = 0; tap < g.rows.taps * g.cols.taps; tap++) { // (t, s), without divisions, which cost as much as a word
    let xa = source(g, pa, t, s) * words;
    let xb = source(g, pb, t, s) * words;
    var from_w = weight_at(g, t, s, phase) * words * quads + q;
    for (var k = 0; k < words; k++) {
      let word = w[from_w];
      let va = load(xa, k);
      let vb = load(xb, k);
      let w0 = weights(word, 0u);
      let a0 = channel(va, 0u);
      let b0 = channel(vb, 0u);
      all += w0;
      s0 += subgroupBroadcast(a0, 0u) * w0;
      s1 += subgroupBroadcast(a0, 1u) * w0;
      s2 += subgroupBroadcast(a0, 2u) * w0;
      s3 += subgroupBroadcast(a0, 3u) * w0;
      s4 += subgroupBroadcast(a0, 4u) * w0;
      s5 += subgroupBroadcast(a0, 5u) * w0;
      s6 += subgroupBroadcast(a0, 6u) * w0;
      s7 += subgroupBroadcast(a0, 7u) * w0;
      s8 += subgroupBroadcast(b0, 0u) * w0;
      s9 += subgroupBroadcast(b0, 1u) * w0;
      s10 += subgroupBroadcast(b0, 2u) * w0;
      s11 += subgroupBroadcast(b0, 3u) * w0;
      s12 += subgroupBroadcast(b0, 4u) * w0;
      s13 += subgroupBroadcast(b0, 5u) * w0;
      s14 += subgroupBroadcast(b0, 6u) * w0;
      s15 += subgroupBroadcast(b0, 7u) * w0;
      let w1 = weights(word, 1u);
      let a1 = channel(va, 1u);
      let b1 = channel(vb, 1u);
      all += w1;
      s0 += subgroupBroadcast(a1, 0u) * w1;
      s1 += subgroupBroadcast(a1, 1u) * w1;
      s2 += subgroupBroadcast(a1, 2u) * w1;
      s3 += subgroupBroadcast(a1, 3u) * w1;
      s4 += subgroupBroadcast(a1, 4u) * w1;
      s5 += subgroupBroadcast(a1, 5u) * w1;
      s6 += subgroupBroadcast(a1, 6u) * w1;
      s7 += subgroupBroadcast(a1, 7u) * w1;
      s8 += subgroupBroadcast(b1, 0u) * w1;
      s9 += subgroupBroadcast(b1, 1u) * w1;
      s10 += subgroupBroadcast(b1, 2u) * w1;
      s11 += subgroupBroadcast(b1, 3u) * w1;
      s12 += subgroupBroadcast(b1, 4u) * w1;
      s13 += subgroupBroadcast(b1, 5u) * w1;
      s14 += subgroupBroadcast(b1, 6u) * w1;
      s15 += subgroupBroadcast(b1, 7u) * w1;
      let w2 = weights(word, 2u);
      let a2 = channel(va, 2u);
      let b2 = channel(vb, 2u);
      all += w2;
      s0 += subgroupBroadcast(a2, 0u) * w2;
      s1 += subgroupBroadcast(a2, 1u) * w2;
      s2 += subgroupBroadcast(a2, 2u) * w2;
      s3 += subgroupBroadcast(a2, 3u) * w2;
      s4 += subgroupBroadcast(a2, 4u) * w2;
      s5 += subgroupBroadcast(a2, 5u) * w2;
      s6 += subgroupBroadcast(a2, 6u) * w2;
      s7 += subgroupBroadcast(a2, 7u) * w2;
      s8 += subgroupBroadcast(b2, 0u) * w2;
      s9 += subgroupBroadcast(b2, 1u) * w2;
      s10 += subgroupBroadcast(b2, 2u) * w2;
      s11 += subgroupBroadcast(b2, 3u) * w2;
      s12 += subgroupBroadcast(b2, 4u) * w2;
      s13 += subgroupBroadcast(b2, 5u) * w2;
      s14 += subgroupBroadcast(b2, 6u) * w2;
      s15 += subgroupBroadcast(b2, 7u) * w2;
      let w3 = weights(word, 3u);
      let a3 = channel(va, 3u);
      let b3 = channel(vb, 3u);
      all += w3;
      s0 += subgroupBroadcast(a3, 0u) * w3;
      s1 += subgroupBroadcast(a3, 1u) * w3;
      s2 += subgroupBroadcast(a3, 2u) * w3;
      s3 += subgroupBroadcast(a3, 3u) * w3;
      s4 += subgroupBroadcast(a3, 4u) * w3;
      s5 += subgroupBroadcast(a3, 5u) * w3;
      s6 += subgroupBroadcast(a3, 6u) * w3;
      s7 += subgroupBroadcast(a3, 7u) * w3;
      s8 += subgroupBroadcast(b3, 0u) * w3;
      s9 += subgroupBroadcast(b3, 1u) * w3;
      s10 += subgroupBroadcast(b3, 2u) * w3;
      s11 += subgroupBroadcast(b3, 3u) * w3;
      s12 += subgroupBroadcast(b3, 4u) * w3;
      s13 += subgroupBroadcast(b3, 5u) * w3;
      s14 += subgroupBroadcast(b3, 6u) * w3;
      s15 += subgroupBroadcast(b3, 7u) * w3;
      from_w += quads;
    }
    s = select(s + 1, 0, s + 1 == g.cols.taps);
    t += select(0, 1, s == 0);
  }
  all *= 128;
  let f = finish(q);
  var sums = array<vec4<i32>, 16>(s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15);
  var p = position(g, first);
  let last = min(first + 16, g.batch * g.rows.count * g.cols.count);
  for (var i = first; i < last; i++) {
    store(destination(g, p, phase), quad, f, sums[i - first] - all);
    p = next(g, p);
  }
}
