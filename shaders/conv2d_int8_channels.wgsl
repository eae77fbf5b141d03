// Part of conv2d_int8_registers.wgsl and conv2d_int8_subgroups.wgsl: four channels at a time, unpacked.

// load is four channels, 128 added to each, which makes them 0 to 255: a processor multiplies numbers faster where one is known to have no
// sign. Outside the image they are 128, so that the sum over all taps of 128 times the weight is what is too much everywhere.
fn load(base: i32, k: i32) -> u32 {
  return select(0u, x[max(base, 0) + k], base >= 0) ^ 0x80808080u;
}

// channel c of four words or one, as load gives it, and of a quad of weights, which has its sign.
fn channel(word: u32, c: u32) -> i32 { return i32((word >> (8u * c)) & 255u); }
fn weights(words: vec4<u32>, c: u32) -> vec4<i32> { return bitcast<vec4<i32>>(words << vec4<u32>(24u - 8u * c)) >> vec4<u32>(24u); }
