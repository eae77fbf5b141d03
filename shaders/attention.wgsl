// Scaled dot-product attention (Vaswani et al. 2017), every head h on its own D channels.
//
//   q (B, N, H D)   kv (B, L, 2 H D), k beside v   y (B, N, H D)   p[n, l] = softmax_l(scale q[n]·k[l])   y[n] = Σ_l p[n, l] v[l]
//   lse (B, N, H) = log2 Σ_l exp(scale q[n]·k[l]), so that p = exp2(scale log2(e) q[n]·k[l] - lse)
//   delta (B, N, H) = dy[n]·y[n]     ds[n, l] = p (dy[n]·v[l] - delta[n])
//   dq[n] += scale Σ_l ds k[l]     dk[l] += scale Σ_n ds q[n]     dv[l] += Σ_n p dy[n]
//
// Scores are never stored: the forward keeps a running maximum and sum (online softmax, Milakov & Gimelshein 2018), the
// backward computes them again (FlashAttention, Dao et al. 2022). These kernels take any D and suit CPU adapters, where a load
// costs as much as tens of multiplications: an invocation owns 8 neighbouring queries (dk, dv: keys) of one head and keeps
// their scores against 8 keys (queries) in registers, a vec4 for 4 keys, so that 16 loads serve 64 multiply-adds. Rows beyond
// the last are the last again, and not written. They keep y, the mean over the keys so far, and dq and dkv in storage;
// of halves, these are rounded after every 8 keys (queries). The other attention_*.wgsl with these kernels compute the same. Joined with
// attention_tokens.wgsl.

alias stored = real;
const SIZE: u32 = 8u;

// delta's own
@group(0) @binding(1) var<storage, read> result: array<real>; // y
@group(0) @binding(2) var<storage, read> dresult: array<real>; // dy
@group(0) @binding(3) var<storage, read_write> delta_out: array<f32>;

// from a key to its value
fn values() -> u32 { return params.heads * params.width; }

fn row(b: u32, i: u32, n: u32, h: u32) -> u32 {
  return index(b, i, n, h) * params.width;
}

fn four(b: u32, i: u32, n: u32, h: u32) -> vec4<u32> {
  return vec4<u32>(index(b, i, n, h), index(b, i + 1u, n, h), index(b, i + 2u, n, h), index(b, i + 3u, n, h));
}

fn four_pairs(b: u32, i: u32, h: u32) -> vec4<u32> {
  return vec4<u32>(pair(b, i, h), pair(b, i + 1u, h), pair(b, i + 2u, h), pair(b, i + 3u, h));
}

// one channel of four rows
fn q_of(r: vec4<u32>, c: u32) -> vec4<f32> { return vec4<f32>(real4(q[r.x + c], q[r.y + c], q[r.z + c], q[r.w + c])); }
fn k_of(r: vec4<u32>, c: u32) -> vec4<f32> { return vec4<f32>(real4(kv[r.x + c], kv[r.y + c], kv[r.z + c], kv[r.w + c])); }
fn v_of(r: vec4<u32>, c: u32) -> vec4<f32> { return vec4<f32>(real4(kv[values() + r.x + c], kv[values() + r.y + c], kv[values() + r.z + c], kv[values() + r.w + c])); }
fn dy_of(r: vec4<u32>, c: u32) -> vec4<f32> { return vec4<f32>(real4(dy[r.x + c], dy[r.y + c], dy[r.z + c], dy[r.w + c])); }

// the scores of tokens from j on; those from the n-th on do not exist
fn existing(s: vec4<f32>, j: u32, n: u32) -> vec4<f32> {
  return select(vec4<f32>(LOWEST), s, vec4<u32>(j, j + 1u, j + 2u, j + 3u) < vec4<u32>(n));
}

fn highest(a: vec4<f32>, b: vec4<f32>) -> f32 {
  let m = max(a, b);
  return max(max(m.x, m.y), max(m.z, m.w));
}

fn total(a: vec4<f32>, b: vec4<f32>) -> f32 {
  let t = a + b;
  return (t.x + t.y) + (t.z + t.w);
}

