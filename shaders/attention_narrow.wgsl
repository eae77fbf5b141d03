// Attention (attention.wgsl) for heads of D = 4 or 8 channels on CPU adapters, where a load costs as much as tens of
// multiplications: an invocation holds ROWS neighbouring queries (dk, dv: keys) and their results in registers and visits the
// keys (queries), so that a load serves ROWS multiply-adds. Names with an a hold what belongs to rows 0 to 3, those with a b to
// 4 to 7, which vanish where ROWS is 4: more registers would take a driver's compiler ten seconds. Joined with
// attention_tokens.wgsl, attention_quads.wgsl and attention_floats.wgsl.

const SIZE: u32 = 8u;
const LAST: u32 = QUADS - 1u;
const ROWS: u32 = 8u; // of an invocation, 4 or 8

// the first quad of query i, and of key i
fn query_row(b: u32, i: u32, h: u32) -> u32 { return index(b, i, params.queries, h) * QUADS; }
fn key_row(b: u32, i: u32, h: u32) -> u32 { return pair(b, i, h) * QUADS; }

fn products(x: vec4<f32>, a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(product(x, a), product(x, b), product(x, c), product(x, d));
}

fn axpy(p: f32, x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
  return fma(vec4<f32>(p), x, y);
}

// the scores of key j, if it exists
fn existing(s: vec4<f32>, j: u32) -> vec4<f32> {
  return select(vec4<f32>(LOWEST), s, vec4<bool>(j < params.keys));
}

// y scaled by d, plus four values by their weights
fn mix(y: vec4<f32>, d: f32, p0: f32, v0: vec4<f32>, p1: f32, v1: vec4<f32>, p2: f32, v2: vec4<f32>, p3: f32, v3: vec4<f32>) -> vec4<f32> {
  return axpy(p3, v3, axpy(p2, v2, axpy(p1, v1, axpy(p0, v0, y * d))));
}

