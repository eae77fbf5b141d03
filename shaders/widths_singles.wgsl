// Part of kernels in two widths: one element at a time.

alias stored = real;
alias floats = f32;
const WIDTH: u32 = 1u;

fn lane(v: floats, i: u32) -> f32 { return v; }

// v with x in lane i.
fn with_lane(v: floats, i: u32, x: f32) -> floats { return x; }
