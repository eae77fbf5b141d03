enable subgroups;

// Attention (attention.wgsl) for heads of D = 32 or 64 channels on processors that emulate a GPU with subgroups of eight, where a
// load is a loop over lanes. Lanes hold channels: a row of 32 is a vec4 of every lane, a row of 64 two. A subgroup keeps a tile of
// queries (dk, dv: keys) and their results in numbered registers and visits the keys (queries) one by one, so that a row loaded
// serves the whole tile. For D = 64 the lower half of the registers is channels 0 to 31 and the upper half 32 to 63 of the same tokens.
// A product of rows is summed within each lane, then eight products at once across lanes, by folding, which leaves token i's score in
// lane i: the softmax of eight tokens is one. Broadcasts hand the weights back to the channels. Larger tiles would save loads, but a
// driver's compiler takes time that grows with the square of the registers: about a second for these. Joined with attention_tokens.wgsl
// and attention_quads.wgsl.

const LANES: u32 = 8u; // a workgroup is one subgroup
const WIDE: bool = QUADS == 16u;
const FORWARD_TILE: u32 = 128u / QUADS; // tokens of 16 registers
const BACKWARD_TILE: u32 = 64u / QUADS; // tokens of 8 registers
const HALF: u32 = QUADS - LANES; // from the first quads of a row to those of the upper registers

// what register i holds in this lane, of the tile of so many tokens that begins with token first
fn quad(b: u32, first: u32, i: u32, tile: u32, n: u32, h: u32, lane: u32) -> u32 {
  return index(b, first + i % tile, n, h) * QUADS + i / tile * LANES + lane;
}