// Four keys at a time: the results in registers are scaled once for the four.
@compute @workgroup_size(SIZE)
fn attention_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * ROWS;
  let h = group.y;
  let b = group.z;
  let a = params.scale * LOG2E;
  let last = min(first + 8u, params.queries);
  var first_quads: array<vec4<f32>, 8>; // first quads of queries, of results
  var last_quads: array<vec4<f32>, 8>; // last quads, the same where there is one
  for (var i = first; i < last; i++) {
    first_quads[i - first] = vec4<f32>(q[query_row(b, i, h)]) * a;
    last_quads[i - first] = vec4<f32>(q[query_row(b, i, h) + LAST]) * a;
  }
  let q0 = first_quads[0]; var y0 = vec4<f32>(0.0); let t0 = last_quads[0]; var z0 = vec4<f32>(0.0);
  let q1 = first_quads[1]; var y1 = vec4<f32>(0.0); let t1 = last_quads[1]; var z1 = vec4<f32>(0.0);
  let q2 = first_quads[2]; var y2 = vec4<f32>(0.0); let t2 = last_quads[2]; var z2 = vec4<f32>(0.0);
  let q3 = first_quads[3]; var y3 = vec4<f32>(0.0); let t3 = last_quads[3]; var z3 = vec4<f32>(0.0);
  let q4 = first_quads[4]; var y4 = vec4<f32>(0.0); let t4 = last_quads[4]; var z4 = vec4<f32>(0.0);
  let q5 = first_quads[5]; var y5 = vec4<f32>(0.0); let t5 = last_quads[5]; var z5 = vec4<f32>(0.0);
  let q6 = first_quads[6]; var y6 = vec4<f32>(0.0); let t6 = last_quads[6]; var z6 = vec4<f32>(0.0);
  let q7 = first_quads[7]; var y7 = vec4<f32>(0.0); let t7 = last_quads[7]; var z7 = vec4<f32>(0.0);
  var ma = vec4<f32>(LOWEST); var mb = vec4<f32>(LOWEST);
  var la = vec4<f32>(0.0); var lb = vec4<f32>(0.0);
  for (var j = 0u; j < params.keys; j += 4u) {
    let c0 = key_row(b, j, h); let c1 = key_row(b, j + 1u, h);
    let c2 = key_row(b, j + 2u, h); let c3 = key_row(b, j + 3u, h);
    let k0 = vec4<f32>(kv[c0]);
    let k1 = vec4<f32>(kv[c1]);
    let k2 = vec4<f32>(kv[c2]);
    let k3 = vec4<f32>(kv[c3]);
    var sa0 = products(k0, q0, q1, q2, q3); var sb0 = products(k0, q4, q5, q6, q7);
    var sa1 = products(k1, q0, q1, q2, q3); var sb1 = products(k1, q4, q5, q6, q7);
    var sa2 = products(k2, q0, q1, q2, q3); var sb2 = products(k2, q4, q5, q6, q7);
    var sa3 = products(k3, q0, q1, q2, q3); var sb3 = products(k3, q4, q5, q6, q7);
    if (LAST > 0u) {
      let l0 = vec4<f32>(kv[c0 + LAST]);
      sa0 += products(l0, t0, t1, t2, t3); sb0 += products(l0, t4, t5, t6, t7);
      let l1 = vec4<f32>(kv[c1 + LAST]);
      sa1 += products(l1, t0, t1, t2, t3); sb1 += products(l1, t4, t5, t6, t7);
      let l2 = vec4<f32>(kv[c2 + LAST]);
      sa2 += products(l2, t0, t1, t2, t3); sb2 += products(l2, t4, t5, t6, t7);
      let l3 = vec4<f32>(kv[c3 + LAST]);
      sa3 += products(l3, t0, t1, t2, t3); sb3 += products(l3, t4, t5, t6, t7);
    }
    sa1 = existing(sa1, j + 1u); sa2 = existing(sa2, j + 2u); sa3 = existing(sa3, j + 3u);
    let ha = max(ma, max(max(sa0, sa1), max(sa2, sa3)));
    let da = exp2(ma - ha);
    let pa0 = exp2(sa0 - ha); let pa1 = exp2(sa1 - ha); let pa2 = exp2(sa2 - ha); let pa3 = exp2(sa3 - ha);
    ma = ha;
    la = la * da + ((pa0 + pa1) + (pa2 + pa3));
    sb1 = existing(sb1, j + 1u); sb2 = existing(sb2, j + 2u); sb3 = existing(sb3, j + 3u);
    let hb = max(mb, max(max(sb0, sb1), max(sb2, sb3)));
    let db = exp2(mb - hb);
    let pb0 = exp2(sb0 - hb); let pb1 = exp2(sb1 - hb); let pb2 = exp2(sb2 - hb); let pb3 = exp2(sb3 - hb);
    mb = hb;
    lb = lb * db + ((pb0 + pb1) + (pb2 + pb3));
    let v0 = vec4<f32>(kv[values() + c0]);
    let v1 = vec4<f32>(kv[values() + c1]);
    let v2 = vec4<f32>(kv[values() + c2]);
    let v3 = vec4<f32>(kv[values() + c3]);
    y0 = mix(y0, da.x, pa0.x, v0, pa1.x, v1, pa2.x, v2, pa3.x, v3);
    y1 = mix(y1, da.y, pa0.y, v0, pa1.y, v1, pa2.y, v2, pa3.y, v3);
    y2 = mix(y2, da.z, pa0.z, v0, pa1.z, v1, pa2.z, v2, pa3.z, v3);
    y3 = mix(y3, da.w, pa0.w, v0, pa1.w, v1, pa2.w, v2, pa3.w, v3);
    y4 = mix(y4, db.x, pb0.x, v0, pb1.x, v1, pb2.x, v2, pb3.x, v3);
    y5 = mix(y5, db.y, pb0.y, v0, pb1.y, v1, pb2.y, v2, pb3.y, v3);
    y6 = mix(y6, db.z, pb0.z, v0, pb1.z, v1, pb2.z, v2, pb3.z, v3);
    y7 = mix(y7, db.w, pb0.w, v0, pb1.w, v1, pb2.w, v2, pb3.w, v3);
    if (LAST > 0u) {
      let w0 = vec4<f32>(kv[values() + c0 + LAST]);
      let w1 = vec4<f32>(kv[values() + c1 + LAST]);
      let w2 = vec4<f32>(kv[values() + c2 + LAST]);
      let w3 = vec4<f32>(kv[values() + c3 + LAST]);
      z0 = mix(z0, da.x, pa0.x, w0, pa1.x, w1, pa2.x, w2, pa3.x, w3);
      z1 = mix(z1, da.y, pa0.y, w0, pa1.y, w1, pa2.y, w2, pa3.y, w3);
      z2 = mix(z2, da.z, pa0.z, w0, pa1.z, w1, pa2.z, w2, pa3.z, w3);
      z3 = mix(z3, da.w, pa0.w, w0, pa1.w, w1, pa2.w, w2, pa3.w, w3);
      z4 = mix(z4, db.x, pb0.x, w0, pb1.x, w1, pb2.x, w2, pb3.x, w3);
      z5 = mix(z5, db.y, pb0.y, w0, pb1.y, w1, pb2.y, w2, pb3.y, w3);
      z6 = mix(z6, db.z, pb0.z, w0, pb1.z, w1, pb2.z, w2, pb3.z, w3);
      z7 = mix(z7, db.w, pb0.w, w0, pb1.w, w1, pb2.w, w2, pb3.w, w3);
    }
  }
  first_quads = array<vec4<f32>, 8>(y0, y1, y2, y3, y4, y5, y6, y7);
  last_quads = array<vec4<f32>, 8>(z0, z1, z2, z3, z4, z5, z6, z7);
  var highest = array<vec4<f32>, 2>(ma, mb);
  var total = array<vec4<f32>, 2>(la, lb);
  for (var i = first; i < last; i++) {
    let n = i - first;
    let row = query_row(b, i, h);
    let l = total[n / 4u][n % 4u];
    lse_out[row / QUADS] = highest[n / 4u][n % 4u] + log2(l);
    y[row] = real4(first_quads[n] / l);
    if (LAST > 0u) { y[row + LAST] = real4(last_quads[n] / l); }
  }
}

