// Part of kernels in two widths: one element at a time.

alias stored = real;
alias floats = f32;
const WIDTH: u32 = 1u;
