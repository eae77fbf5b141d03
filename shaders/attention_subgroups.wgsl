enable subgroups;

// Attention (attention.wgsl) for heads of D = 32 or 64 channels on processors that emulate a GPU with subgroups of eight, where a
// load is a loop over lanes. Lanes hold channels: a row of 32 is a vec4 of every lane, a row of 64 two. A subgroup keeps a tile of
// queries (dk, dv: keys) and their results in numbered registers and visits the keys (queries) one by one, so that a row loaded
// serves the whole tile. For D = 64 the lower half of the registers is channels 0 to 31 and the upper half 32 to 63 of the same tokens.
// A product of rows is summed within each lane, then eight products at once across lanes, by folding, which leaves token i's score in
// lane i: the softmax of eight tokens is one. Broadcasts hand the weights back to the channels. Larger tiles would save loads, but a
// driver's compiler takes time that grows with the square of the registers: about a second for these. The gradients are in
// attention_subgroups_backward.wgsl. Joined with attention_tokens.wgsl, attention_quads.wgsl, and attention_floats.wgsl or attention_int8.wgsl.

const LANES: u32 = 8u; // a workgroup is one subgroup
const WIDE: bool = QUADS == 16u;
const FORWARD_TILE: u32 = 128u / QUADS; // tokens of 16 registers
const HALF: u32 = QUADS - LANES; // from the first quads of a row to those of the upper registers

// what register i holds in this lane, of the tile of so many tokens that begins with token first
fn quad(b: u32, first: u32, i: u32, tile: u32, n: u32, h: u32, lane: u32) -> u32 {
  return index(b, first + i % tile, n, h) * QUADS + i / tile * LANES + lane;
}

// x of the lanes without the bit, y of those with it, each added to what the lane across has of it
fn fold(x: f32, y: f32, lane: u32, bit: u32) -> f32 {
  let upper = (lane & bit) != 0u;
  return select(x, y, upper) + subgroupShuffleXor(select(y, x, upper), bit);
}

// the sum over all lanes of s0 in lane 0, of s1 in lane 1, …
fn sums(lane: u32, s0: f32, s1: f32, s2: f32, s3: f32, s4: f32, s5: f32, s6: f32, s7: f32) -> f32 {
  let low = fold(fold(s0, s1, lane, 1u), fold(s2, s3, lane, 1u), lane, 2u);
  let high = fold(fold(s4, s5, lane, 1u), fold(s6, s7, lane, 1u), lane, 2u);
  return fold(low, high, lane, 4u);
}

