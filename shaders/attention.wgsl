// Scaled dot-product attention (Vaswani et al. 2017) of every head h on its own D channels.
//
//   q (B, N, H D)   k, v (B, L, H D)   y (B, N, H D)   p[n, l] = softmax_l(scale q[n]·k[l])   y[n] = Σ_l p[n, l] v[l]
//   lse (B, N, H) = log2 Σ_l exp(scale q[n]·k[l]), so that p = exp2(scale log2(e) q·k - lse)
//   delta (B, N, H) = dy[n]·y[n]     ds[n, l] = p (dy[n]·v[l] - delta[n])
//   dq[n] += scale Σ_l ds k[l]     dk[l] += scale Σ_n ds q[n]     dv[l] += Σ_n p dy[n]
//
// Scores are never stored: the forward keeps a running maximum and sum (online softmax, Milakov & Gimelshein 2018), the
// backward computes them again (Dao et al. 2022). This file is for CPU adapters: an invocation holds one query (dk, dv: one
// key) in registers and visits the others four at a time; their addresses depend on the workgroup and the loop only, so that
// they are loaded once for all lanes. D is any number up to 64; the lines beyond it vanish when D is known.

const SIZE: u32 = 32u;
const D: u32 = 64u; // channels of a head
const LOG2E: f32 = 1.44269504;
const LOWEST: f32 = -1e30; // the score of a key that does not exist

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
// delta's own
@group(0) @binding(1) var<storage, read> result: array<f32>; // y
@group(0) @binding(2) var<storage, read> dresult: array<f32>; // dy
@group(0) @binding(3) var<storage, read_write> delta_out: array<f32>;

// Channels c to c + 3 of a row; past D the last channel again.
fn load_q(row: u32, c: u32) -> vec4<f32> {
  return vec4<f32>(q[row + min(c, D - 1u)], q[row + min(c + 1u, D - 1u)], q[row + min(c + 2u, D - 1u)], q[row + min(c + 3u, D - 1u)]);
}

fn load_k(row: u32, c: u32) -> vec4<f32> {
  return vec4<f32>(k[row + min(c, D - 1u)], k[row + min(c + 1u, D - 1u)], k[row + min(c + 2u, D - 1u)], k[row + min(c + 3u, D - 1u)]);
}

fn load_v(row: u32, c: u32) -> vec4<f32> {
  return vec4<f32>(v[row + min(c, D - 1u)], v[row + min(c + 1u, D - 1u)], v[row + min(c + 2u, D - 1u)], v[row + min(c + 3u, D - 1u)]);
}

fn load_dy(row: u32, c: u32) -> vec4<f32> {
  return vec4<f32>(dy[row + min(c, D - 1u)], dy[row + min(c + 1u, D - 1u)], dy[row + min(c + 2u, D - 1u)], dy[row + min(c + 3u, D - 1u)]);
}

// x with zeros past channel D
fn inside(x: vec4<f32>, c: u32) -> vec4<f32> {
  return select(vec4<f32>(0.0), x, vec4<u32>(c, c + 1u, c + 2u, c + 3u) < vec4<u32>(D));
}

// Dot products, and weighted sums, of four rows' channels c to c + 3.
fn q_dots(x: vec4<f32>, rows: vec4<u32>, c: u32) -> vec4<f32> {
  return vec4<f32>(dot(x, load_q(rows.x, c)), dot(x, load_q(rows.y, c)), dot(x, load_q(rows.z, c)), dot(x, load_q(rows.w, c)));
}

fn k_dots(x: vec4<f32>, rows: vec4<u32>, c: u32) -> vec4<f32> {
  return vec4<f32>(dot(x, load_k(rows.x, c)), dot(x, load_k(rows.y, c)), dot(x, load_k(rows.z, c)), dot(x, load_k(rows.w, c)));
}

fn v_dots(x: vec4<f32>, rows: vec4<u32>, c: u32) -> vec4<f32> {
  return vec4<f32>(dot(x, load_v(rows.x, c)), dot(x, load_v(rows.y, c)), dot(x, load_v(rows.z, c)), dot(x, load_v(rows.w, c)));
}

