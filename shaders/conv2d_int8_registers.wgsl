// Convolution of int8 with int8: each invocation keeps 8 pixels × 4 outputs in named variables; no workgroup memory, and nothing that a device
// may lack: the products are those of dot4I8Packed, unpacked.
// Joined with conv2d_int8_finish.wgsl, conv2d_int8_channels.wgsl, conv2d_geometry.wgsl, quantize_words.wgsl and activation_functions.wgsl.

const SIZE: u32 = 32u;

@compute @workgroup_size(SIZE)
fn conv2d_int8(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
               @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let block = i32((group.y * groups.x + group.x) * SIZE + local);
  let phase = phase_of(group.z);
  let quads = i32(params.outputs) / 4;
  let words = i32(params.inputs) / 4;
  let quad = block % quads;
  let first = block / quads * 8;
  let p0 = position(g, first);
  let p1 = next(g, p0);
  let p2 = next(g, p1);
  let p3 = next(g, p2);
  let p4 = next(g, p3);
  let p5 = next(g, p4);
  let p6 = next(g, p5);
  let p7 = next(g, p6);
  var all = vec4<i32>(); // the sum of the weights
  var s0 = vec4<i32>();
  var s1 = vec4<i32>();
  var s2 = vec4<i32>();
  var s3 = vec4<i32>();
  var s4 = vec4<i32>();
  var s5 = vec4<i32>();
  var s6 = vec4<i32>();
  var s7 = vec4<i32>();
  var t = 0;
  var s = 0;
  for (var tap = 0; tap < g.rows.taps * g.cols.taps; tap++) { // (t, s), without divisions, which cost as much as a word
    let x0 = source(g, p0, t, s) * words;
    let x1 = source(g, p1, t, s) * words;
    let x2 = source(g, p2, t, s) * words;
    let x3 = source(g, p3, t, s) * words;
    let x4 = source(g, p4, t, s) * words;
    let x5 = source(g, p5, t, s) * words;
    let x6 = source(g, p6, t, s) * words;
    let x7 = source(g, p7, t, s) * words;
    var from_w = weight_at(g, t, s, phase) * words * quads + quad;
    for (var k = 0; k < words; k++) {
      let word = w[from_w];
      let w0 = weights(word, 0u);
      let w1 = weights(word, 1u);
      let w2 = weights(word, 2u);
      let w3 = weights(word, 3u);
      all += w0 + w1 + w2 + w3;
      let v0 = load(x0, k);
      s0 += channel(v0, 0u) * w0 + channel(v0, 1u) * w1 + channel(v0, 2u) * w2 + channel(v0, 3u) * w3;
      let v1 = load(x1, k);
      s1 += channel(v1, 0u) * w0 + channel(v1, 1u) * w1 + channel(v1, 2u) * w2 + channel(v1, 3u) * w3;
      let v2 = load(x2, k);
      s2 += channel(v2, 0u) * w0 + channel(v2, 1u) * w1 + channel(v2, 2u) * w2 + channel(v2, 3u) * w3;
      let v3 = load(x3, k);
      s3 += channel(v3, 0u) * w0 + channel(v3, 1u) * w1 + channel(v3, 2u) * w2 + channel(v3, 3u) * w3;
      let v4 = load(x4, k);
      s4 += channel(v4, 0u) * w0 + channel(v4, 1u) * w1 + channel(v4, 2u) * w2 + channel(v4, 3u) * w3;
      let v5 = load(x5, k);
      s5 += channel(v5, 0u) * w0 + channel(v5, 1u) * w1 + channel(v5, 2u) * w2 + channel(v5, 3u) * w3;
      let v6 = load(x6, k);
      s6 += channel(v6, 0u) * w0 + channel(v6, 1u) * w1 + channel(v6, 2u) * w2 + channel(v6, 3u) * w3;
      let v7 = load(x7, k);
      s7 += channel(v7, 0u) * w0 + channel(v7, 1u) * w1 + channel(v7, 2u) * w2 + channel(v7, 3u) * w3;
      from_w += quads;
    }
    s = select(s + 1, 0, s + 1 == g.cols.taps);
    t += select(0, 1, s == 0);
  }
  all *= 128;
  let f = finish(quad);
  var sums = array<vec4<i32>, 8>(s0, s1, s2, s3, s4, s5, s6, s7);
  var p = p0;
  let last = min(first + 8, g.batch * g.rows.count * g.cols.count);
  for (var i = first; i < last; i++) {
    store(destination(g, p, phase), quad, f, sums[i - first] - all);
    p = next(g, p);
  }
}
