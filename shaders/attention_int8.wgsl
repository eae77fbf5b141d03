// Part of the attention_*.wgsl that hold channels in quads: what they load in int8, a quad a word, and store as the bits of floats. Beside
// attention_tokens.wgsl and quantize_words.wgsl.

alias stored = u32;

fn load_query(i: u32) -> vec4<f32> { return vec4<f32>(unpacked(q[i])); }
fn load_pair(i: u32) -> vec4<f32> { return vec4<f32>(unpacked(kv[i])); }
fn store_sum(_i: u32, _v: f32) {} // only gradients need it

fn store(i: u32, v: vec4<f32>) {
  let bits = bitcast<vec4<u32>>(v * params.value_step);
  y[4u * i] = bits.x;
  y[4u * i + 1u] = bits.y;
  y[4u * i + 2u] = bits.z;
  y[4u * i + 3u] = bits.w;
}