fn dy_dots(x: vec4<f32>, rows: vec4<u32>, c: u32) -> vec4<f32> {
  return vec4<f32>(dot(x, load_dy(rows.x, c)), dot(x, load_dy(rows.y, c)), dot(x, load_dy(rows.z, c)), dot(x, load_dy(rows.w, c)));
}

fn q_sum(p: vec4<f32>, rows: vec4<u32>, c: u32) -> vec4<f32> {
  return p.x * load_q(rows.x, c) + p.y * load_q(rows.y, c) + p.z * load_q(rows.z, c) + p.w * load_q(rows.w, c);
}

fn k_sum(p: vec4<f32>, rows: vec4<u32>, c: u32) -> vec4<f32> {
  return p.x * load_k(rows.x, c) + p.y * load_k(rows.y, c) + p.z * load_k(rows.z, c) + p.w * load_k(rows.w, c);
}

fn v_sum(p: vec4<f32>, rows: vec4<u32>, c: u32) -> vec4<f32> {
  return p.x * load_v(rows.x, c) + p.y * load_v(rows.y, c) + p.z * load_v(rows.z, c) + p.w * load_v(rows.w, c);
}

fn dy_sum(p: vec4<f32>, rows: vec4<u32>, c: u32) -> vec4<f32> {
  return p.x * load_dy(rows.x, c) + p.y * load_dy(rows.y, c) + p.z * load_dy(rows.z, c) + p.w * load_dy(rows.w, c);
}

// four indices from j on, none past the last of n
fn four(j: u32, n: u32) -> vec4<u32> {
  return min(vec4<u32>(j, j + 1u, j + 2u, j + 3u), vec4<u32>(n - 1u));
}

// the scores, with LOWEST for those from the n-th on
fn existing(s: vec4<f32>, j: u32, n: u32) -> vec4<f32> {
  return select(vec4<f32>(LOWEST), s, vec4<u32>(j, j + 1u, j + 2u, j + 3u) < vec4<u32>(n));
}

fn store_y(row: u32, c: u32, x: vec4<f32>) {
  y[row + c] = x.x;
  if (c + 1u < D) { y[row + c + 1u] = x.y; }
  if (c + 2u < D) { y[row + c + 2u] = x.z; }
  if (c + 3u < D) { y[row + c + 3u] = x.w; }
}

fn store_dq(row: u32, c: u32, x: vec4<f32>) {
  dq[row + c] += x.x;
  if (c + 1u < D) { dq[row + c + 1u] += x.y; }
  if (c + 2u < D) { dq[row + c + 2u] += x.z; }
  if (c + 3u < D) { dq[row + c + 3u] += x.w; }
}

fn store_dk(row: u32, c: u32, x: vec4<f32>) {
  dk[row + c] += x.x;
  if (c + 1u < D) { dk[row + c + 1u] += x.y; }
  if (c + 2u < D) { dk[row + c + 2u] += x.z; }
  if (c + 3u < D) { dk[row + c + 3u] += x.w; }
}

fn store_dv(row: u32, c: u32, x: vec4<f32>) {
  dv[row + c] += x.x;
  if (c + 1u < D) { dv[row + c + 1u] += x.y; }
  if (c + 2u < D) { dv[row + c + 2u] += x.z; }
  if (c + 3u < D) { dv[row + c + 3u] += x.w; }
}