// x + p·a + r·b
fn weighted(x: f32, p: vec4<f32>, a: vec4<f32>, r: vec4<f32>, b: vec4<f32>) -> f32 {
  let near = fma(p.w, a.w, fma(p.z, a.z, fma(p.y, a.y, fma(p.x, a.x, x))));
  return fma(r.w, b.w, fma(r.z, b.z, fma(r.y, b.y, fma(r.x, b.x, near))));
}

@compute @workgroup_size(SIZE)
fn attention_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * 8u;
  let h = group.y;
  let b = group.z;
  let a = params.scale * LOG2E;
  let q0 = row(b, first, params.queries, h); let q1 = row(b, first + 1u, params.queries, h);
  let q2 = row(b, first + 2u, params.queries, h); let q3 = row(b, first + 3u, params.queries, h);
  let q4 = row(b, first + 4u, params.queries, h); let q5 = row(b, first + 5u, params.queries, h);
  let q6 = row(b, first + 6u, params.queries, h); let q7 = row(b, first + 7u, params.queries, h);
  var m0 = LOWEST; var l0 = 0.0; var m1 = LOWEST; var l1 = 0.0; var m2 = LOWEST; var l2 = 0.0; var m3 = LOWEST; var l3 = 0.0;
  var m4 = LOWEST; var l4 = 0.0; var m5 = LOWEST; var l5 = 0.0; var m6 = LOWEST; var l6 = 0.0; var m7 = LOWEST; var l7 = 0.0;
  for (var j = 0u; j < params.keys; j += 8u) {
    let ra = four_pairs(b, j, h) * params.width;
    let rb = four_pairs(b, j + 4u, h) * params.width;
    var a0 = vec4<f32>(0.0); var b0 = vec4<f32>(0.0); var a1 = vec4<f32>(0.0); var b1 = vec4<f32>(0.0);
    var a2 = vec4<f32>(0.0); var b2 = vec4<f32>(0.0); var a3 = vec4<f32>(0.0); var b3 = vec4<f32>(0.0);
    var a4 = vec4<f32>(0.0); var b4 = vec4<f32>(0.0); var a5 = vec4<f32>(0.0); var b5 = vec4<f32>(0.0);
    var a6 = vec4<f32>(0.0); var b6 = vec4<f32>(0.0); var a7 = vec4<f32>(0.0); var b7 = vec4<f32>(0.0);
    for (var c = 0u; c < params.width; c++) {
      let ka = k_of(ra, c);
      let kb = k_of(rb, c);
      let x0 = vec4<f32>(f32(q[q0 + c])); a0 = fma(x0, ka, a0); b0 = fma(x0, kb, b0);
      let x1 = vec4<f32>(f32(q[q1 + c])); a1 = fma(x1, ka, a1); b1 = fma(x1, kb, b1);
      let x2 = vec4<f32>(f32(q[q2 + c])); a2 = fma(x2, ka, a2); b2 = fma(x2, kb, b2);
      let x3 = vec4<f32>(f32(q[q3 + c])); a3 = fma(x3, ka, a3); b3 = fma(x3, kb, b3);
      let x4 = vec4<f32>(f32(q[q4 + c])); a4 = fma(x4, ka, a4); b4 = fma(x4, kb, b4);
      let x5 = vec4<f32>(f32(q[q5 + c])); a5 = fma(x5, ka, a5); b5 = fma(x5, kb, b5);
      let x6 = vec4<f32>(f32(q[q6 + c])); a6 = fma(x6, ka, a6); b6 = fma(x6, kb, b6);
      let x7 = vec4<f32>(f32(q[q7 + c])); a7 = fma(x7, ka, a7); b7 = fma(x7, kb, b7);
    }
    a0 = existing(a0 * a, j, params.keys); b0 = existing(b0 * a, j + 4u, params.keys);
    a1 = existing(a1 * a, j, params.keys); b1 = existing(b1 * a, j + 4u, params.keys);
    a2 = existing(a2 * a, j, params.keys); b2 = existing(b2 * a, j + 4u, params.keys);
    a3 = existing(a3 * a, j, params.keys); b3 = existing(b3 * a, j + 4u, params.keys);
    a4 = existing(a4 * a, j, params.keys); b4 = existing(b4 * a, j + 4u, params.keys);
    a5 = existing(a5 * a, j, params.keys); b5 = existing(b5 * a, j + 4u, params.keys);
    a6 = existing(a6 * a, j, params.keys); b6 = existing(b6 * a, j + 4u, params.keys);
    a7 = existing(a7 * a, j, params.keys); b7 = existing(b7 * a, j + 4u, params.keys);
    let h0 = max(m0, highest(a0, b0)); let d0 = exp2(m0 - h0); m0 = h0;
    let h1 = max(m1, highest(a1, b1)); let d1 = exp2(m1 - h1); m1 = h1;
    let h2 = max(m2, highest(a2, b2)); let d2 = exp2(m2 - h2); m2 = h2;
    let h3 = max(m3, highest(a3, b3)); let d3 = exp2(m3 - h3); m3 = h3;
    let h4 = max(m4, highest(a4, b4)); let d4 = exp2(m4 - h4); m4 = h4;
    let h5 = max(m5, highest(a5, b5)); let d5 = exp2(m5 - h5); m5 = h5;
    let h6 = max(m6, highest(a6, b6)); let d6 = exp2(m6 - h6); m6 = h6;
    let h7 = max(m7, highest(a7, b7)); let d7 = exp2(m7 - h7); m7 = h7;
    a0 = exp2(a0 - h0); b0 = exp2(b0 - h0); let n0 = l0 * d0 + total(a0, b0); let s0 = l0 * d0 / n0; a0 /= n0; b0 /= n0; l0 = n0;
    a1 = exp2(a1 - h1); b1 = exp2(b1 - h1); let n1 = l1 * d1 + total(a1, b1); let s1 = l1 * d1 / n1; a1 /= n1; b1 /= n1; l1 = n1;
    a2 = exp2(a2 - h2); b2 = exp2(b2 - h2); let n2 = l2 * d2 + total(a2, b2); let s2 = l2 * d2 / n2; a2 /= n2; b2 /= n2; l2 = n2;
    a3 = exp2(a3 - h3); b3 = exp2(b3 - h3); let n3 = l3 * d3 + total(a3, b3); let s3 = l3 * d3 / n3; a3 /= n3; b3 /= n3; l3 = n3;
    a4 = exp2(a4 - h4); b4 = exp2(b4 - h4); let n4 = l4 * d4 + total(a4, b4); let s4 = l4 * d4 / n4; a4 /= n4; b4 /= n4; l4 = n4;
    a5 = exp2(a5 - h5); b5 = exp2(b5 - h5); let n5 = l5 * d5 + total(a5, b5); let s5 = l5 * d5 / n5; a5 /= n5; b5 /= n5; l5 = n5;
    a6 = exp2(a6 - h6); b6 = exp2(b6 - h6); let n6 = l6 * d6 + total(a6, b6); let s6 = l6 * d6 / n6; a6 /= n6; b6 /= n6; l6 = n6;
    a7 = exp2(a7 - h7); b7 = exp2(b7 - h7); let n7 = l7 * d7 + total(a7, b7); let s7 = l7 * d7 / n7; a7 /= n7; b7 /= n7; l7 = n7;
    for (var c = 0u; c < params.width; c++) {
      let va = v_of(ra, c);
      let vb = v_of(rb, c);
      if (first < params.queries) { y[q0 + c] = real(weighted(select(f32(y[q0 + c]) * s0, 0.0, j == 0u), a0, va, b0, vb)); }
      if (first + 1u < params.queries) { y[q1 + c] = real(weighted(select(f32(y[q1 + c]) * s1, 0.0, j == 0u), a1, va, b1, vb)); }
      if (first + 2u < params.queries) { y[q2 + c] = real(weighted(select(f32(y[q2 + c]) * s2, 0.0, j == 0u), a2, va, b2, vb)); }
      if (first + 3u < params.queries) { y[q3 + c] = real(weighted(select(f32(y[q3 + c]) * s3, 0.0, j == 0u), a3, va, b3, vb)); }
      if (first + 4u < params.queries) { y[q4 + c] = real(weighted(select(f32(y[q4 + c]) * s4, 0.0, j == 0u), a4, va, b4, vb)); }
      if (first + 5u < params.queries) { y[q5 + c] = real(weighted(select(f32(y[q5 + c]) * s5, 0.0, j == 0u), a5, va, b5, vb)); }
      if (first + 6u < params.queries) { y[q6 + c] = real(weighted(select(f32(y[q6 + c]) * s6, 0.0, j == 0u), a6, va, b6, vb)); }
      if (first + 7u < params.queries) { y[q7 + c] = real(weighted(select(f32(y[q7 + c]) * s7, 0.0, j == 0u), a7, va, b7, vb)); }
    }
  }
  if (first < params.queries) { lse_out[index(b, first, params.queries, h)] = m0 + log2(l0); }
  if (first + 1u < params.queries) { lse_out[index(b, first + 1u, params.queries, h)] = m1 + log2(l1); }
  if (first + 2u < params.queries) { lse_out[index(b, first + 2u, params.queries, h)] = m2 + log2(l2); }
  if (first + 3u < params.queries) { lse_out[index(b, first + 3u, params.queries, h)] = m3 + log2(l3); }
  if (first + 4u < params.queries) { lse_out[index(b, first + 4u, params.queries, h)] = m4 + log2(l4); }
  if (first + 5u < params.queries) { lse_out[index(b, first + 5u, params.queries, h)] = m5 + log2(l5); }
  if (first + 6u < params.queries) { lse_out[index(b, first + 6u, params.queries, h)] = m6 + log2(l6); }
  if (first + 7u < params.queries) { lse_out[index(b, first + 7u, params.queries, h)] = m7 + log2(l7); }
}

