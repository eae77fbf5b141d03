// The gradients of attention_subgroups.wgsl, which comes before it, with attention_floats.wgsl.

const BACKWARD_TILE: u32 = 64u / QUADS; // tokens of 8 registers

// what register i of the gradients holds in this lane, of the tile of keys that begins with key first
fn pair_quad(b: u32, first: u32, i: u32, h: u32, lane: u32) -> u32 {
  return pair(b, first + i % BACKWARD_TILE, h) * QUADS + i / BACKWARD_TILE * LANES + lane;
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
