// Part of conv2d_subgroups.wgsl: what conv2d_channel_loads.wgsl does, for inputs in quads: on a processor that emulates a GPU a quad takes hardly
// longer to load than one number. Beside conv2d_quads.wgsl.

alias element = real4;
alias Values = vec4<f32>;
alias Weights = mat4x4<f32>; // a column for each input
const TERMS: i32 = 4;

fn load(base: i32, k: i32) -> Values {
  return select(vec4<f32>(), vec4<f32>(x[(max(base, 0) + k) / 4]), base >= 0);
}

fn load_weights(at: i32, quads: i32) -> Weights {
  return Weights(vec4<f32>(w[at]), vec4<f32>(w[at + quads]), vec4<f32>(w[at + 2 * quads]), vec4<f32>(w[at + 3 * quads]));
}

fn load_rows(rows: Rows, j: i32) -> vec4<f32> {
  let inside = (j >= rows.low) & (j < rows.high);
  return select(vec4<f32>(), vec4<f32>(x[select(0, (rows.base + j) / 4, inside)]), inside);
}
