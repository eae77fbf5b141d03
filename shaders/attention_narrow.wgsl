// Attention (attention.wgsl) for heads of D = 4 or 8 channels on CPU adapters, where a load costs as much as tens of
// multiplications: an invocation holds ROWS neighbouring queries (dk, dv: keys) and their results in registers and visits the
// keys (queries) one by one, so that a load serves ROWS multiply-adds. Names ending in a hold what belongs to rows 0 to 3, those
// in b to 4 to 7, which vanish where ROWS is 4: more registers would take a driver's compiler ten seconds.

const SIZE: u32 = 8u;
const D: u32 = 8u; // 4 or 8
const ROWS: u32 = 8u; // of an invocation, 4 or 8
const LOG2E: f32 = 1.44269504;
const LOWEST: f32 = -1e30; // below every score

struct Params {
  batch: u32,
  queries: u32,
  keys: u32,
  heads: u32,
  width: u32, // D
  scale: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<f32>;
@group(0) @binding(2) var<storage, read> k: array<f32>;
@group(0) @binding(3) var<storage, read> v: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
@group(0) @binding(5) var<storage, read_write> lse_out: array<f32>;
@group(0) @binding(4) var<storage, read> dy: array<f32>;
@group(0) @binding(5) var<storage, read> lse: array<f32>;
@group(0) @binding(6) var<storage, read> delta: array<f32>;
@group(0) @binding(7) var<storage, read_write> dq: array<f32>;
@group(0) @binding(7) var<storage, read_write> dk: array<f32>;
@group(0) @binding(8) var<storage, read_write> dv: array<f32>;

fn row(b: u32, i: u32, n: u32, h: u32) -> u32 {
  return ((b * n + min(i, n - 1u)) * params.heads + h) * D;
}

// channels c to c + 3 of a row
fn q_at(r: u32, c: u32) -> vec4<f32> { return vec4<f32>(q[r + c], q[r + c + 1u], q[r + c + 2u], q[r + c + 3u]); }
fn k_at(r: u32, c: u32) -> vec4<f32> { return vec4<f32>(k[r + c], k[r + c + 1u], k[r + c + 2u], k[r + c + 3u]); }
fn v_at(r: u32, c: u32) -> vec4<f32> { return vec4<f32>(v[r + c], v[r + c + 1u], v[r + c + 2u], v[r + c + 3u]); }
fn dy_at(r: u32, c: u32) -> vec4<f32> { return vec4<f32>(dy[r + c], dy[r + c + 1u], dy[r + c + 2u], dy[r + c + 3u]); }

fn product(x: vec4<f32>, y: vec4<f32>) -> f32 {
  return fma(x.w, y.w, fma(x.z, y.z, fma(x.y, y.y, x.x * y.x)));
}

fn products(x: vec4<f32>, a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(product(x, a), product(x, b), product(x, c), product(x, d));
}

fn axpy(p: f32, x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
  return fma(vec4<f32>(p), x, y);
}

fn y_set(r: u32, c: u32, x: vec4<f32>) {
  y[r + c] = x.x;
  y[r + c + 1u] = x.y;
  y[r + c + 2u] = x.z;
  y[r + c + 3u] = x.w;
}

fn dq_add(r: u32, c: u32, x: vec4<f32>) {
  dq[r + c] += x.x;
  dq[r + c + 1u] += x.y;
  dq[r + c + 2u] += x.z;
  dq[r + c + 3u] += x.w;
}

fn dk_add(r: u32, c: u32, x: vec4<f32>) {
  dk[r + c] += x.x;
  dk[r + c + 1u] += x.y;
  dk[r + c + 2u] += x.z;
  dk[r + c + 3u] += x.w;
}

fn dv_add(r: u32, c: u32, x: vec4<f32>) {
  dv[r + c] += x.x;
  dv[r + c + 1u] += x.y;
  dv[r + c + 2u] += x.z;
  dv[r + c + 3u] += x.w;
}

@compute @workgroup_size(SIZE)
fn attention_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * ROWS;
  let h = group.y;
  let b = group.z;
  let a = params.scale * LOG2E;
  let r0 = row(b, first + 0u, params.queries, h); let r1 = row(b, first + 1u, params.queries, h);
  let r2 = row(b, first + 2u, params.queries, h); let r3 = row(b, first + 3u, params.queries, h);
  let r4 = row(b, first + 4u, params.queries, h); let r5 = row(b, first + 5u, params.queries, h);
  let r6 = row(b, first + 6u, params.queries, h); let r7 = row(b, first + 7u, params.queries, h);
  let q0 = q_at(r0, 0u) * a; var y0 = vec4<f32>(0.0); let q1 = q_at(r1, 0u) * a; var y1 = vec4<f32>(0.0);
  let q2 = q_at(r2, 0u) * a; var y2 = vec4<f32>(0.0); let q3 = q_at(r3, 0u) * a; var y3 = vec4<f32>(0.0);
  let q4 = q_at(r4, 0u) * a; var y4 = vec4<f32>(0.0); let q5 = q_at(r5, 0u) * a; var y5 = vec4<f32>(0.0);
  let q6 = q_at(r6, 0u) * a; var y6 = vec4<f32>(0.0); let q7 = q_at(r7, 0u) * a; var y7 = vec4<f32>(0.0);
  let t0 = q_at(r0, D - 4u) * a; var z0 = vec4<f32>(0.0); let t1 = q_at(r1, D - 4u) * a; var z1 = vec4<f32>(0.0);
  let t2 = q_at(r2, D - 4u) * a; var z2 = vec4<f32>(0.0); let t3 = q_at(r3, D - 4u) * a; var z3 = vec4<f32>(0.0);
  let t4 = q_at(r4, D - 4u) * a; var z4 = vec4<f32>(0.0); let t5 = q_at(r5, D - 4u) * a; var z5 = vec4<f32>(0.0);
  let t6 = q_at(r6, D - 4u) * a; var z6 = vec4<f32>(0.0); let t7 = q_at(r7, D - 4u) * a; var z7 = vec4<f32>(0.0);
  var ma = vec4<f32>(LOWEST); var mb = vec4<f32>(LOWEST);
  var la = vec4<f32>(0.0); var lb = vec4<f32>(0.0);
  for (var j = 0u; j < params.keys; j++) {
    let r = row(b, j, params.keys, h);
    let k0 = k_at(r, 0u);
    var sa = products(k0, q0, q1, q2, q3);
    var sb = products(k0, q4, q5, q6, q7);
    if (D > 4u) {
      let k1 = k_at(r, 4u);
      sa += products(k1, t0, t1, t2, t3);
      sb += products(k1, t4, t5, t6, t7);
    }
    let ha = max(ma, sa); let hb = max(mb, sb);
    let da = exp2(ma - ha); let db = exp2(mb - hb);
    let pa = exp2(sa - ha); let pb = exp2(sb - hb);
    ma = ha; mb = hb;
    la = la * da + pa; lb = lb * db + pb;
    let v0 = v_at(r, 0u);
    y0 = axpy(pa.x, v0, y0 * da.x); y1 = axpy(pa.y, v0, y1 * da.y);
    y2 = axpy(pa.z, v0, y2 * da.z); y3 = axpy(pa.w, v0, y3 * da.w);
    y4 = axpy(pb.x, v0, y4 * db.x); y5 = axpy(pb.y, v0, y5 * db.y);
    y6 = axpy(pb.z, v0, y6 * db.z); y7 = axpy(pb.w, v0, y7 * db.w);
    if (D > 4u) {
      let v1 = v_at(r, 4u);
      z0 = axpy(pa.x, v1, z0 * da.x); z1 = axpy(pa.y, v1, z1 * da.y);
      z2 = axpy(pa.z, v1, z2 * da.z); z3 = axpy(pa.w, v1, z3 * da.w);
      z4 = axpy(pb.x, v1, z4 * db.x); z5 = axpy(pb.y, v1, z5 * db.y);
      z6 = axpy(pb.z, v1, z6 * db.z); z7 = axpy(pb.w, v1, z7 * db.w);
    }
  }
  if (first + 0u < params.queries) {
    lse_out[r0 / D] = ma.x + log2(la.x);
    y_set(r0, 0u, y0 / la.x);
    if (D > 4u) { y_set(r0, 4u, z0 / la.x); }
  }
  if (first + 1u < params.queries) {
    lse_out[r1 / D] = ma.y + log2(la.y);
    y_set(r1, 0u, y1 / la.y);
    if (D > 4u) { y_set(r1, 4u, z1 / la.y); }
  }
  if (first + 2u < params.queries) {
    lse_out[r2 / D] = ma.z + log2(la.z);
    y_set(r2, 0u, y2 / la.z);
    if (D > 4u) { y_set(r2, 4u, z2 / la.z); }
  }
  if (first + 3u < params.queries) {
    lse_out[r3 / D] = ma.w + log2(la.w);
    y_set(r3, 0u, y3 / la.w);
    if (D > 4u) { y_set(r3, 4u, z3 / la.w); }
  }
  if (ROWS > 4u && first + 4u < params.queries) {
    lse_out[r4 / D] = mb.x + log2(lb.x);
    y_set(r4, 0u, y4 / lb.x);
    if (D > 4u) { y_set(r4, 4u, z4 / lb.x); }
  }
  if (ROWS > 4u && first + 5u < params.queries) {
    lse_out[r5 / D] = mb.y + log2(lb.y);
    y_set(r5, 0u, y5 / lb.y);
    if (D > 4u) { y_set(r5, 4u, z5 / lb.y); }
  }
  if (ROWS > 4u && first + 6u < params.queries) {
    lse_out[r6 / D] = mb.z + log2(lb.z);
    y_set(r6, 0u, y6 / lb.z);
    if (D > 4u) { y_set(r6, 4u, z6 / lb.z); }
  }
  if (ROWS > 4u && first + 7u < params.queries) {
    lse_out[r7 / D] = mb.w + log2(lb.w);
    y_set(r7, 0u, y7 / lb.w);
    if (D > 4u) { y_set(r7, 4u, z7 / lb.w); }
  }
}

