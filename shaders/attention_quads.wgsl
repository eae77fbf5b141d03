// Part of the attention_*.wgsl that hold channels in quads. Beside attention_tokens.wgsl.

alias stored = real4;
const QUADS: u32 = 16u; // D / 4

// from a key to its value
fn values() -> u32 { return params.heads * QUADS; }

fn product(x: vec4<f32>, y: vec4<f32>) -> f32 {
  return fma(x.w, y.w, fma(x.z, y.z, fma(x.y, y.y, x.x * y.x)));
}

fn add_dq(i: u32, v: vec4<f32>) { dq[i] = real4(vec4<f32>(dq[i]) + v); }
fn add_dkv(i: u32, v: vec4<f32>) { dkv[i] = real4(vec4<f32>(dkv[i]) + v); }
