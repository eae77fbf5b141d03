// Part of attention*.wgsl: their parameters and arguments, and where tokens lie. What is joined with it declares what it loads and stores at a
// time, a channel or a quad: `stored` (real, real4, or u32 for a quad of int8).

alias real = f32; // what storage holds; f16 where a plan asks for it
alias real4 = vec4<f32>; // the same, in quads
const LOG2E: f32 = 1.44269504;
const LOWEST: f32 = -1e30; // below every score

struct Params {
  batch: u32,
  queries: u32,
  keys: u32,
  heads: u32,
  width: u32, // D
  scale: f32,
  value_step: f32, // where tokens are int8: what a step of the values is worth
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<stored>;
@group(0) @binding(2) var<storage, read> kv: array<stored>;
@group(0) @binding(3) var<storage, read_write> y: array<stored>;
@group(0) @binding(4) var<storage, read_write> lse_out: array<f32>;
@group(0) @binding(3) var<storage, read> dy: array<stored>;
@group(0) @binding(4) var<storage, read> lse: array<f32>;
@group(0) @binding(5) var<storage, read> delta: array<f32>;
@group(0) @binding(6) var<storage, read_write> dq: array<stored>;
@group(0) @binding(6) var<storage, read_write> dkv: array<stored>;

// index is that of token i, of n, of image b and head h, in lse and delta, and times the elements of a token in the others; beyond the last it
// is the last.
fn index(b: u32, i: u32, n: u32, h: u32) -> u32 {
  return (b * n + min(i, n - 1u)) * params.heads + h;
}

// pair is the same for key i of kv, where an image's token has the keys of all heads, then their values.
fn pair(b: u32, i: u32, h: u32) -> u32 {
  return (b * params.keys + min(i, params.keys - 1u)) * 2u * params.heads + h;
}