@compute @workgroup_size(SIZE)
fn attention_backward_q(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * ROWS;
  let h = group.y;
  let b = group.z;
  let a = params.scale * LOG2E;
  let r0 = row(b, first + 0u, params.queries, h); let r1 = row(b, first + 1u, params.queries, h);
  let r2 = row(b, first + 2u, params.queries, h); let r3 = row(b, first + 3u, params.queries, h);
  let r4 = row(b, first + 4u, params.queries, h); let r5 = row(b, first + 5u, params.queries, h);
  let r6 = row(b, first + 6u, params.queries, h); let r7 = row(b, first + 7u, params.queries, h);
  let q0 = q_at(r0, 0u) * a; let g0 = dy_at(r0, 0u); var d0 = vec4<f32>(0.0);
  let q1 = q_at(r1, 0u) * a; let g1 = dy_at(r1, 0u); var d1 = vec4<f32>(0.0);
  let q2 = q_at(r2, 0u) * a; let g2 = dy_at(r2, 0u); var d2 = vec4<f32>(0.0);
  let q3 = q_at(r3, 0u) * a; let g3 = dy_at(r3, 0u); var d3 = vec4<f32>(0.0);
  let q4 = q_at(r4, 0u) * a; let g4 = dy_at(r4, 0u); var d4 = vec4<f32>(0.0);
  let q5 = q_at(r5, 0u) * a; let g5 = dy_at(r5, 0u); var d5 = vec4<f32>(0.0);
  let q6 = q_at(r6, 0u) * a; let g6 = dy_at(r6, 0u); var d6 = vec4<f32>(0.0);
  let q7 = q_at(r7, 0u) * a; let g7 = dy_at(r7, 0u); var d7 = vec4<f32>(0.0);
  let t0 = q_at(r0, D - 4u) * a; let o0 = dy_at(r0, D - 4u); var f0 = vec4<f32>(0.0);
  let t1 = q_at(r1, D - 4u) * a; let o1 = dy_at(r1, D - 4u); var f1 = vec4<f32>(0.0);
  let t2 = q_at(r2, D - 4u) * a; let o2 = dy_at(r2, D - 4u); var f2 = vec4<f32>(0.0);
  let t3 = q_at(r3, D - 4u) * a; let o3 = dy_at(r3, D - 4u); var f3 = vec4<f32>(0.0);
  let t4 = q_at(r4, D - 4u) * a; let o4 = dy_at(r4, D - 4u); var f4 = vec4<f32>(0.0);
  let t5 = q_at(r5, D - 4u) * a; let o5 = dy_at(r5, D - 4u); var f5 = vec4<f32>(0.0);
  let t6 = q_at(r6, D - 4u) * a; let o6 = dy_at(r6, D - 4u); var f6 = vec4<f32>(0.0);
  let t7 = q_at(r7, D - 4u) * a; let o7 = dy_at(r7, D - 4u); var f7 = vec4<f32>(0.0);
  let ea = vec4<f32>(lse[r0 / D], lse[r1 / D], lse[r2 / D], lse[r3 / D]);
  let eb = vec4<f32>(lse[r4 / D], lse[r5 / D], lse[r6 / D], lse[r7 / D]);
  let xa = vec4<f32>(delta[r0 / D], delta[r1 / D], delta[r2 / D], delta[r3 / D]);
  let xb = vec4<f32>(delta[r4 / D], delta[r5 / D], delta[r6 / D], delta[r7 / D]);
  for (var j = 0u; j < params.keys; j++) {
    let r = row(b, j, params.keys, h);
    let k0 = k_at(r, 0u);
    let k1 = k_at(r, D - 4u);
    let v0 = v_at(r, 0u);
    var sa = products(k0, q0, q1, q2, q3);
    var sb = products(k0, q4, q5, q6, q7);
    var pa = products(v0, g0, g1, g2, g3);
    var pb = products(v0, g4, g5, g6, g7);
    if (D > 4u) {
      let v1 = v_at(r, 4u);
      sa += products(k1, t0, t1, t2, t3);
      sb += products(k1, t4, t5, t6, t7);
      pa += products(v1, o0, o1, o2, o3);
      pb += products(v1, o4, o5, o6, o7);
    }
    pa = exp2(sa - ea) * (pa - xa);
    pb = exp2(sb - eb) * (pb - xb);
    d0 = axpy(pa.x, k0, d0); d1 = axpy(pa.y, k0, d1); d2 = axpy(pa.z, k0, d2); d3 = axpy(pa.w, k0, d3);
    d4 = axpy(pb.x, k0, d4); d5 = axpy(pb.y, k0, d5); d6 = axpy(pb.z, k0, d6); d7 = axpy(pb.w, k0, d7);
    if (D > 4u) {
      f0 = axpy(pa.x, k1, f0); f1 = axpy(pa.y, k1, f1); f2 = axpy(pa.z, k1, f2); f3 = axpy(pa.w, k1, f3);
      f4 = axpy(pb.x, k1, f4); f5 = axpy(pb.y, k1, f5); f6 = axpy(pb.z, k1, f6); f7 = axpy(pb.w, k1, f7);
    }
  }
  if (first + 0u < params.queries) {
    dq_add(r0, 0u, d0 * params.scale);
    if (D > 4u) { dq_add(r0, 4u, f0 * params.scale); }
  }
  if (first + 1u < params.queries) {
    dq_add(r1, 0u, d1 * params.scale);
    if (D > 4u) { dq_add(r1, 4u, f1 * params.scale); }
  }
  if (first + 2u < params.queries) {
    dq_add(r2, 0u, d2 * params.scale);
    if (D > 4u) { dq_add(r2, 4u, f2 * params.scale); }
  }
  if (first + 3u < params.queries) {
    dq_add(r3, 0u, d3 * params.scale);
    if (D > 4u) { dq_add(r3, 4u, f3 * params.scale); }
  }
  if (ROWS > 4u && first + 4u < params.queries) {
    dq_add(r4, 0u, d4 * params.scale);
    if (D > 4u) { dq_add(r4, 4u, f4 * params.scale); }
  }
  if (ROWS > 4u && first + 5u < params.queries) {
    dq_add(r5, 0u, d5 * params.scale);
    if (D > 4u) { dq_add(r5, 4u, f5 * params.scale); }
  }
  if (ROWS > 4u && first + 6u < params.queries) {
    dq_add(r6, 0u, d6 * params.scale);
    if (D > 4u) { dq_add(r6, 4u, f6 * params.scale); }
  }
  if (ROWS > 4u && first + 7u < params.queries) {
    dq_add(r7, 0u, d7 * params.scale);
    if (D > 4u) { dq_add(r7, 4u, f7 * params.scale); }
  }
}

