// Part of depthwise.wgsl: one channel at a time.

alias stored = real;
alias floats = f32;
const WIDTH: u32 = 1u;