@compute @workgroup_size(SIZE)
fn attention_backward_q(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * ROWS;
  let h = group.y;
  let b = group.z;
  let a = params.scale * LOG2E;
  let r0 = query_row(b, first, h); let r1 = query_row(b, first + 1u, h);
  let r2 = query_row(b, first + 2u, h); let r3 = query_row(b, first + 3u, h);
  let r4 = query_row(b, first + 4u, h); let r5 = query_row(b, first + 5u, h);
  let r6 = query_row(b, first + 6u, h); let r7 = query_row(b, first + 7u, h);
  let q0 = vec4<f32>(q[r0]) * a; let g0 = vec4<f32>(dy[r0]); var d0 = vec4<f32>(0.0);
  let q1 = vec4<f32>(q[r1]) * a; let g1 = vec4<f32>(dy[r1]); var d1 = vec4<f32>(0.0);
  let q2 = vec4<f32>(q[r2]) * a; let g2 = vec4<f32>(dy[r2]); var d2 = vec4<f32>(0.0);
  let q3 = vec4<f32>(q[r3]) * a; let g3 = vec4<f32>(dy[r3]); var d3 = vec4<f32>(0.0);
  let q4 = vec4<f32>(q[r4]) * a; let g4 = vec4<f32>(dy[r4]); var d4 = vec4<f32>(0.0);
  let q5 = vec4<f32>(q[r5]) * a; let g5 = vec4<f32>(dy[r5]); var d5 = vec4<f32>(0.0);
  let q6 = vec4<f32>(q[r6]) * a; let g6 = vec4<f32>(dy[r6]); var d6 = vec4<f32>(0.0);
  let q7 = vec4<f32>(q[r7]) * a; let g7 = vec4<f32>(dy[r7]); var d7 = vec4<f32>(0.0);
  let t0 = vec4<f32>(q[r0 + LAST]) * a; let o0 = vec4<f32>(dy[r0 + LAST]); var f0 = vec4<f32>(0.0);
  let t1 = vec4<f32>(q[r1 + LAST]) * a; let o1 = vec4<f32>(dy[r1 + LAST]); var f1 = vec4<f32>(0.0);
  let t2 = vec4<f32>(q[r2 + LAST]) * a; let o2 = vec4<f32>(dy[r2 + LAST]); var f2 = vec4<f32>(0.0);
  let t3 = vec4<f32>(q[r3 + LAST]) * a; let o3 = vec4<f32>(dy[r3 + LAST]); var f3 = vec4<f32>(0.0);
  let t4 = vec4<f32>(q[r4 + LAST]) * a; let o4 = vec4<f32>(dy[r4 + LAST]); var f4 = vec4<f32>(0.0);
  let t5 = vec4<f32>(q[r5 + LAST]) * a; let o5 = vec4<f32>(dy[r5 + LAST]); var f5 = vec4<f32>(0.0);
  let t6 = vec4<f32>(q[r6 + LAST]) * a; let o6 = vec4<f32>(dy[r6 + LAST]); var f6 = vec4<f32>(0.0);
  let t7 = vec4<f32>(q[r7 + LAST]) * a; let o7 = vec4<f32>(dy[r7 + LAST]); var f7 = vec4<f32>(0.0);
  let ea = vec4<f32>(lse[r0 / QUADS], lse[r1 / QUADS], lse[r2 / QUADS], lse[r3 / QUADS]);
  let eb = vec4<f32>(lse[r4 / QUADS], lse[r5 / QUADS], lse[r6 / QUADS], lse[r7 / QUADS]);
  let xa = vec4<f32>(delta[r0 / QUADS], delta[r1 / QUADS], delta[r2 / QUADS], delta[r3 / QUADS]);
  let xb = vec4<f32>(delta[r4 / QUADS], delta[r5 / QUADS], delta[r6 / QUADS], delta[r7 / QUADS]);
  for (var j = 0u; j < params.keys; j++) {
    let r = key_row(b, j, h);
    let k0 = vec4<f32>(kv[r]);
    let k1 = vec4<f32>(kv[r + LAST]);
    let v0 = vec4<f32>(kv[values() + r]);
    var sa = products(k0, q0, q1, q2, q3);
    var sb = products(k0, q4, q5, q6, q7);
    var pa = products(v0, g0, g1, g2, g3);
    var pb = products(v0, g4, g5, g6, g7);
    if (LAST > 0u) {
      let v1 = vec4<f32>(kv[values() + r + LAST]);
      sa += products(k1, t0, t1, t2, t3);
      sb += products(k1, t4, t5, t6, t7);
      pa += products(v1, o0, o1, o2, o3);
      pb += products(v1, o4, o5, o6, o7);
    }
    pa = exp2(sa - ea) * (pa - xa);
    pb = exp2(sb - eb) * (pb - xb);
    d0 = axpy(pa.x, k0, d0); d1 = axpy(pa.y, k0, d1); d2 = axpy(pa.z, k0, d2); d3 = axpy(pa.w, k0, d3);
    d4 = axpy(pb.x, k0, d4); d5 = axpy(pb.y, k0, d5); d6 = axpy(pb.z, k0, d6); d7 = axpy(pb.w, k0, d7);
    if (LAST > 0u) {
      f0 = axpy(pa.x, k1, f0); f1 = axpy(pa.y, k1, f1); f2 = axpy(pa.z, k1, f2); f3 = axpy(pa.w, k1, f3);
      f4 = axpy(pb.x, k1, f4); f5 = axpy(pb.y, k1, f5); f6 = axpy(pb.z, k1, f6); f7 = axpy(pb.w, k1, f7);
    }
  }
  if (first < params.queries) {
    add_dq(r0, d0 * params.scale);
    if (LAST > 0u) { add_dq(r0 + LAST, f0 * params.scale); }
  }
  if (first + 1u < params.queries) {
    add_dq(r1, d1 * params.scale);
    if (LAST > 0u) { add_dq(r1 + LAST, f1 * params.scale); }
  }
  if (first + 2u < params.queries) {
    add_dq(r2, d2 * params.scale);
    if (LAST > 0u) { add_dq(r2 + LAST, f2 * params.scale); }
  }
  if (first + 3u < params.queries) {
    add_dq(r3, d3 * params.scale);
    if (LAST > 0u) { add_dq(r3 + LAST, f3 * params.scale); }
  }
  if (ROWS > 4u && first + 4u < params.queries) {
    add_dq(r4, d4 * params.scale);
    if (LAST > 0u) { add_dq(r4 + LAST, f4 * params.scale); }
  }
  if (ROWS > 4u && first + 5u < params.queries) {
    add_dq(r5, d5 * params.scale);
    if (LAST > 0u) { add_dq(r5 + LAST, f5 * params.scale); }
  }
  if (ROWS > 4u && first + 6u < params.queries) {
    add_dq(r6, d6 * params.scale);
    if (LAST > 0u) { add_dq(r6 + LAST, f6 * params.scale); }
  }
  if (ROWS > 4u && first + 7u < params.queries) {
    add_dq(r7, d7 * params.scale);
    if (LAST > 0u) { add_dq(r7 + LAST, f7 * params.scale); }
  }
}