@compute @workgroup_size(64)
fn attention_delta(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                   @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * 64u + local;
  if (i >= params.batch * params.queries * params.heads) { return; }
  var sum = 0.0;
  for (var c = i * params.width; c < (i + 1u) * params.width; c++) { sum = fma(f32(result[c]), f32(dresult[c]), sum); }
  delta_out[i] = sum;
}

@compute @workgroup_size(SIZE)
fn attention_backward_q(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * 8u;
  let h = group.y;
  let b = group.z;
  let a = params.scale * LOG2E;
  let i0 = index(b, first, params.queries, h); let q0 = i0 * params.width;
  let i1 = index(b, first + 1u, params.queries, h); let q1 = i1 * params.width;
  let i2 = index(b, first + 2u, params.queries, h); let q2 = i2 * params.width;
  let i3 = index(b, first + 3u, params.queries, h); let q3 = i3 * params.width;
  let i4 = index(b, first + 4u, params.queries, h); let q4 = i4 * params.width;
  let i5 = index(b, first + 5u, params.queries, h); let q5 = i5 * params.width;
  let i6 = index(b, first + 6u, params.queries, h); let q6 = i6 * params.width;
  let i7 = index(b, first + 7u, params.queries, h); let q7 = i7 * params.width;
  let e0 = lse[i0]; let d0 = delta[i0]; let e1 = lse[i1]; let d1 = delta[i1]; let e2 = lse[i2]; let d2 = delta[i2]; let e3 = lse[i3]; let d3 = delta[i3];
  let e4 = lse[i4]; let d4 = delta[i4]; let e5 = lse[i5]; let d5 = delta[i5]; let e6 = lse[i6]; let d6 = delta[i6]; let e7 = lse[i7]; let d7 = delta[i7];
  for (var j = 0u; j < params.keys; j += 8u) {
    let ra = four_pairs(b, j, h) * params.width;
    let rb = four_pairs(b, j + 4u, h) * params.width;
    var a0 = vec4<f32>(0.0); var b0 = vec4<f32>(0.0); var f0 = vec4<f32>(0.0); var g0 = vec4<f32>(0.0);
    var a1 = vec4<f32>(0.0); var b1 = vec4<f32>(0.0); var f1 = vec4<f32>(0.0); var g1 = vec4<f32>(0.0);
    var a2 = vec4<f32>(0.0); var b2 = vec4<f32>(0.0); var f2 = vec4<f32>(0.0); var g2 = vec4<f32>(0.0);
    var a3 = vec4<f32>(0.0); var b3 = vec4<f32>(0.0); var f3 = vec4<f32>(0.0); var g3 = vec4<f32>(0.0);
    var a4 = vec4<f32>(0.0); var b4 = vec4<f32>(0.0); var f4 = vec4<f32>(0.0); var g4 = vec4<f32>(0.0);
    var a5 = vec4<f32>(0.0); var b5 = vec4<f32>(0.0); var f5 = vec4<f32>(0.0); var g5 = vec4<f32>(0.0);
    var a6 = vec4<f32>(0.0); var b6 = vec4<f32>(0.0); var f6 = vec4<f32>(0.0); var g6 = vec4<f32>(0.0);
    var a7 = vec4<f32>(0.0); var b7 = vec4<f32>(0.0); var f7 = vec4<f32>(0.0); var g7 = vec4<f32>(0.0);
    for (var c = 0u; c < params.width; c++) {
      let ka = k_of(ra, c);
      let kb = k_of(rb, c);
      let x0 = vec4<f32>(f32(q[q0 + c])); a0 = fma(x0, ka, a0); b0 = fma(x0, kb, b0);
      let x1 = vec4<f32>(f32(q[q1 + c])); a1 = fma(x1, ka, a1); b1 = fma(x1, kb, b1);
      let x2 = vec4<f32>(f32(q[q2 + c])); a2 = fma(x2, ka, a2); b2 = fma(x2, kb, b2);
      let x3 = vec4<f32>(f32(q[q3 + c])); a3 = fma(x3, ka, a3); b3 = fma(x3, kb, b3);
      let x4 = vec4<f32>(f32(q[q4 + c])); a4 = fma(x4, ka, a4); b4 = fma(x4, kb, b4);
      let x5 = vec4<f32>(f32(q[q5 + c])); a5 = fma(x5, ka, a5); b5 = fma(x5, kb, b5);
      let x6 = vec4<f32>(f32(q[q6 + c])); a6 = fma(x6, ka, a6); b6 = fma(x6, kb, b6);
      let x7 = vec4<f32>(f32(q[q7 + c])); a7 = fma(x7, ka, a7); b7 = fma(x7, kb, b7);
      let va = v_of(ra, c);
      let vb = v_of(rb, c);
      let z0 = vec4<f32>(f32(dy[q0 + c])); f0 = fma(z0, va, f0); g0 = fma(z0, vb, g0);
      let z1 = vec4<f32>(f32(dy[q1 + c])); f1 = fma(z1, va, f1); g1 = fma(z1, vb, g1);
      let z2 = vec4<f32>(f32(dy[q2 + c])); f2 = fma(z2, va, f2); g2 = fma(z2, vb, g2);
      let z3 = vec4<f32>(f32(dy[q3 + c])); f3 = fma(z3, va, f3); g3 = fma(z3, vb, g3);
      let z4 = vec4<f32>(f32(dy[q4 + c])); f4 = fma(z4, va, f4); g4 = fma(z4, vb, g4);
      let z5 = vec4<f32>(f32(dy[q5 + c])); f5 = fma(z5, va, f5); g5 = fma(z5, vb, g5);
      let z6 = vec4<f32>(f32(dy[q6 + c])); f6 = fma(z6, va, f6); g6 = fma(z6, vb, g6);
      let z7 = vec4<f32>(f32(dy[q7 + c])); f7 = fma(z7, va, f7); g7 = fma(z7, vb, g7);
    }
    a0 = params.scale * exp2(existing(a0 * a, j, params.keys) - e0) * (f0 - d0);
    a1 = params.scale * exp2(existing(a1 * a, j, params.keys) - e1) * (f1 - d1);
    a2 = params.scale * exp2(existing(a2 * a, j, params.keys) - e2) * (f2 - d2);
    a3 = params.scale * exp2(existing(a3 * a, j, params.keys) - e3) * (f3 - d3);
    a4 = params.scale * exp2(existing(a4 * a, j, params.keys) - e4) * (f4 - d4);
    a5 = params.scale * exp2(existing(a5 * a, j, params.keys) - e5) * (f5 - d5);
    a6 = params.scale * exp2(existing(a6 * a, j, params.keys) - e6) * (f6 - d6);
    a7 = params.scale * exp2(existing(a7 * a, j, params.keys) - e7) * (f7 - d7);
    b0 = params.scale * exp2(existing(b0 * a, j + 4u, params.keys) - e0) * (g0 - d0);
    b1 = params.scale * exp2(existing(b1 * a, j + 4u, params.keys) - e1) * (g1 - d1);
    b2 = params.scale * exp2(existing(b2 * a, j + 4u, params.keys) - e2) * (g2 - d2);
    b3 = params.scale * exp2(existing(b3 * a, j + 4u, params.keys) - e3) * (g3 - d3);
    b4 = params.scale * exp2(existing(b4 * a, j + 4u, params.keys) - e4) * (g4 - d4);
    b5 = params.scale * exp2(existing(b5 * a, j + 4u, params.keys) - e5) * (g5 - d5);
    b6 = params.scale * exp2(existing(b6 * a, j + 4u, params.keys) - e6) * (g6 - d6);
    b7 = params.scale * exp2(existing(b7 * a, j + 4u, params.keys) - e7) * (g7 - d7);
    for (var c = 0u; c < params.width; c++) {
      let ka = k_of(ra, c);
      let kb = k_of(rb, c);
      if (first < params.queries) { dq[q0 + c] = real(weighted(f32(dq[q0 + c]), a0, ka, b0, kb)); }
      if (first + 1u < params.queries) { dq[q1 + c] = real(weighted(f32(dq[q1 + c]), a1, ka, b1, kb)); }
      if (first + 2u < params.queries) { dq[q2 + c] = real(weighted(f32(dq[q2 + c]), a2, ka, b2, kb)); }
      if (first + 3u < params.queries) { dq[q3 + c] = real(weighted(f32(dq[q3 + c]), a3, ka, b3, kb)); }
      if (first + 4u < params.queries) { dq[q4 + c] = real(weighted(f32(dq[q4 + c]), a4, ka, b4, kb)); }
      if (first + 5u < params.queries) { dq[q5 + c] = real(weighted(f32(dq[q5 + c]), a5, ka, b5, kb)); }
      if (first + 6u < params.queries) { dq[q6 + c] = real(weighted(f32(dq[q6 + c]), a6, ka, b6, kb)); }
      if (first + 7u < params.queries) { dq[q7 + c] = real(weighted(f32(dq[q7 + c]), a7, ka, b7, kb)); }
    }
  }
}