@compute @workgroup_size(LANES)
fn attention_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let first = group.x * FORWARD_TILE;
  let h = group.y;
  let b = group.z;
  let a = params.scale * LOG2E;
  let q0 = load_query(quad(b, first, 0u, FORWARD_TILE, params.queries, h, lane)) * a; var y0 = vec4<f32>();
  let q1 = load_query(quad(b, first, 1u, FORWARD_TILE, params.queries, h, lane)) * a; var y1 = vec4<f32>();
  let q2 = load_query(quad(b, first, 2u, FORWARD_TILE, params.queries, h, lane)) * a; var y2 = vec4<f32>();
  let q3 = load_query(quad(b, first, 3u, FORWARD_TILE, params.queries, h, lane)) * a; var y3 = vec4<f32>();
  let q4 = load_query(quad(b, first, 4u, FORWARD_TILE, params.queries, h, lane)) * a; var y4 = vec4<f32>();
  let q5 = load_query(quad(b, first, 5u, FORWARD_TILE, params.queries, h, lane)) * a; var y5 = vec4<f32>();
  let q6 = load_query(quad(b, first, 6u, FORWARD_TILE, params.queries, h, lane)) * a; var y6 = vec4<f32>();
  let q7 = load_query(quad(b, first, 7u, FORWARD_TILE, params.queries, h, lane)) * a; var y7 = vec4<f32>();
  let q8 = load_query(quad(b, first, 8u, FORWARD_TILE, params.queries, h, lane)) * a; var y8 = vec4<f32>();
  let q9 = load_query(quad(b, first, 9u, FORWARD_TILE, params.queries, h, lane)) * a; var y9 = vec4<f32>();
  let q10 = load_query(quad(b, first, 10u, FORWARD_TILE, params.queries, h, lane)) * a; var y10 = vec4<f32>();
  let q11 = load_query(quad(b, first, 11u, FORWARD_TILE, params.queries, h, lane)) * a; var y11 = vec4<f32>();
  let q12 = load_query(quad(b, first, 12u, FORWARD_TILE, params.queries, h, lane)) * a; var y12 = vec4<f32>();
  let q13 = load_query(quad(b, first, 13u, FORWARD_TILE, params.queries, h, lane)) * a; var y13 = vec4<f32>();
  let q14 = load_query(quad(b, first, 14u, FORWARD_TILE, params.queries, h, lane)) * a; var y14 = vec4<f32>();
  let q15 = load_query(quad(b, first, 15u, FORWARD_TILE, params.queries, h, lane)) * a; var y15 = vec4<f32>();
  var ma = LOWEST; var la = 0.0; var mb = LOWEST; var lb = 0.0;
  for (var j = 0u; j < params.keys; j++) {
    let row = pair(b, j, h) * QUADS + lane;
    let ka = load_pair(row);
    let kb = load_pair(row + HALF);
    let s0 = product(q0, ka); let s1 = product(q1, ka); let s2 = product(q2, ka); let s3 = product(q3, ka);
    let s4 = product(q4, ka); let s5 = product(q5, ka); let s6 = product(q6, ka); let s7 = product(q7, ka);
    let s8 = product(q8, kb); let s9 = product(q9, kb); let s10 = product(q10, kb); let s11 = product(q11, kb);
    let s12 = product(q12, kb); let s13 = product(q13, kb); let s14 = product(q14, kb); let s15 = product(q15, kb);
    var sa = 0.0; var sb = 0.0;
    if (WIDE) {
      sa = sums(lane, s0 + s8, s1 + s9, s2 + s10, s3 + s11, s4 + s12, s5 + s13, s6 + s14, s7 + s15);
      sb = sa;
    } else {
      sa = sums(lane, s0, s1, s2, s3, s4, s5, s6, s7);
      sb = sums(lane, s8, s9, s10, s11, s12, s13, s14, s15);
    }
    let ha = max(ma, sa);
    let da = exp2(ma - ha);
    let pa = exp2(sa - ha);
    ma = ha;
    la = la * da + pa;
    var db = da; var pb = pa;
    if (!WIDE) {
      let hb = max(mb, sb);
      db = exp2(mb - hb);
      pb = exp2(sb - hb);
      mb = hb;
      lb = lb * db + pb;
    }
    let va = load_pair(values() + row);
    let vb = load_pair(values() + row + HALF);
    y0 = fma(vec4<f32>(subgroupBroadcast(pa, 0u)), va, y0 * subgroupBroadcast(da, 0u));
    y1 = fma(vec4<f32>(subgroupBroadcast(pa, 1u)), va, y1 * subgroupBroadcast(da, 1u));
    y2 = fma(vec4<f32>(subgroupBroadcast(pa, 2u)), va, y2 * subgroupBroadcast(da, 2u));
    y3 = fma(vec4<f32>(subgroupBroadcast(pa, 3u)), va, y3 * subgroupBroadcast(da, 3u));
    y4 = fma(vec4<f32>(subgroupBroadcast(pa, 4u)), va, y4 * subgroupBroadcast(da, 4u));
    y5 = fma(vec4<f32>(subgroupBroadcast(pa, 5u)), va, y5 * subgroupBroadcast(da, 5u));
    y6 = fma(vec4<f32>(subgroupBroadcast(pa, 6u)), va, y6 * subgroupBroadcast(da, 6u));
    y7 = fma(vec4<f32>(subgroupBroadcast(pa, 7u)), va, y7 * subgroupBroadcast(da, 7u));
    y8 = fma(vec4<f32>(subgroupBroadcast(pb, 0u)), vb, y8 * subgroupBroadcast(db, 0u));
    y9 = fma(vec4<f32>(subgroupBroadcast(pb, 1u)), vb, y9 * subgroupBroadcast(db, 1u));
    y10 = fma(vec4<f32>(subgroupBroadcast(pb, 2u)), vb, y10 * subgroupBroadcast(db, 2u));
    y11 = fma(vec4<f32>(subgroupBroadcast(pb, 3u)), vb, y11 * subgroupBroadcast(db, 3u));
    y12 = fma(vec4<f32>(subgroupBroadcast(pb, 4u)), vb, y12 * subgroupBroadcast(db, 4u));
    y13 = fma(vec4<f32>(subgroupBroadcast(pb, 5u)), vb, y13 * subgroupBroadcast(db, 5u));
    y14 = fma(vec4<f32>(subgroupBroadcast(pb, 6u)), vb, y14 * subgroupBroadcast(db, 6u));
    y15 = fma(vec4<f32>(subgroupBroadcast(pb, 7u)), vb, y15 * subgroupBroadcast(db, 7u));
  }
  if (first + lane < params.queries) { store_sum(index(b, first + lane, params.queries, h), ma + log2(la)); }
  if (WIDE) {
    lb = la;
  } else if (first + LANES + lane < params.queries) {
    store_sum(index(b, first + LANES + lane, params.queries, h), mb + log2(lb));
  }
  // those beyond the last are the last again, with its result
  store(quad(b, first, 0u, FORWARD_TILE, params.queries, h, lane), y0 / subgroupBroadcast(la, 0u));
  store(quad(b, first, 1u, FORWARD_TILE, params.queries, h, lane), y1 / subgroupBroadcast(la, 1u));
  store(quad(b, first, 2u, FORWARD_TILE, params.queries, h, lane), y2 / subgroupBroadcast(la, 2u));
  store(quad(b, first, 3u, FORWARD_TILE, params.queries, h, lane), y3 / subgroupBroadcast(la, 3u));
  store(quad(b, first, 4u, FORWARD_TILE, params.queries, h, lane), y4 / subgroupBroadcast(la, 4u));
  store(quad(b, first, 5u, FORWARD_TILE, params.queries, h, lane), y5 / subgroupBroadcast(la, 5u));
  store(quad(b, first, 6u, FORWARD_TILE, params.queries, h, lane), y6 / subgroupBroadcast(la, 6u));
  store(quad(b, first, 7u, FORWARD_TILE, params.queries, h, lane), y7 / subgroupBroadcast(la, 7u));
  store(quad(b, first, 8u, FORWARD_TILE, params.queries, h, lane), y8 / subgroupBroadcast(lb, 0u));
  store(quad(b, first, 9u, FORWARD_TILE, params.queries, h, lane), y9 / subgroupBroadcast(lb, 1u));
  store(quad(b, first, 10u, FORWARD_TILE, params.queries, h, lane), y10 / subgroupBroadcast(lb, 2u));
  store(quad(b, first, 11u, FORWARD_TILE, params.queries, h, lane), y11 / subgroupBroadcast(lb, 3u));
  store(quad(b, first, 12u, FORWARD_TILE, params.queries, h, lane), y12 / subgroupBroadcast(lb, 4u));
  store(quad(b, first, 13u, FORWARD_TILE, params.queries, h, lane), y13 / subgroupBroadcast(lb, 5u));
  store(quad(b, first, 14u, FORWARD_TILE, params.queries, h, lane), y14 / subgroupBroadcast(lb, 6u));
  store(quad(b, first, 15u, FORWARD_TILE, params.queries, h, lane), y15 / subgroupBroadcast(lb, 7u));
}
