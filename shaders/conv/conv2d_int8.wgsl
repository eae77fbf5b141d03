// Convolution of int8 with int8. Each invocation keeps 8 pixels × 4 outputs in registers. It needs
// no workgroup memory and no dot4I8Packed: it unpacks the factors. Below conv2d_int8_common.wgsl.

const SIZE: u32 = 32u;

// product multiplies four channels of a pixel by their weights.
fn product(v: u32, w0: vec4<i32>, w1: vec4<i32>, w2: vec4<i32>, w3: vec4<i32>) -> vec4<i32> {
  return channel(v, 0u) * w0 + channel(v, 1u) * w1 + channel(v, 2u) * w2 + channel(v, 3u) * w3;
}

@compute @workgroup_size(SIZE)
fn conv2d_int8(id: Invocation) {
  let g = phase_geometry(id.group.z);
  let block = i32(number(id, SIZE));
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
  // (t, s) is counted on, since a division would cost as much as a word of products.
  for (var tap = 0; tap < g.rows.taps * g.cols.taps; tap++) {
    let x0 = source(g, p0, t, s) * words;
    let x1 = source(g, p1, t, s) * words;
    let x2 = source(g, p2, t, s) * words;
    let x3 = source(g, p3, t, s) * words;
    let x4 = source(g, p4, t, s) * words;
    let x5 = source(g, p5, t, s) * words;
    let x6 = source(g, p6, t, s) * words;
    let x7 = source(g, p7, t, s) * words;
    var from_w = weight_at(g, t, s) * words * quads + quad;
    for (var k = 0; k < words; k++) {
      let word = w[from_w];
      let w0 = weights(word, 0u);
      let w1 = weights(word, 1u);
      let w2 = weights(word, 2u);
      let w3 = weights(word, 3u);
      all += w0 + w1 + w2 + w3;
      s0 += product(load(x0, k), w0, w1, w2, w3);
      s1 += product(load(x1, k), w0, w1, w2, w3);
      s2 += product(load(x2, k), w0, w1, w2, w3);
      s3 += product(load(x3, k), w0, w1, w2, w3);
      s4 += product(load(x4, k), w0, w1, w2, w3);
      s5 += product(load(x5, k), w0, w1, w2, w3);
      s6 += product(load(x6, k), w0, w1, w2, w3);
      s7 += product(load(x7, k), w0, w1, w2, w3);
      from_w += quads;
    }
    s = select(s + 1, 0, s + 1 == g.cols.taps);
    t += select(0, 1, s == 0);
  }
  all *= 128;
  let f = finish(quad);
  var sums = array<vec4<i32>, 8>(s0, s1, s2, s3, s4, s5, s6, s7);
  var p = p0;
  let last = min(first + 8, positions(g));
  for (var i = first; i < last; i++) {
    store(destination(g, p), quad, f, sums[i - first] - all);
    p = next(g, p);
  }
}