@compute @workgroup_size(SIZE)
fn attention_backward_kv(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * ROWS; // key
  let h = group.y;
  let b = group.z;
  let a = params.scale * LOG2E;
  let r0 = row(b, first + 0u, params.keys, h); let r1 = row(b, first + 1u, params.keys, h);
  let r2 = row(b, first + 2u, params.keys, h); let r3 = row(b, first + 3u, params.keys, h);
  let r4 = row(b, first + 4u, params.keys, h); let r5 = row(b, first + 5u, params.keys, h);
  let r6 = row(b, first + 6u, params.keys, h); let r7 = row(b, first + 7u, params.keys, h);
  let k0 = k_at(r0, 0u) * a; let v0 = v_at(r0, 0u); var d0 = vec4<f32>(0.0); var w0 = vec4<f32>(0.0);
  let k1 = k_at(r1, 0u) * a; let v1 = v_at(r1, 0u); var d1 = vec4<f32>(0.0); var w1 = vec4<f32>(0.0);
  let k2 = k_at(r2, 0u) * a; let v2 = v_at(r2, 0u); var d2 = vec4<f32>(0.0); var w2 = vec4<f32>(0.0);
  let k3 = k_at(r3, 0u) * a; let v3 = v_at(r3, 0u); var d3 = vec4<f32>(0.0); var w3 = vec4<f32>(0.0);
  let k4 = k_at(r4, 0u) * a; let v4 = v_at(r4, 0u); var d4 = vec4<f32>(0.0); var w4 = vec4<f32>(0.0);
  let k5 = k_at(r5, 0u) * a; let v5 = v_at(r5, 0u); var d5 = vec4<f32>(0.0); var w5 = vec4<f32>(0.0);
  let k6 = k_at(r6, 0u) * a; let v6 = v_at(r6, 0u); var d6 = vec4<f32>(0.0); var w6 = vec4<f32>(0.0);
  let k7 = k_at(r7, 0u) * a; let v7 = v_at(r7, 0u); var d7 = vec4<f32>(0.0); var w7 = vec4<f32>(0.0);
  let t0 = k_at(r0, D - 4u) * a; let o0 = v_at(r0, D - 4u); var f0 = vec4<f32>(0.0); var z0 = vec4<f32>(0.0);
  let t1 = k_at(r1, D - 4u) * a; let o1 = v_at(r1, D - 4u); var f1 = vec4<f32>(0.0); var z1 = vec4<f32>(0.0);
  let t2 = k_at(r2, D - 4u) * a; let o2 = v_at(r2, D - 4u); var f2 = vec4<f32>(0.0); var z2 = vec4<f32>(0.0);
  let t3 = k_at(r3, D - 4u) * a; let o3 = v_at(r3, D - 4u); var f3 = vec4<f32>(0.0); var z3 = vec4<f32>(0.0);
  let t4 = k_at(r4, D - 4u) * a; let o4 = v_at(r4, D - 4u); var f4 = vec4<f32>(0.0); var z4 = vec4<f32>(0.0);
  let t5 = k_at(r5, D - 4u) * a; let o5 = v_at(r5, D - 4u); var f5 = vec4<f32>(0.0); var z5 = vec4<f32>(0.0);
  let t6 = k_at(r6, D - 4u) * a; let o6 = v_at(r6, D - 4u); var f6 = vec4<f32>(0.0); var z6 = vec4<f32>(0.0);
  let t7 = k_at(r7, D - 4u) * a; let o7 = v_at(r7, D - 4u); var f7 = vec4<f32>(0.0); var z7 = vec4<f32>(0.0);
  for (var j = 0u; j < params.queries; j++) {
    let r = row(b, j, params.queries, h);
    let e = lse[r / D];
    let x = delta[r / D];
    let q0 = q_at(r, 0u);
    let q1 = q_at(r, D - 4u);
    let g0 = dy_at(r, 0u);
    let g1 = dy_at(r, D - 4u);
    var pa = products(q0, k0, k1, k2, k3);
    var pb = products(q0, k4, k5, k6, k7);
    var sa = products(g0, v0, v1, v2, v3);
    var sb = products(g0, v4, v5, v6, v7);
    if (D > 4u) {
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
    if (D > 4u) {
      f0 = axpy(sa.x, q1, f0); z0 = axpy(pa.x, g1, z0); f1 = axpy(sa.y, q1, f1); z1 = axpy(pa.y, g1, z1);
      f2 = axpy(sa.z, q1, f2); z2 = axpy(pa.z, g1, z2); f3 = axpy(sa.w, q1, f3); z3 = axpy(pa.w, g1, z3);
      f4 = axpy(sb.x, q1, f4); z4 = axpy(pb.x, g1, z4); f5 = axpy(sb.y, q1, f5); z5 = axpy(pb.y, g1, z5);
      f6 = axpy(sb.z, q1, f6); z6 = axpy(pb.z, g1, z6); f7 = axpy(sb.w, q1, f7); z7 = axpy(pb.w, g1, z7);
    }
  }
  if (first + 0u < params.keys) {
    dk_add(r0, 0u, d0 * params.scale);
    dv_add(r0, 0u, w0);
    if (D > 4u) { dk_add(r0, 4u, f0 * params.scale); dv_add(r0, 4u, z0); }
  }
  if (first + 1u < params.keys) {
    dk_add(r1, 0u, d1 * params.scale);
    dv_add(r1, 0u, w1);
    if (D > 4u) { dk_add(r1, 4u, f1 * params.scale); dv_add(r1, 4u, z1); }
  }
  if (first + 2u < params.keys) {
    dk_add(r2, 0u, d2 * params.scale);
    dv_add(r2, 0u, w2);
    if (D > 4u) { dk_add(r2, 4u, f2 * params.scale); dv_add(r2, 4u, z2); }
  }
  if (first + 3u < params.keys) {
    dk_add(r3, 0u, d3 * params.scale);
    dv_add(r3, 0u, w3);
    if (D > 4u) { dk_add(r3, 4u, f3 * params.scale); dv_add(r3, 4u, z3); }
  }
  if (ROWS > 4u && first + 4u < params.keys) {
    dk_add(r4, 0u, d4 * params.scale);
    dv_add(r4, 0u, w4);
    if (D > 4u) { dk_add(r4, 4u, f4 * params.scale); dv_add(r4, 4u, z4); }
  }
  if (ROWS > 4u && first + 5u < params.keys) {
    dk_add(r5, 0u, d5 * params.scale);
    dv_add(r5, 0u, w5);
    if (D > 4u) { dk_add(r5, 4u, f5 * params.scale); dv_add(r5, 4u, z5); }
  }
  if (ROWS > 4u && first + 6u < params.keys) {
    dk_add(r6, 0u, d6 * params.scale);
    dv_add(r6, 0u, w6);
    if (D > 4u) { dk_add(r6, 4u, f6 * params.scale); dv_add(r6, 4u, z6); }
  }
  if (ROWS > 4u && first + 7u < params.keys) {
    dk_add(r7, 0u, d7 * params.scale);
    dv_add(r7, 0u, w7);
    if (D > 4u) { dk_add(r7, 4u, f7 * params.scale); dv_add(r7, 4u, z7); }
  }
}