@compute @workgroup_size(SIZE)
fn attention_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = group.x * SIZE + local;
  let query = group.z * params.queries + min(i, params.queries - 1u);
  let stride = params.heads * D;
  let row = query * stride + group.y * D;
  let head = group.z * params.keys * stride + group.y * D;
  let a = params.scale * LOG2E;
  let q0 = inside(load_q(row, 0u), 0u) * a; let q1 = inside(load_q(row, 4u), 4u) * a;
  let q2 = inside(load_q(row, 8u), 8u) * a; let q3 = inside(load_q(row, 12u), 12u) * a;
  let q4 = inside(load_q(row, 16u), 16u) * a; let q5 = inside(load_q(row, 20u), 20u) * a;
  let q6 = inside(load_q(row, 24u), 24u) * a; let q7 = inside(load_q(row, 28u), 28u) * a;
  let q8 = inside(load_q(row, 32u), 32u) * a; let q9 = inside(load_q(row, 36u), 36u) * a;
  let q10 = inside(load_q(row, 40u), 40u) * a; let q11 = inside(load_q(row, 44u), 44u) * a;
  let q12 = inside(load_q(row, 48u), 48u) * a; let q13 = inside(load_q(row, 52u), 52u) * a;
  let q14 = inside(load_q(row, 56u), 56u) * a; let q15 = inside(load_q(row, 60u), 60u) * a;
  var y0 = vec4<f32>(0.0); var y1 = vec4<f32>(0.0); var y2 = vec4<f32>(0.0); var y3 = vec4<f32>(0.0);
  var y4 = vec4<f32>(0.0); var y5 = vec4<f32>(0.0); var y6 = vec4<f32>(0.0); var y7 = vec4<f32>(0.0);
  var y8 = vec4<f32>(0.0); var y9 = vec4<f32>(0.0); var y10 = vec4<f32>(0.0); var y11 = vec4<f32>(0.0);
  var y12 = vec4<f32>(0.0); var y13 = vec4<f32>(0.0); var y14 = vec4<f32>(0.0); var y15 = vec4<f32>(0.0);
  var highest = LOWEST;
  var total = 0.0;
  for (var j = 0u; j < params.keys; j += 4u) {
    let rows = head + four(j, params.keys) * stride;
    var s = k_dots(q0, rows, 0u);
    if (D > 4u) { s += k_dots(q1, rows, 4u); } if (D > 8u) { s += k_dots(q2, rows, 8u); }
    if (D > 12u) { s += k_dots(q3, rows, 12u); } if (D > 16u) { s += k_dots(q4, rows, 16u); }
    if (D > 20u) { s += k_dots(q5, rows, 20u); } if (D > 24u) { s += k_dots(q6, rows, 24u); }
    if (D > 28u) { s += k_dots(q7, rows, 28u); } if (D > 32u) { s += k_dots(q8, rows, 32u); }
    if (D > 36u) { s += k_dots(q9, rows, 36u); } if (D > 40u) { s += k_dots(q10, rows, 40u); }
    if (D > 44u) { s += k_dots(q11, rows, 44u); } if (D > 48u) { s += k_dots(q12, rows, 48u); }
    if (D > 52u) { s += k_dots(q13, rows, 52u); } if (D > 56u) { s += k_dots(q14, rows, 56u); }
    if (D > 60u) { s += k_dots(q15, rows, 60u); }
    s = existing(s, j, params.keys);
    let higher = max(highest, max(max(s.x, s.y), max(s.z, s.w)));
    let decay = exp2(highest - higher);
    let p = exp2(s - higher);
    highest = higher;
    total = total * decay + (p.x + p.y) + (p.z + p.w);
    y0 = y0 * decay + v_sum(p, rows, 0u);
    if (D > 4u) { y1 = y1 * decay + v_sum(p, rows, 4u); } if (D > 8u) { y2 = y2 * decay + v_sum(p, rows, 8u); }
    if (D > 12u) { y3 = y3 * decay + v_sum(p, rows, 12u); } if (D > 16u) { y4 = y4 * decay + v_sum(p, rows, 16u); }
    if (D > 20u) { y5 = y5 * decay + v_sum(p, rows, 20u); } if (D > 24u) { y6 = y6 * decay + v_sum(p, rows, 24u); }
    if (D > 28u) { y7 = y7 * decay + v_sum(p, rows, 28u); } if (D > 32u) { y8 = y8 * decay + v_sum(p, rows, 32u); }
    if (D > 36u) { y9 = y9 * decay + v_sum(p, rows, 36u); } if (D > 40u) { y10 = y10 * decay + v_sum(p, rows, 40u); }
    if (D > 44u) { y11 = y11 * decay + v_sum(p, rows, 44u); } if (D > 48u) { y12 = y12 * decay + v_sum(p, rows, 48u); }
    if (D > 52u) { y13 = y13 * decay + v_sum(p, rows, 52u); } if (D > 56u) { y14 = y14 * decay + v_sum(p, rows, 56u); }
    if (D > 60u) { y15 = y15 * decay + v_sum(p, rows, 60u); }
  }
  if (i >= params.queries) { return; }
  lse_out[query * params.heads + group.y] = highest + log2(total);
  store_y(row, 0u, y0 / total);
  if (D > 4u) { store_y(row, 4u, y1 / total); } if (D > 8u) { store_y(row, 8u, y2 / total); }
  if (D > 12u) { store_y(row, 12u, y3 / total); } if (D > 16u) { store_y(row, 16u, y4 / total); }
  if (D > 20u) { store_y(row, 20u, y5 / total); } if (D > 24u) { store_y(row, 24u, y6 / total); }
  if (D > 28u) { store_y(row, 28u, y7 / total); } if (D > 32u) { store_y(row, 32u, y8 / total); }
  if (D > 36u) { store_y(row, 36u, y9 / total); } if (D > 40u) { store_y(row, 40u, y10 / total); }
  if (D > 44u) { store_y(row, 44u, y11 / total); } if (D > 48u) { store_y(row, 48u, y12 / total); }
  if (D > 52u) { store_y(row, 52u, y13 / total); } if (D > 56u) { store_y(row, 56u, y14 / total); }
  if (D > 60u) { store_y(row, 60u, y15 / total); }
}

