// Part of depthwise.wgsl: four channels at a time.

alias stored = real4;
alias floats = vec4<f32>;
const WIDTH: u32 = 4u;