@compute @workgroup_size(SIZE)
fn attention_backward_kv(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * 8u; // key
  let h = group.y;
  let b = group.z;
  let a = params.scale * LOG2E;
  let k0 = pair(b, first, h) * params.width; let k1 = pair(b, first + 1u, h) * params.width;
  let k2 = pair(b, first + 2u, h) * params.width; let k3 = pair(b, first + 3u, h) * params.width;
  let k4 = pair(b, first + 4u, h) * params.width; let k5 = pair(b, first + 5u, h) * params.width;
  let k6 = pair(b, first + 6u, h) * params.width; let k7 = pair(b, first + 7u, h) * params.width;
  for (var j = 0u; j < params.queries; j += 8u) {
    let ia = four(b, j, params.queries, h);
    let ib = four(b, j + 4u, params.queries, h);
    let ra = ia * params.width;
    let rb = ib * params.width;
    let ea = vec4<f32>(lse[ia.x], lse[ia.y], lse[ia.z], lse[ia.w]);
    let eb = vec4<f32>(lse[ib.x], lse[ib.y], lse[ib.z], lse[ib.w]);
    let da = vec4<f32>(delta[ia.x], delta[ia.y], delta[ia.z], delta[ia.w]);
    let db = vec4<f32>(delta[ib.x], delta[ib.y], delta[ib.z], delta[ib.w]);
    var a0 = vec4<f32>(0.0); var b0 = vec4<f32>(0.0); var f0 = vec4<f32>(0.0); var g0 = vec4<f32>(0.0);
    var a1 = vec4<f32>(0.0); var b1 = vec4<f32>(0.0); var f1 = vec4<f32>(0.0); var g1 = vec4<f32>(0.0);
    var a2 = vec4<f32>(0.0); var b2 = vec4<f32>(0.0); var f2 = vec4<f32>(0.0); var g2 = vec4<f32>(0.0);
    var a3 = vec4<f32>(0.0); var b3 = vec4<f32>(0.0); var f3 = vec4<f32>(0.0); var g3 = vec4<f32>(0.0);
    var a4 = vec4<f32>(0.0); var b4 = vec4<f32>(0.0); var f4 = vec4<f32>(0.0); var g4 = vec4<f32>(0.0);
    var a5 = vec4<f32>(0.0); var b5 = vec4<f32>(0.0); var f5 = vec4<f32>(0.0); var g5 = vec4<f32>(0.0);
    var a6 = vec4<f32>(0.0); var b6 = vec4<f32>(0.0); var f6 = vec4<f32>(0.0); var g6 = vec4<f32>(0.0);
    var a7 = vec4<f32>(0.0); var b7 = vec4<f32>(0.0); var f7 = vec4<f32>(0.0); var g7 = vec4<f32>(0.0);
    for (var c = 0u; c < params.width; c++) {
      let qa = q_of(ra, c);
      let qb = q_of(rb, c);
      let x0 = vec4<f32>(f32(kv[k0 + c])); a0 = fma(x0, qa, a0); b0 = fma(x0, qb, b0);
      let x1 = vec4<f32>(f32(kv[k1 + c])); a1 = fma(x1, qa, a1); b1 = fma(x1, qb, b1);
      let x2 = vec4<f32>(f32(kv[k2 + c])); a2 = fma(x2, qa, a2); b2 = fma(x2, qb, b2);
      let x3 = vec4<f32>(f32(kv[k3 + c])); a3 = fma(x3, qa, a3); b3 = fma(x3, qb, b3);
      let x4 = vec4<f32>(f32(kv[k4 + c])); a4 = fma(x4, qa, a4); b4 = fma(x4, qb, b4);
      let x5 = vec4<f32>(f32(kv[k5 + c])); a5 = fma(x5, qa, a5); b5 = fma(x5, qb, b5);
      let x6 = vec4<f32>(f32(kv[k6 + c])); a6 = fma(x6, qa, a6); b6 = fma(x6, qb, b6);
      let x7 = vec4<f32>(f32(kv[k7 + c])); a7 = fma(x7, qa, a7); b7 = fma(x7, qb, b7);
      let ga = dy_of(ra, c);
      let gb = dy_of(rb, c);
      let z0 = vec4<f32>(f32(kv[values() + k0 + c])); f0 = fma(z0, ga, f0); g0 = fma(z0, gb, g0);
      let z1 = vec4<f32>(f32(kv[values() + k1 + c])); f1 = fma(z1, ga, f1); g1 = fma(z1, gb, g1);
      let z2 = vec4<f32>(f32(kv[values() + k2 + c])); f2 = fma(z2, ga, f2); g2 = fma(z2, gb, g2);
      let z3 = vec4<f32>(f32(kv[values() + k3 + c])); f3 = fma(z3, ga, f3); g3 = fma(z3, gb, g3);
      let z4 = vec4<f32>(f32(kv[values() + k4 + c])); f4 = fma(z4, ga, f4); g4 = fma(z4, gb, g4);
      let z5 = vec4<f32>(f32(kv[values() + k5 + c])); f5 = fma(z5, ga, f5); g5 = fma(z5, gb, g5);
      let z6 = vec4<f32>(f32(kv[values() + k6 + c])); f6 = fma(z6, ga, f6); g6 = fma(z6, gb, g6);
      let z7 = vec4<f32>(f32(kv[values() + k7 + c])); f7 = fma(z7, ga, f7); g7 = fma(z7, gb, g7);
    }
    a0 = exp2(existing(a0 * a, j, params.queries) - ea); b0 = exp2(existing(b0 * a, j + 4u, params.queries) - eb);
    a1 = exp2(existing(a1 * a, j, params.queries) - ea); b1 = exp2(existing(b1 * a, j + 4u, params.queries) - eb);
    a2 = exp2(existing(a2 * a, j, params.queries) - ea); b2 = exp2(existing(b2 * a, j + 4u, params.queries) - eb);
    a3 = exp2(existing(a3 * a, j, params.queries) - ea); b3 = exp2(existing(b3 * a, j + 4u, params.queries) - eb);
    a4 = exp2(existing(a4 * a, j, params.queries) - ea); b4 = exp2(existing(b4 * a, j + 4u, params.queries) - eb);
    a5 = exp2(existing(a5 * a, j, params.queries) - ea); b5 = exp2(existing(b5 * a, j + 4u, params.queries) - eb);
    a6 = exp2(existing(a6 * a, j, params.queries) - ea); b6 = exp2(existing(b6 * a, j + 4u, params.queries) - eb);
    a7 = exp2(existing(a7 * a, j, params.queries) - ea); b7 = exp2(existing(b7 * a, j + 4u, params.queries) - eb);
    f0 = params.scale * a0 * (f0 - da); g0 = params.scale * b0 * (g0 - db);
    f1 = params.scale * a1 * (f1 - da); g1 = params.scale * b1 * (g1 - db);
    f2 = params.scale * a2 * (f2 - da); g2 = params.scale * b2 * (g2 - db);
    f3 = params.scale * a3 * (f3 - da); g3 = params.scale * b3 * (g3 - db);
    f4 = params.scale * a4 * (f4 - da); g4 = params.scale * b4 * (g4 - db);
    f5 = params.scale * a5 * (f5 - da); g5 = params.scale * b5 * (g5 - db);
    f6 = params.scale * a6 * (f6 - da); g6 = params.scale * b6 * (g6 - db);
    f7 = params.scale * a7 * (f7 - da); g7 = params.scale * b7 * (g7 - db);
    for (var c = 0u; c < params.width; c++) {
      let qa = q_of(ra, c);
      let qb = q_of(rb, c);
      let ga = dy_of(ra, c);
      let gb = dy_of(rb, c);
      if (first < params.keys) {
        dkv[k0 + c] = real(weighted(f32(dkv[k0 + c]), f0, qa, g0, qb));
        dkv[values() + k0 + c] = real(weighted(f32(dkv[values() + k0 + c]), a0, ga, b0, gb));
      }
      if (first + 1u < params.keys) {
        dkv[k1 + c] = real(weighted(f32(dkv[k1 + c]), f1, qa, g1, qb));
        dkv[values() + k1 + c] = real(weighted(f32(dkv[values() + k1 + c]), a1, ga, b1, gb));
      }
      if (first + 2u < params.keys) {
        dkv[k2 + c] = real(weighted(f32(dkv[k2 + c]), f2, qa, g2, qb));
        dkv[values() + k2 + c] = real(weighted(f32(dkv[values() + k2 + c]), a2, ga, b2, gb));
      }
      if (first + 3u < params.keys) {
        dkv[k3 + c] = real(weighted(f32(dkv[k3 + c]), f3, qa, g3, qb));
        dkv[values() + k3 + c] = real(weighted(f32(dkv[values() + k3 + c]), a3, ga, b3, gb));
      }
      if (first + 4u < params.keys) {
        dkv[k4 + c] = real(weighted(f32(dkv[k4 + c]), f4, qa, g4, qb));
        dkv[values() + k4 + c] = real(weighted(f32(dkv[values() + k4 + c]), a4, ga, b4, gb));
      }
      if (first + 5u < params.keys) {
        dkv[k5 + c] = real(weighted(f32(dkv[k5 + c]), f5, qa, g5, qb));
        dkv[values() + k5 + c] = real(weighted(f32(dkv[values() + k5 + c]), a5, ga, b5, gb));
      }
      if (first + 6u < params.keys) {
        dkv[k6 + c] = real(weighted(f32(dkv[k6 + c]), f6, qa, g6, qb));
        dkv[values() + k6 + c] = real(weighted(f32(dkv[values() + k6 + c]), a6, ga, b6, gb));
      }
      if (first + 7u < params.keys) {
        dkv[k7 + c] = real(weighted(f32(dkv[k7 + c]), f7, qa, g7, qb));
        dkv[values() + k7 + c] = real(weighted(f32(dkv[values() + k7 + c]), a7, ga, b7, gb));
      }
    }
  }
}