@compute @workgroup_size(SIZE)
fn attention_delta(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                   @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.batch * params.queries * params.heads) { return; }
  var sum = 0.0;
  for (var c = i * D; c < (i + 1u) * D; c++) { sum += result[c] * dresult[c]; }
  delta_out[i] = sum;
}

@compute @workgroup_size(SIZE)
fn attention_backward_q(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = group.x * SIZE + local;
  let query = group.z * params.queries + min(i, params.queries - 1u);
  let stride = params.heads * D;
  let row = query * stride + group.y * D;
  let head = group.z * params.keys * stride + group.y * D;
  let a = params.scale * LOG2E;
  let own_lse = lse[query * params.heads + group.y];
  let own_delta = delta[query * params.heads + group.y];
  let q0 = inside(load_q(row, 0u), 0u) * a; let q1 = inside(load_q(row, 4u), 4u) * a;
  let q2 = inside(load_q(row, 8u), 8u) * a; let q3 = inside(load_q(row, 12u), 12u) * a;
  let q4 = inside(load_q(row, 16u), 16u) * a; let q5 = inside(load_q(row, 20u), 20u) * a;
  let q6 = inside(load_q(row, 24u), 24u) * a; let q7 = inside(load_q(row, 28u), 28u) * a;
  let q8 = inside(load_q(row, 32u), 32u) * a; let q9 = inside(load_q(row, 36u), 36u) * a;
  let q10 = inside(load_q(row, 40u), 40u) * a; let q11 = inside(load_q(row, 44u), 44u) * a;
  let q12 = inside(load_q(row, 48u), 48u) * a; let q13 = inside(load_q(row, 52u), 52u) * a;
  let q14 = inside(load_q(row, 56u), 56u) * a; let q15 = inside(load_q(row, 60u), 60u) * a;
  let g0 = inside(load_dy(row, 0u), 0u); let g1 = inside(load_dy(row, 4u), 4u);
  let g2 = inside(load_dy(row, 8u), 8u); let g3 = inside(load_dy(row, 12u), 12u);
  let g4 = inside(load_dy(row, 16u), 16u); let g5 = inside(load_dy(row, 20u), 20u);
  let g6 = inside(load_dy(row, 24u), 24u); let g7 = inside(load_dy(row, 28u), 28u);
  let g8 = inside(load_dy(row, 32u), 32u); let g9 = inside(load_dy(row, 36u), 36u);
  let g10 = inside(load_dy(row, 40u), 40u); let g11 = inside(load_dy(row, 44u), 44u);
  let g12 = inside(load_dy(row, 48u), 48u); let g13 = inside(load_dy(row, 52u), 52u);
  let g14 = inside(load_dy(row, 56u), 56u); let g15 = inside(load_dy(row, 60u), 60u);
  var d0 = vec4<f32>(0.0); var d1 = vec4<f32>(0.0); var d2 = vec4<f32>(0.0); var d3 = vec4<f32>(0.0);
  var d4 = vec4<f32>(0.0); var d5 = vec4<f32>(0.0); var d6 = vec4<f32>(0.0); var d7 = vec4<f32>(0.0);
  var d8 = vec4<f32>(0.0); var d9 = vec4<f32>(0.0); var d10 = vec4<f32>(0.0); var d11 = vec4<f32>(0.0);
  var d12 = vec4<f32>(0.0); var d13 = vec4<f32>(0.0); var d14 = vec4<f32>(0.0); var d15 = vec4<f32>(0.0);
  for (var j = 0u; j < params.keys; j += 4u) {
    let rows = head + four(j, params.keys) * stride;
    var s = k_dots(q0, rows, 0u);
    var dp = v_dots(g0, rows, 0u);
    if (D > 4u) { s += k_dots(q1, rows, 4u); dp += v_dots(g1, rows, 4u); }
    if (D > 8u) { s += k_dots(q2, rows, 8u); dp += v_dots(g2, rows, 8u); }
    if (D > 12u) { s += k_dots(q3, rows, 12u); dp += v_dots(g3, rows, 12u); }
    if (D > 16u) { s += k_dots(q4, rows, 16u); dp += v_dots(g4, rows, 16u); }
    if (D > 20u) { s += k_dots(q5, rows, 20u); dp += v_dots(g5, rows, 20u); }
    if (D > 24u) { s += k_dots(q6, rows, 24u); dp += v_dots(g6, rows, 24u); }
    if (D > 28u) { s += k_dots(q7, rows, 28u); dp += v_dots(g7, rows, 28u); }
    if (D > 32u) { s += k_dots(q8, rows, 32u); dp += v_dots(g8, rows, 32u); }
    if (D > 36u) { s += k_dots(q9, rows, 36u); dp += v_dots(g9, rows, 36u); }
    if (D > 40u) { s += k_dots(q10, rows, 40u); dp += v_dots(g10, rows, 40u); }
    if (D > 44u) { s += k_dots(q11, rows, 44u); dp += v_dots(g11, rows, 44u); }
    if (D > 48u) { s += k_dots(q12, rows, 48u); dp += v_dots(g12, rows, 48u); }
    if (D > 52u) { s += k_dots(q13, rows, 52u); dp += v_dots(g13, rows, 52u); }
    if (D > 56u) { s += k_dots(q14, rows, 56u); dp += v_dots(g14, rows, 56u); }
    if (D > 60u) { s += k_dots(q15, rows, 60u); dp += v_dots(g15, rows, 60u); }
    let ds = exp2(existing(s, j, params.keys) - own_lse) * (dp - own_delta);
    d0 += k_sum(ds, rows, 0u);
    if (D > 4u) { d1 += k_sum(ds, rows, 4u); } if (D > 8u) { d2 += k_sum(ds, rows, 8u); }
    if (D > 12u) { d3 += k_sum(ds, rows, 12u); } if (D > 16u) { d4 += k_sum(ds, rows, 16u); }
    if (D > 20u) { d5 += k_sum(ds, rows, 20u); } if (D > 24u) { d6 += k_sum(ds, rows, 24u); }
    if (D > 28u) { d7 += k_sum(ds, rows, 28u); } if (D > 32u) { d8 += k_sum(ds, rows, 32u); }
    if (D > 36u) { d9 += k_sum(ds, rows, 36u); } if (D > 40u) { d10 += k_sum(ds, rows, 40u); }
    if (D > 44u) { d11 += k_sum(ds, rows, 44u); } if (D > 48u) { d12 += k_sum(ds, rows, 48u); }
    if (D > 52u) { d13 += k_sum(ds, rows, 52u); } if (D > 56u) { d14 += k_sum(ds, rows, 56u); }
    if (D > 60u) { d15 += k_sum(ds, rows, 60u); }
  }
  if (i >= params.queries) { return; }
  store_dq(row, 0u, d0 * params.scale);
  if (D > 4u) { store_dq(row, 4u, d1 * params.scale); } if (D > 8u) { store_dq(row, 8u, d2 * params.scale); }
  if (D > 12u) { store_dq(row, 12u, d3 * params.scale); } if (D > 16u) { store_dq(row, 16u, d4 * params.scale); }
  if (D > 20u) { store_dq(row, 20u, d5 * params.scale); } if (D > 24u) { store_dq(row, 24u, d6 * params.scale); }
  if (D > 28u) { store_dq(row, 28u, d7 * params.scale); } if (D > 32u) { store_dq(row, 32u, d8 * params.scale); }
  if (D > 36u) { store_dq(row, 36u, d9 * params.scale); } if (D > 40u) { store_dq(row, 40u, d10 * params.scale); }
  if (D > 44u) { store_dq(row, 44u, d11 * params.scale); } if (D > 48u) { store_dq(row, 48u, d12 * params.scale); }
  if (D > 52u) { store_dq(row, 52u, d13 * params.scale); } if (D > 56u) { store_dq(row, 56u, d14 * params.scale); }
  if (D > 60u) { store_dq(row, 60u, d15 * params.scale); }
}

