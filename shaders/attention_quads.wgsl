// Part of the attention_*.wgsl that hold channels in quads. Beside attention_tokens.wgsl, and attention_floats.wgsl or attention_int8.wgsl.

const QUADS: u32 = 16u; // D / 4

// from a key to its value
fn values() -> u32 { return params.heads * QUADS; }

fn product(x: vec4<f32>, y: vec4<f32>) -> f32 {
  return fma(x.w, y.w, fma(x.z, y.z, fma(x.y, y.y, x.x * y.x)));
}
