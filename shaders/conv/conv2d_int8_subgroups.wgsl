// Convolution of int8 with int8 for processors that emulate a GPU with subgroups of eight. A
// subgroup computes 16 pixels × 32 outputs. Each lane keeps the four outputs of one quad for every
// pixel. It loads x for two of the pixels, and a broadcast gives x to the other lanes. Unpacked
// products cost less than dot4I8Packed: they become the multiply-adds of 16-bit numbers that x86
// has, and a word is unpacked once. Below conv2d_int8_common.wgsl.

const LANES: u32 = 8u; // a workgroup is one subgroup

// add adds the products of a weight with one channel of 16 pixels. Each lane has the channel of two
// pixels, a and b.
fn add(sums: ptr<function, array<vec4<i32>, 16>>, a: i32, b: i32, weight: vec4<i32>) {
  (*sums)[0] += subgroupBroadcast(a, 0u) * weight;
  (*sums)[1] += subgroupBroadcast(a, 1u) * weight;
  (*sums)[2] += subgroupBroadcast(a, 2u) * weight;
  (*sums)[3] += subgroupBroadcast(a, 3u) * weight;
  (*sums)[4] += subgroupBroadcast(a, 4u) * weight;
  (*sums)[5] += subgroupBroadcast(a, 5u) * weight;
  (*sums)[6] += subgroupBroadcast(a, 6u) * weight;
  (*sums)[7] += subgroupBroadcast(a, 7u) * weight;
  (*sums)[8] += subgroupBroadcast(b, 0u) * weight;
  (*sums)[9] += subgroupBroadcast(b, 1u) * weight;
  (*sums)[10] += subgroupBroadcast(b, 2u) * weight;
  (*sums)[11] += subgroupBroadcast(b, 3u) * weight;
  (*sums)[12] += subgroupBroadcast(b, 4u) * weight;
  (*sums)[13] += subgroupBroadcast(b, 5u) * weight;
  (*sums)[14] += subgroupBroadcast(b, 6u) * weight;
  (*sums)[15] += subgroupBroadcast(b, 7u) * weight;
}

@compute @workgroup_size(LANES)
fn conv2d_int8(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let g = phase_geometry(group.z);
  let quads = i32(params.outputs) / 4;
  let words = i32(params.inputs) / 4;
  let quad = i32(group.y * LANES + lane);
  let q = min(quad, quads - 1);
  let first = i32(group.x * 2u * LANES);
  let pa = position(g, first + i32(lane));
  let pb = position(g, first + i32(LANES + lane));
  var all = vec4<i32>(); // the sum of the weights
  var sums: array<vec4<i32>, 16>;
  var t = 0;
  var s = 0;
  // (t, s) is counted on, since a division would cost as much as a word of products.
  for (var tap = 0; tap < g.rows.taps * g.cols.taps; tap++) {
    let xa = source(g, pa, t, s) * words;
    let xb = source(g, pb, t, s) * words;
    var from_w = weight_at(g, t, s) * words * quads + q;
    for (var k = 0; k < words; k++) {
      let word = w[from_w];
      let va = load(xa, k);
      let vb = load(xb, k);
      let w0 = weights(word, 0u);
      let w1 = weights(word, 1u);
      let w2 = weights(word, 2u);
      let w3 = weights(word, 3u);
      all += w0 + w1 + w2 + w3;
      add(&sums, channel(va, 0u), channel(vb, 0u), w0);
      add(&sums, channel(va, 1u), channel(vb, 1u), w1);
      add(&sums, channel(va, 2u), channel(vb, 2u), w2);
      add(&sums, channel(va, 3u), channel(vb, 3u), w3);
      from_w += quads;
    }
    s = select(s + 1, 0, s + 1 == g.cols.taps);
    t += select(0, 1, s == 0);
  }
  all *= 128;
  let f = finish(q);
  var results = sums; // an index that varies keeps its array out of registers
  var p = position(g, first);
  let last = min(first + 16, positions(g));
  for (var i = first; i < last; i++) {
    store(destination(g, p), quad, f, results[i - first] - all);
    p = next(g, p);
  }
}
