// Part of kernels in two widths: four elements at a time, which lie side by side.

alias stored = real4;
alias floats = vec4<f32>;
const WIDTH: u32 = 4u;
