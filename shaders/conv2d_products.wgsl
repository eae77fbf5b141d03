// Part of conv2d_tiles.wgsl and conv2d_blocks.wgsl: the products of which they are sums. Beside conv2d_terms.wgsl.
//
// Where storage is of f16, forward at inference also multiplies and adds the terms of a step, eight at most, in f16, at which GPUs are up to twice as fast,
// and the steps in f32: a sum of eight is off by eight roundings of 2^-11 at most, and no error grows with the length of the contraction.

const HALF: bool = false; // real is f16, at inference

alias summed = vec4<f32>;

// row_of is the row of the weights, (taps, inputs), that belongs to channel c of element a.
fn row_of(g: Geometry, a: Term, c: i32, phase: vec2<i32>) -> i32 { return weight_of(g, a, phase) * i32(CHANNELS) + c; }

// plus is a sum and four terms more, one after the other.
fn plus(sum: vec4<f32>, x: real4, w0: real4, w1: real4, w2: real4, w3: real4) -> vec4<f32> {
  let v = vec4<f32>(x);
  return (((sum + v.x * vec4<f32>(w0)) + v.y * vec4<f32>(w1)) + v.z * vec4<f32>(w2)) + v.w * vec4<f32>(w3);
}

fn plus_half(sum: real4, x: real4, w0: real4, w1: real4, w2: real4, w3: real4) -> real4 {
  return (((sum + x.x * w0) + x.y * w1) + x.z * w2) + x.w * w3;
}