// what register i of the gradients holds in this lane, of the tile of keys that begins with key first
fn pair_quad(b: u32, first: u32, i: u32, h: u32, lane: u32) -> u32 {
  return pair(b, first + i % BACKWARD_TILE, h) * QUADS + i / BACKWARD_TILE * LANES + lane;
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
  let q0 = vec4<f32>(q[quad(b, first, 0u, FORWARD_TILE, params.queries, h, lane)]) * a; var y0 = vec4<f32>();
  let q1 = vec4<f32>(q[quad(b, first, 1u, FORWARD_TILE, params.queries, h, lane)]) * a; var y1 = vec4<f32>();
  let q2 = vec4<f32>(q[quad(b, first, 2u, FORWARD_TILE, params.queries, h, lane)]) * a; var y2 = vec4<f32>();
  let q3 = vec4<f32>(q[quad(b, first, 3u, FORWARD_TILE, params.queries, h, lane)]) * a; var y3 = vec4<f32>();
  let q4 = vec4<f32>(q[quad(b, first, 4u, FORWARD_TILE, params.queries, h, lane)]) * a; var y4 = vec4<f32>();
  let q5 = vec4<f32>(q[quad(b, first, 5u, FORWARD_TILE, params.queries, h, lane)]) * a; var y5 = vec4<f32>();
  let q6 = vec4<f32>(q[quad(b, first, 6u, FORWARD_TILE, params.queries, h, lane)]) * a; var y6 = vec4<f32>();
  let q7 = vec4<f32>(q[quad(b, first, 7u, FORWARD_TILE, params.queries, h, lane)]) * a; var y7 = vec4<f32>();
  let q8 = vec4<f32>(q[quad(b, first, 8u, FORWARD_TILE, params.queries, h, lane)]) * a; var y8 = vec4<f32>();
  let q9 = vec4<f32>(q[quad(b, first, 9u, FORWARD_TILE, params.queries, h, lane)]) * a; var y9 = vec4<f32>();
  let q10 = vec4<f32>(q[quad(b, first, 10u, FORWARD_TILE, params.queries, h, lane)]) * a; var y10 = vec4<f32>();
  let q11 = vec4<f32>(q[quad(b, first, 11u, FORWARD_TILE, params.queries, h, lane)]) * a; var y11 = vec4<f32>();
  let q12 = vec4<f32>(q[quad(b, first, 12u, FORWARD_TILE, params.queries, h, lane)]) * a; var y12 = vec4<f32>();
  let q13 = vec4<f32>(q[quad(b, first, 13u, FORWARD_TILE, params.queries, h, lane)]) * a; var y13 = vec4<f32>();
  let q14 = vec4<f32>(q[quad(b, first, 14u, FORWARD_TILE, params.queries, h, lane)]) * a; var y14 = vec4<f32>();
  let q15 = vec4<f32>(q[quad(b, first, 15u, FORWARD_TILE, params.queries, h, lane)]) * a; var y15 = vec4<f32>();
  var ma = LOWEST; var la = 0.0; var mb = LOWEST; var lb = 0.0;
  for (var j = 0u; j < params.keys; j++) {
    let row = pair(b, j, h) * QUADS + lane;
    let ka = vec4<f32>(kv[row]);
    let kb = vec4<f32>(kv[row + HALF]);
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
    let va = vec4<f32>(kv[values() + row]);
    let vb = vec4<f32>(kv[values() + row + HALF]);
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
  if (first + lane < params.queries) { lse_out[index(b, first + lane, params.queries, h)] = ma + log2(la); }
  if (WIDE) {
    lb = la;
  } else if (first + LANES + lane < params.queries) {
    lse_out[index(b, first + LANES + lane, params.queries, h)] = mb + log2(lb);
  }
  // those beyond the last are the last again, with its result
  y[quad(b, first, 0u, FORWARD_TILE, params.queries, h, lane)] = real4(y0 / subgroupBroadcast(la, 0u));
  y[quad(b, first, 1u, FORWARD_TILE, params.queries, h, lane)] = real4(y1 / subgroupBroadcast(la, 1u));
  y[quad(b, first, 2u, FORWARD_TILE, params.queries, h, lane)] = real4(y2 / subgroupBroadcast(la, 2u));
  y[quad(b, first, 3u, FORWARD_TILE, params.queries, h, lane)] = real4(y3 / subgroupBroadcast(la, 3u));
  y[quad(b, first, 4u, FORWARD_TILE, params.queries, h, lane)] = real4(y4 / subgroupBroadcast(la, 4u));
  y[quad(b, first, 5u, FORWARD_TILE, params.queries, h, lane)] = real4(y5 / subgroupBroadcast(la, 5u));
  y[quad(b, first, 6u, FORWARD_TILE, params.queries, h, lane)] = real4(y6 / subgroupBroadcast(la, 6u));
  y[quad(b, first, 7u, FORWARD_TILE, params.queries, h, lane)] = real4(y7 / subgroupBroadcast(la, 7u));
  y[quad(b, first, 8u, FORWARD_TILE, params.queries, h, lane)] = real4(y8 / subgroupBroadcast(lb, 0u));
  y[quad(b, first, 9u, FORWARD_TILE, params.queries, h, lane)] = real4(y9 / subgroupBroadcast(lb, 1u));
  y[quad(b, first, 10u, FORWARD_TILE, params.queries, h, lane)] = real4(y10 / subgroupBroadcast(lb, 2u));
  y[quad(b, first, 11u, FORWARD_TILE, params.queries, h, lane)] = real4(y11 / subgroupBroadcast(lb, 3u));
  y[quad(b, first, 12u, FORWARD_TILE, params.queries, h, lane)] = real4(y12 / subgroupBroadcast(lb, 4u));
  y[quad(b, first, 13u, FORWARD_TILE, params.queries, h, lane)] = real4(y13 / subgroupBroadcast(lb, 5u));
  y[quad(b, first, 14u, FORWARD_TILE, params.queries, h, lane)] = real4(y14 / subgroupBroadcast(lb, 6u));
  y[quad(b, first, 15u, FORWARD_TILE, params.queries, h, lane)] = real4(y15 / subgroupBroadcast(lb, 7u));
}

@compute @workgroup_size(LANES)
fn attention_backward_q(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let first = group.x * BACKWARD_TILE;
  let h = group.y;
  let b = group.z;
  let a = params.scale * LOG2E;
  let r0 = quad(b, first, 0u, BACKWARD_TILE, params.queries, h, lane); let q0 = vec4<f32>(q[r0]) * a; let g0 = vec4<f32>(dy[r0]); var d0 = vec4<f32>();
  let r1 = quad(b, first, 1u, BACKWARD_TILE, params.queries, h, lane); let q1 = vec4<f32>(q[r1]) * a; let g1 = vec4<f32>(dy[r1]); var d1 = vec4<f32>();
  let r2 = quad(b, first, 2u, BACKWARD_TILE, params.queries, h, lane); let q2 = vec4<f32>(q[r2]) * a; let g2 = vec4<f32>(dy[r2]); var d2 = vec4<f32>();
  let r3 = quad(b, first, 3u, BACKWARD_TILE, params.queries, h, lane); let q3 = vec4<f32>(q[r3]) * a; let g3 = vec4<f32>(dy[r3]); var d3 = vec4<f32>();
  let r4 = quad(b, first, 4u, BACKWARD_TILE, params.queries, h, lane); let q4 = vec4<f32>(q[r4]) * a; let g4 = vec4<f32>(dy[r4]); var d4 = vec4<f32>();
  let r5 = quad(b, first, 5u, BACKWARD_TILE, params.queries, h, lane); let q5 = vec4<f32>(q[r5]) * a; let g5 = vec4<f32>(dy[r5]); var d5 = vec4<f32>();
  let r6 = quad(b, first, 6u, BACKWARD_TILE, params.queries, h, lane); let q6 = vec4<f32>(q[r6]) * a; let g6 = vec4<f32>(dy[r6]); var d6 = vec4<f32>();
  let r7 = quad(b, first, 7u, BACKWARD_TILE, params.queries, h, lane); let q7 = vec4<f32>(q[r7]) * a; let g7 = vec4<f32>(dy[r7]); var d7 = vec4<f32>();
  let i = index(b, first + lane % BACKWARD_TILE, params.queries, h);
  let e = lse[i]; let c = delta[i];
  for (var j = 0u; j < params.keys; j++) {
    let row = pair(b, j, h) * QUADS + lane;
    let ka = vec4<f32>(kv[row]); let kb = vec4<f32>(kv[row + HALF]);
    let va = vec4<f32>(kv[values() + row]); let vb = vec4<f32>(kv[values() + row + HALF]);
    let s0 = product(q0, ka); let s1 = product(q1, ka); let s2 = product(q2, ka); let s3 = product(q3, ka);
    let s4 = product(q4, kb); let s5 = product(q5, kb); let s6 = product(q6, kb); let s7 = product(q7, kb);
    var s = 0.0;
    if (WIDE) {
      s = sums(lane, s0 + s4, s1 + s5, s2 + s6, s3 + s7, s0 + s4, s1 + s5, s2 + s6, s3 + s7);
    } else {
      s = sums(lane, s0, s1, s2, s3, s4, s5, s6, s7);
    }
    let t0 = product(g0, va); let t1 = product(g1, va); let t2 = product(g2, va); let t3 = product(g3, va);
    let t4 = product(g4, vb); let t5 = product(g5, vb); let t6 = product(g6, vb); let t7 = product(g7, vb);
    var t = 0.0;
    if (WIDE) {
      t = sums(lane, t0 + t4, t1 + t5, t2 + t6, t3 + t7, t0 + t4, t1 + t5, t2 + t6, t3 + t7);
    } else {
      t = sums(lane, t0, t1, t2, t3, t4, t5, t6, t7);
    }
    let z = exp2(s - e) * (t - c);
    d0 = fma(vec4<f32>(subgroupBroadcast(z, 0u)), ka, d0);
    d1 = fma(vec4<f32>(subgroupBroadcast(z, 1u)), ka, d1);
    d2 = fma(vec4<f32>(subgroupBroadcast(z, 2u)), ka, d2);
    d3 = fma(vec4<f32>(subgroupBroadcast(z, 3u)), ka, d3);
    d4 = fma(vec4<f32>(subgroupBroadcast(z, 4u)), kb, d4);
    d5 = fma(vec4<f32>(subgroupBroadcast(z, 5u)), kb, d5);
    d6 = fma(vec4<f32>(subgroupBroadcast(z, 6u)), kb, d6);
    d7 = fma(vec4<f32>(subgroupBroadcast(z, 7u)), kb, d7);
  }
  if (first + 0u % BACKWARD_TILE < params.queries) { add_dq(r0, d0 * params.scale); }
  if (first + 1u % BACKWARD_TILE < params.queries) { add_dq(r1, d1 * params.scale); }
  if (first + 2u % BACKWARD_TILE < params.queries) { add_dq(r2, d2 * params.scale); }
  if (first + 3u % BACKWARD_TILE < params.queries) { add_dq(r3, d3 * params.scale); }
  if (first + 4u % BACKWARD_TILE < params.queries) { add_dq(r4, d4 * params.scale); }
  if (first + 5u % BACKWARD_TILE < params.queries) { add_dq(r5, d5 * params.scale); }
  if (first + 6u % BACKWARD_TILE < params.queries) { add_dq(r6, d6 * params.scale); }
  if (first + 7u % BACKWARD_TILE < params.queries) { add_dq(r7, d7 * params.scale); }
}

@compute @workgroup_size(LANES)
fn attention_backward_kv(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let first = group.x * BACKWARD_TILE;
  let h = group.y;
  let b = group.z;
  let a = params.scale * LOG2E;
  let r0 = pair_quad(b, first, 0u, h, lane); var d0 = vec4<f32>(); var f0 = vec4<f32>();
  let k0 = vec4<f32>(kv[r0]) * a; let v0 = vec4<f32>(kv[values() + r0]);
  let r1 = pair_quad(b, first, 1u, h, lane); var d1 = vec4<f32>(); var f1 = vec4<f32>();
  let k1 = vec4<f32>(kv[r1]) * a; let v1 = vec4<f32>(kv[values() + r1]);
  let r2 = pair_quad(b, first, 2u, h, lane); var d2 = vec4<f32>(); var f2 = vec4<f32>();
  let k2 = vec4<f32>(kv[r2]) * a; let v2 = vec4<f32>(kv[values() + r2]);
  let r3 = pair_quad(b, first, 3u, h, lane); var d3 = vec4<f32>(); var f3 = vec4<f32>();
  let k3 = vec4<f32>(kv[r3]) * a; let v3 = vec4<f32>(kv[values() + r3]);
  let r4 = pair_quad(b, first, 4u, h, lane); var d4 = vec4<f32>(); var f4 = vec4<f32>();
  let k4 = vec4<f32>(kv[r4]) * a; let v4 = vec4<f32>(kv[values() + r4]);
  let r5 = pair_quad(b, first, 5u, h, lane); var d5 = vec4<f32>(); var f5 = vec4<f32>();
  let k5 = vec4<f32>(kv[r5]) * a; let v5 = vec4<f32>(kv[values() + r5]);
  let r6 = pair_quad(b, first, 6u, h, lane); var d6 = vec4<f32>(); var f6 = vec4<f32>();
  let k6 = vec4<f32>(kv[r6]) * a; let v6 = vec4<f32>(kv[values() + r6]);
  let r7 = pair_quad(b, first, 7u, h, lane); var d7 = vec4<f32>(); var f7 = vec4<f32>();
  let k7 = vec4<f32>(kv[r7]) * a; let v7 = vec4<f32>(kv[values() + r7]);
  for (var j = 0u; j < params.queries; j++) {
    let i = index(b, j, params.queries, h);
    let row = i * QUADS + lane;
    let qa = vec4<f32>(q[row]); let qb = vec4<f32>(q[row + HALF]);
    let ga = vec4<f32>(dy[row]); let gb = vec4<f32>(dy[row + HALF]);
    let e = lse[i]; let c = delta[i];
    let s0 = product(k0, qa); let s1 = product(k1, qa); let s2 = product(k2, qa); let s3 = product(k3, qa);
    let s4 = product(k4, qb); let s5 = product(k5, qb); let s6 = product(k6, qb); let s7 = product(k7, qb);
    var s = 0.0;
    if (WIDE) {
      s = sums(lane, s0 + s4, s1 + s5, s2 + s6, s3 + s7, s0 + s4, s1 + s5, s2 + s6, s3 + s7);
    } else {
      s = sums(lane, s0, s1, s2, s3, s4, s5, s6, s7);
    }
    let t0 = product(v0, ga); let t1 = product(v1, ga); let t2 = product(v2, ga); let t3 = product(v3, ga);
    let t4 = product(v4, gb); let t5 = product(v5, gb); let t6 = product(v6, gb); let t7 = product(v7, gb);
    var t = 0.0;
    if (WIDE) {
      t = sums(lane, t0 + t4, t1 + t5, t2 + t6, t3 + t7, t0 + t4, t1 + t5, t2 + t6, t3 + t7);
    } else {
      t = sums(lane, t0, t1, t2, t3, t4, t5, t6, t7);
    }
    let p = exp2(s - e);
    let z = p * (t - c);
    d0 = fma(vec4<f32>(subgroupBroadcast(z, 0u)), qa, d0); f0 = fma(vec4<f32>(subgroupBroadcast(p, 0u)), ga, f0);
    d1 = fma(vec4<f32>(subgroupBroadcast(z, 1u)), qa, d1); f1 = fma(vec4<f32>(subgroupBroadcast(p, 1u)), ga, f1);
    d2 = fma(vec4<f32>(subgroupBroadcast(z, 2u)), qa, d2); f2 = fma(vec4<f32>(subgroupBroadcast(p, 2u)), ga, f2);
    d3 = fma(vec4<f32>(subgroupBroadcast(z, 3u)), qa, d3); f3 = fma(vec4<f32>(subgroupBroadcast(p, 3u)), ga, f3);
    d4 = fma(vec4<f32>(subgroupBroadcast(z, 4u)), qb, d4); f4 = fma(vec4<f32>(subgroupBroadcast(p, 4u)), gb, f4);
    d5 = fma(vec4<f32>(subgroupBroadcast(z, 5u)), qb, d5); f5 = fma(vec4<f32>(subgroupBroadcast(p, 5u)), gb, f5);
    d6 = fma(vec4<f32>(subgroupBroadcast(z, 6u)), qb, d6); f6 = fma(vec4<f32>(subgroupBroadcast(p, 6u)), gb, f6);
    d7 = fma(vec4<f32>(subgroupBroadcast(z, 7u)), qb, d7); f7 = fma(vec4<f32>(subgroupBroadcast(p, 7u)), gb, f7);
  }
  if (first + 0u % BACKWARD_TILE < params.keys) {
    add_dkv(r0, d0 * params.scale);
    add_dkv(values() + r0, f0);
  }
  if (first + 1u % BACKWARD_TILE < params.keys) {
    add_dkv(r1, d1 * params.scale);
    add_dkv(values() + r1, f1);
  }
  if (first + 2u % BACKWARD_TILE < params.keys) {
    add_dkv(r2, d2 * params.scale);
    add_dkv(values() + r2, f2);
  }
  if (first + 3u % BACKWARD_TILE < params.keys) {
    add_dkv(r3, d3 * params.scale);
    add_dkv(values() + r3, f3);
  }
  if (first + 4u % BACKWARD_TILE < params.keys) {
    add_dkv(r4, d4 * params.scale);
    add_dkv(values() + r4, f4);
  }
  if (first + 5u % BACKWARD_TILE < params.keys) {
    add_dkv(r5, d5 * params.scale);
    add_dkv(values() + r5, f5);
  }
  if (first + 6u % BACKWARD_TILE < params.keys) {
    add_dkv(r6, d6 * params.scale);
    add_dkv(values() + r6, f6);
  }
  if (first + 7u % BACKWARD_TILE < params.keys) {
    add_dkv(r7, d7 * params.scale);
    add_dkv(values() + r7, f7);
  }
}