@compute @workgroup_size(SIZE)
fn attention_backward_kv(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * ROWS; // key
  let h = group.y;
  let b = group.z;
  let a = params.scale * LOG2E;
  let r0 = key_row(b, first, h); let r1 = key_row(b, first + 1u, h);
  let r2 = key_row(b, first + 2u, h); let r3 = key_row(b, first + 3u, h);
  let r4 = key_row(b, first + 4u, h); let r5 = key_row(b, first + 5u, h);
  let r6 = key_row(b, first + 6u, h); let r7 = key_row(b, first + 7u, h);
  let k0 = vec4<f32>(kv[r0]) * a; let v0 = vec4<f32>(kv[values() + r0]); var d0 = vec4<f32>(0.0); var w0 = vec4<f32>(0.0);
  let k1 = vec4<f32>(kv[r1]) * a; let v1 = vec4<f32>(kv[values() + r1]); var d1 = vec4<f32>(0.0); var w1 = vec4<f32>(0.0);
  let k2 = vec4<f32>(kv[r2]) * a; let v2 = vec4<f32>(kv[values() + r2]); var d2 = vec4<f32>(0.0); var w2 = vec4<f32>(0.0);
  let k3 = vec4<f32>(kv[r3]) * a; let v3 = vec4<f32>(kv[values() + r3]); var d3 = vec4<f32>(0.0); var w3 = vec4<f32>(0.0);
  let k4 = vec4<f32>(kv[r4]) * a; let v4 = vec4<f32>(kv[values() + r4]); var d4 = vec4<f32>(0.0); var w4 = vec4<f32>(0.0);
  let k5 = vec4<f32>(kv[r5]) * a; let v5 = vec4<f32>(kv[values() + r5]); var d5 = vec4<f32>(0.0); var w5 = vec4<f32>(0.0);
  let k6 = vec4<f32>(kv[r6]) * a; let v6 = vec4<f32>(kv[values() + r6]); var d6 = vec4<f32>(0.0); var w6 = vec4<f32>(0.0);
  let k7 = vec4<f32>(kv[r7]) * a; let v7 = vec4<f32>(kv[values() + r7]); var d7 = vec4<f32>(0.0); var w7 = vec4<f32>(0.0);
  let t0 = vec4<f32>(kv[r0 + LAST]) * a; let o0 = vec4<f32>(kv[values() + r0 + LAST]); var f0 = vec4<f32>(0.0); var z0 = vec4<f32>(0.0);
  let t1 = vec4<f32>(kv[r1 + LAST]) * a; let o1 = vec4<f32>(kv[values() + r1 + LAST]); var f1 = vec4<f32>(0.0); var z1 = vec4<f32>(0.0);
  let t2 = vec4<f32>(kv[r2 + LAST]) * a; let o2 = vec4<f32>(kv[values() + r2 + LAST]); var f2 = vec4<f32>(0.0); var z2 = vec4<f32>(0.0);
  let t3 = vec4<f32>(kv[r3 + LAST]) * a; let o3 = vec4<f32>(kv[values() + r3 + LAST]); var f3 = vec4<f32>(0.0); var z3 = vec4<f32>(0.0);
  let t4 = vec4<f32>(kv[r4 + LAST]) * a; let o4 = vec4<f32>(kv[values() + r4 + LAST]); var f4 = vec4<f32>(0.0); var z4 = vec4<f32>(0.0);
  let t5 = vec4<f32>(kv[r5 + LAST]) * a; let o5 = vec4<f32>(kv[values() + r5 + LAST]); var f5 = vec4<f32>(0.0); var z5 = vec4<f32>(0.0);
  let t6 = vec4<f32>(kv[r6 + LAST]) * a; let o6 = vec4<f32>(kv[values() + r6 + LAST]); var f6 = vec4<f32>(0.0); var z6 = vec4<f32>(0.0);
  let t7 = vec4<f32>(kv[r7 + LAST]) * a; let o7 = vec4<f32>(kv[values() + r7 + LAST]); var f7 = vec4<f32>(0.0); var z7 = vec4<f32>(0.0);
  for (var j = 0u; j < params.queries; j++) {
    let r = query_row(b, j, h);
    let e = lse[r / QUADS];
    let x = delta[r / QUADS];
    let q0 = vec4<f32>(q[r]);
    let q1 = vec4<f32>(q[r + LAST]);
    let g0 = vec4<f32>(dy[r]);
    let g1 = vec4<f32>(dy[r + LAST]);
    var pa = products(q0, k0, k1, k2, k3);
    var pb = products(q0, k4, k5, k6, k7);
    var sa = products(g0, v0, v1, v2, v3);
    var sb = products(g0, v4, v5, v6, v7);
    if (LAST > 0u) {
      pa += products(q1, t0, t1, t2, t3);
      pb += products(q1, t4, t5, t6, t7);
      sa += products(g1, o0, o1, o2, o3);
      sb += products(g1, o4, o5, o6, o7);
    }
    pa = exp2(pa - e); pb = exp2(pb - e);
    sa = pa * (sa - x); sb = pb * (sb - x);
    d0 = axpy(sa.x, q0, d0); w0 = axpy(pa.x, g0, w0); d1 = axpy(sa.y, q0, d1); w1 = axpy(pa.y, g0, w1);
    d2 = axpy(sa.z, q0, d2); w2 = axpy(pa.z, g0, w2); d3 = axpy(sa.w, q0, d3); w3 = axpy(pa.w, g0, w3);
    d4 = axpy(sb.x, q0, d4); w4 = axpy(pb.x, g0, w4); d5 = axpy(sb.y, q0, d5); w5 = axpy(pb.y, g0, w5);
    d6 = axpy(sb.z, q0, d6); w6 = axpy(pb.z, g0, w6); d7 = axpy(sb.w, q0, d7); w7 = axpy(pb.w, g0, w7);
    if (LAST > 0u) {
      f0 = axpy(sa.x, q1, f0); z0 = axpy(pa.x, g1, z0); f1 = axpy(sa.y, q1, f1); z1 = axpy(pa.y, g1, z1);
      f2 = axpy(sa.z, q1, f2); z2 = axpy(pa.z, g1, z2); f3 = axpy(sa.w, q1, f3); z3 = axpy(pa.w, g1, z3);
      f4 = axpy(sb.x, q1, f4); z4 = axpy(pb.x, g1, z4); f5 = axpy(sb.y, q1, f5); z5 = axpy(pb.y, g1, z5);
      f6 = axpy(sb.z, q1, f6); z6 = axpy(pb.z, g1, z6); f7 = axpy(sb.w, q1, f7); z7 = axpy(pb.w, g1, z7);
    }
  }
  if (first < params.keys) {
    add_dkv(r0, d0 * params.scale);
    add_dkv(values() + r0, w0);
    if (LAST > 0u) { add_dkv(r0 + LAST, f0 * params.scale); add_dkv(values() + r0 + LAST, z0); }
  }
  if (first + 1u < params.keys) {
    add_dkv(r1, d1 * params.scale);
    add_dkv(values() + r1, w1);
    if (LAST > 0u) { add_dkv(r1 + LAST, f1 * params.scale); add_dkv(values() + r1 + LAST, z1); }
  }
  if (first + 2u < params.keys) {
    add_dkv(r2, d2 * params.scale);
    add_dkv(values() + r2, w2);
    if (LAST > 0u) { add_dkv(r2 + LAST, f2 * params.scale); add_dkv(values() + r2 + LAST, z2); }
  }
  if (first + 3u < params.keys) {
    add_dkv(r3, d3 * params.scale);
    add_dkv(values() + r3, w3);
    if (LAST > 0u) { add_dkv(r3 + LAST, f3 * params.scale); add_dkv(values() + r3 + LAST, z3); }
  }
  if (ROWS > 4u && first + 4u < params.keys) {
    add_dkv(r4, d4 * params.scale);
    add_dkv(values() + r4, w4);
    if (LAST > 0u) { add_dkv(r4 + LAST, f4 * params.scale); add_dkv(values() + r4 + LAST, z4); }
  }
  if (ROWS > 4u && first + 5u < params.keys) {
    add_dkv(r5, d5 * params.scale);
    add_dkv(values() + r5, w5);
    if (LAST > 0u) { add_dkv(r5 + LAST, f5 * params.scale); add_dkv(values() + r5 + LAST, z5); }
  }
  if (ROWS > 4u && first + 6u < params.keys) {
    add_dkv(r6, d6 * params.scale);
    add_dkv(values() + r6, w6);
    if (LAST > 0u) { add_dkv(r6 + LAST, f6 * params.scale); add_dkv(values() + r6 + LAST, z6); }
  }
  if (ROWS > 4u && first + 7u < params.keys) {
    add_dkv(r7, d7 * params.scale);
    add_dkv(values() + r7, w7);
    if (LAST > 0u) { add_dkv(r7 + LAST, f7 * params.scale); add_dkv(values() + r7 + LAST, z7); }
  }
}
