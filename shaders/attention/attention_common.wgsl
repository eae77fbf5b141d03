// Shared part of attention*.wgsl: scaled dot-product attention (Vaswani et al. 2017). Every head h
// has its own D channels.
//
//   q (B, N, H D)   kv (B, L, 2 H D), k beside v   y (B, N, H D)   p[n, l] = softmax_l(scale
//     q[n]·k[l])   y[n] = Σ_l p[n, l] v[l]
//   lse (B, N, H) = log2 Σ_l exp(scale q[n]·k[l]), so that p = exp2(scale log2(e) q[n]·k[l] - lse)
//   delta (B, N, H) = dy[n]·y[n]     ds[n, l] = p (dy[n]·v[l] - delta[n])
//   dq[n] += scale Σ_l ds k[l]     dk[l] += scale Σ_n ds q[n]     dv[l] += Σ_n p dy[n]
// The kernel of dq also makes delta.
//
// Scores are never stored: the forward keeps a running maximum and sum (online softmax, Milakov &
// Gimelshein 2018), the backward computes them again (FlashAttention, Dao et al. 2022).
//
// Header: real and real4 (a number in storage and four of them: f32, vec4<f32>; of f16 in plans of
// halves), stored (the type of tokens: real; real4; u32, a quad of int8), made (the type of results
// and gradients: real; real4; vec4<f32> beside int8), floats (made to compute with: f32,
// vec4<f32>), QUADS (D / 4, where channels are in quads) and the functions loaded(v), which makes
// floats of stored, and store_sum(i, v), which writes element i of lse.

const LOG2E: f32 = 1.44269504;
const LOWEST: f32 = -1e30; // below every score

struct Params {
  batch: u32,
  queries: u32,
  keys: u32,
  heads: u32,
  width: u32, // D
  scale: f32,
  value_step: f32, // the size of a step of int8 values, or 0
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<stored>;
@group(0) @binding(2) var<storage, read> kv: array<stored>;
@group(0) @binding(3) var<storage, read_write> y: array<made>;
@group(0) @binding(4) var<storage, read_write> lse_out: array<f32>;
@group(0) @binding(3) var<storage, read> dy: array<made>;
@group(0) @binding(4) var<storage, read> lse: array<f32>;
@group(0) @binding(5) var<storage, read> delta: array<f32>;
@group(0) @binding(5) var<storage, read> result: array<made>; // y
@group(0) @binding(6) var<storage, read_write> delta_out: array<f32>;
@group(0) @binding(7) var<storage, read_write> dq: array<made>;
@group(0) @binding(6) var<storage, read_write> dkv: array<made>;

// index is the index in lse and delta of token i of the n tokens of image b and head h. Multiplied
// by the elements of a token, it is the index in q, y and their gradients. A token beyond the last
// has the index of the last.
fn index(b: u32, i: u32, n: u32, h: u32) -> u32 { return (b * n + min(i, n - 1u)) * params.heads + h; }

// pair is the index of key i in kv, in tokens of a head. A token of kv has the keys of all heads,
// then their values.
fn pair(b: u32, i: u32, h: u32) -> u32 { return (b * params.keys + min(i, params.keys - 1u)) * 2u * params.heads + h; }

fn store(i: u32, v: floats) { y[i] = made(v * select(params.value_step, 1.0, params.value_step == 0.0)); }
// add_dq and add_dkv add a part of a sum, the first or a later one.
fn add_dq(i: u32, v: floats, first: bool) { dq[i] = made(select(floats(dq[i]), floats(), FRESH && first) + v); }
fn add_dkv(i: u32, v: floats, first: bool) { dkv[i] = made(select(floats(dkv[i]), floats(), FRESH && first) + v); }
