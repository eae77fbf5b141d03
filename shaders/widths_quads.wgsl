// Part of kernels in two widths: four elements at a time, which lie side by side.

alias stored = real4;
alias floats = vec4<f32>;
const WIDTH: u32 = 4u;

fn lane(v: floats, i: u32) -> f32 { return v[i]; }

// v with x in lane i.
fn with_lane(v: floats, i: u32, x: f32) -> floats {
  var w = v;
  w[i] = x;
  return w;
}