@compute @workgroup_size(SIZE)
fn attention_backward_kv(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = group.x * SIZE + local;
  let key = group.z * params.keys + min(i, params.keys - 1u);
  let stride = params.heads * D;
  let row = key * stride + group.y * D;
  let a = params.scale * LOG2E;
  let k0 = inside(load_k(row, 0u), 0u) * a; let k1 = inside(load_k(row, 4u), 4u) * a;
  let k2 = inside(load_k(row, 8u), 8u) * a; let k3 = inside(load_k(row, 12u), 12u) * a;
  let k4 = inside(load_k(row, 16u), 16u) * a; let k5 = inside(load_k(row, 20u), 20u) * a;
  let k6 = inside(load_k(row, 24u), 24u) * a; let k7 = inside(load_k(row, 28u), 28u) * a;
  let k8 = inside(load_k(row, 32u), 32u) * a; let k9 = inside(load_k(row, 36u), 36u) * a;
  let k10 = inside(load_k(row, 40u), 40u) * a; let k11 = inside(load_k(row, 44u), 44u) * a;
  let k12 = inside(load_k(row, 48u), 48u) * a; let k13 = inside(load_k(row, 52u), 52u) * a;
  let k14 = inside(load_k(row, 56u), 56u) * a; let k15 = inside(load_k(row, 60u), 60u) * a;
  let v0 = inside(load_v(row, 0u), 0u); let v1 = inside(load_v(row, 4u), 4u);
  let v2 = inside(load_v(row, 8u), 8u); let v3 = inside(load_v(row, 12u), 12u);
  let v4 = inside(load_v(row, 16u), 16u); let v5 = inside(load_v(row, 20u), 20u);
  let v6 = inside(load_v(row, 24u), 24u); let v7 = inside(load_v(row, 28u), 28u);
  let v8 = inside(load_v(row, 32u), 32u); let v9 = inside(load_v(row, 36u), 36u);
  let v10 = inside(load_v(row, 40u), 40u); let v11 = inside(load_v(row, 44u), 44u);
  let v12 = inside(load_v(row, 48u), 48u); let v13 = inside(load_v(row, 52u), 52u);
  let v14 = inside(load_v(row, 56u), 56u); let v15 = inside(load_v(row, 60u), 60u);
  var dk0 = vec4<f32>(0.0); var dk1 = vec4<f32>(0.0); var dk2 = vec4<f32>(0.0); var dk3 = vec4<f32>(0.0);
  var dk4 = vec4<f32>(0.0); var dk5 = vec4<f32>(0.0); var dk6 = vec4<f32>(0.0); var dk7 = vec4<f32>(0.0);
  var dk8 = vec4<f32>(0.0); var dk9 = vec4<f32>(0.0); var dk10 = vec4<f32>(0.0); var dk11 = vec4<f32>(0.0);
  var dk12 = vec4<f32>(0.0); var dk13 = vec4<f32>(0.0); var dk14 = vec4<f32>(0.0); var dk15 = vec4<f32>(0.0);
  var dv0 = vec4<f32>(0.0); var dv1 = vec4<f32>(0.0); var dv2 = vec4<f32>(0.0); var dv3 = vec4<f32>(0.0);
  var dv4 = vec4<f32>(0.0); var dv5 = vec4<f32>(0.0); var dv6 = vec4<f32>(0.0); var dv7 = vec4<f32>(0.0);
  var dv8 = vec4<f32>(0.0); var dv9 = vec4<f32>(0.0); var dv10 = vec4<f32>(0.0); var dv11 = vec4<f32>(0.0);
  var dv12 = vec4<f32>(0.0); var dv13 = vec4<f32>(0.0); var dv14 = vec4<f32>(0.0); var dv15 = vec4<f32>(0.0);
  for (var j = 0u; j < params.queries; j += 4u) {
    let index = (group.z * params.queries + four(j, params.queries)) * params.heads + group.y;
    let rows = index * D;
    let lses = vec4<f32>(lse[index.x], lse[index.y], lse[index.z], lse[index.w]);
    let deltas = vec4<f32>(delta[index.x], delta[index.y], delta[index.z], delta[index.w]);
    var s = q_dots(k0, rows, 0u);
    var dp = dy_dots(v0, rows, 0u);
    if (D > 4u) { s += q_dots(k1, rows, 4u); dp += dy_dots(v1, rows, 4u); }
    if (D > 8u) { s += q_dots(k2, rows, 8u); dp += dy_dots(v2, rows, 8u); }
    if (D > 12u) { s += q_dots(k3, rows, 12u); dp += dy_dots(v3, rows, 12u); }
    if (D > 16u) { s += q_dots(k4, rows, 16u); dp += dy_dots(v4, rows, 16u); }
    if (D > 20u) { s += q_dots(k5, rows, 20u); dp += dy_dots(v5, rows, 20u); }
    if (D > 24u) { s += q_dots(k6, rows, 24u); dp += dy_dots(v6, rows, 24u); }
    if (D > 28u) { s += q_dots(k7, rows, 28u); dp += dy_dots(v7, rows, 28u); }
    if (D > 32u) { s += q_dots(k8, rows, 32u); dp += dy_dots(v8, rows, 32u); }
    if (D > 36u) { s += q_dots(k9, rows, 36u); dp += dy_dots(v9, rows, 36u); }
    if (D > 40u) { s += q_dots(k10, rows, 40u); dp += dy_dots(v10, rows, 40u); }
    if (D > 44u) { s += q_dots(k11, rows, 44u); dp += dy_dots(v11, rows, 44u); }
    if (D > 48u) { s += q_dots(k12, rows, 48u); dp += dy_dots(v12, rows, 48u); }
    if (D > 52u) { s += q_dots(k13, rows, 52u); dp += dy_dots(v13, rows, 52u); }
    if (D > 56u) { s += q_dots(k14, rows, 56u); dp += dy_dots(v14, rows, 56u); }
    if (D > 60u) { s += q_dots(k15, rows, 60u); dp += dy_dots(v15, rows, 60u); }
    let p = exp2(existing(s, j, params.queries) - lses);
    let ds = p * (dp - deltas);
    dk0 += q_sum(ds, rows, 0u); dv0 += dy_sum(p, rows, 0u);
    if (D > 4u) { dk1 += q_sum(ds, rows, 4u); dv1 += dy_sum(p, rows, 4u); }
    if (D > 8u) { dk2 += q_sum(ds, rows, 8u); dv2 += dy_sum(p, rows, 8u); }
    if (D > 12u) { dk3 += q_sum(ds, rows, 12u); dv3 += dy_sum(p, rows, 12u); }
    if (D > 16u) { dk4 += q_sum(ds, rows, 16u); dv4 += dy_sum(p, rows, 16u); }
    if (D > 20u) { dk5 += q_sum(ds, rows, 20u); dv5 += dy_sum(p, rows, 20u); }
    if (D > 24u) { dk6 += q_sum(ds, rows, 24u); dv6 += dy_sum(p, rows, 24u); }
    if (D > 28u) { dk7 += q_sum(ds, rows, 28u); dv7 += dy_sum(p, rows, 28u); }
    if (D > 32u) { dk8 += q_sum(ds, rows, 32u); dv8 += dy_sum(p, rows, 32u); }
    if (D > 36u) { dk9 += q_sum(ds, rows, 36u); dv9 += dy_sum(p, rows, 36u); }
    if (D > 40u) { dk10 += q_sum(ds, rows, 40u); dv10 += dy_sum(p, rows, 40u); }
    if (D > 44u) { dk11 += q_sum(ds, rows, 44u); dv11 += dy_sum(p, rows, 44u); }
    if (D > 48u) { dk12 += q_sum(ds, rows, 48u); dv12 += dy_sum(p, rows, 48u); }
    if (D > 52u) { dk13 += q_sum(ds, rows, 52u); dv13 += dy_sum(p, rows, 52u); }
    if (D > 56u) { dk14 += q_sum(ds, rows, 56u); dv14 += dy_sum(p, rows, 56u); }
    if (D > 60u) { dk15 += q_sum(ds, rows, 60u); dv15 += dy_sum(p, rows, 60u); }
  }
  if (i >= params.keys) { return; }
  store_dk(row, 0u, dk0 * params.scale);
  if (D > 4u) { store_dk(row, 4u, dk1 * params.scale); } if (D > 8u) { store_dk(row, 8u, dk2 * params.scale); }
  if (D > 12u) { store_dk(row, 12u, dk3 * params.scale); } if (D > 16u) { store_dk(row, 16u, dk4 * params.scale); }
  if (D > 20u) { store_dk(row, 20u, dk5 * params.scale); } if (D > 24u) { store_dk(row, 24u, dk6 * params.scale); }
  if (D > 28u) { store_dk(row, 28u, dk7 * params.scale); } if (D > 32u) { store_dk(row, 32u, dk8 * params.scale); }
  if (D > 36u) { store_dk(row, 36u, dk9 * params.scale); } if (D > 40u) { store_dk(row, 40u, dk10 * params.scale); }
  if (D > 44u) { store_dk(row, 44u, dk11 * params.scale); } if (D > 48u) { store_dk(row, 48u, dk12 * params.scale); }
  if (D > 52u) { store_dk(row, 52u, dk13 * params.scale); } if (D > 56u) { store_dk(row, 56u, dk14 * params.scale); }
  if (D > 60u) { store_dk(row, 60u, dk15 * params.scale); }
  store_dv(row, 0u, dv0);
  if (D > 4u) { store_dv(row, 4u, dv1); } if (D > 8u) { store_dv(row, 8u, dv2); }
  if (D > 12u) { store_dv(row, 12u, dv3); } if (D > 16u) { store_dv(row, 16u, dv4); }
  if (D > 20u) { store_dv(row, 20u, dv5); } if (D > 24u) { store_dv(row, 24u, dv6); }
  if (D > 28u) { store_dv(row, 28u, dv7); } if (D > 32u) { store_dv(row, 32u, dv8); }
  if (D > 36u) { store_dv(row, 36u, dv9); } if (D > 40u) { store_dv(row, 40u, dv10); }
  if (D > 44u) { store_dv(row, 44u, dv11); } if (D > 48u) { store_dv(row, 48u, dv12); }
  if (D > 52u) { store_dv(row, 52u, dv13); } if (D > 56u) { store_dv(row, 56u, dv14); }
  if (D > 60u) { store_dv(row, 60u, dv15); }
}
