// Part of conv2d_registers.wgsl and conv2d_subgroups.wgsl: how the gradient by the weights walks along the weights' rows. Outputs are a multiple of four and
// held in quads. Beside conv2d_geometry.wgsl, conv2d_finish.wgsl, and conv2d_channel_loads.wgsl or conv2d_quad_loads.wgsl.

alias stored = real4;
alias floats = vec4<f32>;
const WIDTH: u32 = 4u;

// Row j of the weights of one row of taps is channel j % inputs at column tap j / inputs: neighbours in x and in dw alike. A
// pixel has rows [low, high) inside the image; base is where row 0 would lie in x.
struct Rows {
  base: i32,
  low: i32,
  high: i32,
}

fn rows_at(g: Geometry, p: Position, t: i32) -> Rows {
  let inputs = i32(params.inputs);
  let r = p.u * g.rows.x_step + g.rows.x_start + t * g.rows.x_tap;
  let c = p.v * g.cols.x_step + g.cols.x_start;
  let low = -c * inputs;
  let high = select(low, min(low + g.cols.x_size * inputs, g.cols.taps * inputs), (r >= 0) & (r < g.rows.x_size));
  return Rows(((p.b * g.rows.x_size + r) * g.cols.x_size + c) * inputs, low, high);
}

// weight_row is where row j of tap row t lies in dw, in rows.
fn weight_row(g: Geometry, part: i32, t: i32, j: i32) -> i32 {
  let tap = part * g.rows.w_size * g.cols.w_size + weight_at(g, t, 0, vec2<i32>());
  return tap * i32(params.inputs) + j;
}
