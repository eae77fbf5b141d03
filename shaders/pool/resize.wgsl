// Bilinear resampling of images (B, H, W, C) to (B, H', W', C), half-pixel, edges clamped
// (align_corners = False).
//
//   output pixel o looks at s = clamp((2 o + 1) H / (2 H') - 1/2, 0, H - 1) with weights
//   1 - |s - i|, and along x as well
//   dx[i] += Σ_o max(0, 1 - |s(o) - i|) dy[o]
//
// Positions are kept as whole numbers of 1 / (2 H'), so that they are exact. Forward, an invocation
// has one x and all channels: computing the position costs more than the channels that share it.
// Backward, it has one x and one channel. y and z of the workgroup give the row.
//
// Header (go doc ./shaders): Invocation, real.

const SIZE: u32 = 64u;

struct Params {
  rows: i32, // B H' (forward), B H (backward)
  height: i32,
  width: i32,
  channels: i32,
  out_height: i32,
  out_width: i32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<real>; // backward: dy
@group(0) @binding(2) var<storage, read_write> y: array<real>; // backward: dx

// s(o) in units of 1 / (2 outputs)
fn position(o: i32, inputs: i32, outputs: i32) -> i32 {
  return clamp((2 * o + 1) * inputs - outputs, 0, (inputs - 1) * 2 * outputs);
}

@compute @workgroup_size(SIZE)
fn resize_forward(id: Invocation) {
  let row = i32(id.group.z * id.groups.y + id.group.y);
  let ox = i32(id.group.x * SIZE + id.local);
  if (row >= params.rows || ox >= params.out_width) { return; }
  let n = params.channels;
  let b = row / params.out_height;
  let unit_y = 2 * params.out_height;
  let unit_x = 2 * params.out_width;
  let sy = position(row - b * params.out_height, params.height, params.out_height);
  let sx = position(ox, params.width, params.out_width);
  let y0 = sy / unit_y;
  let x0 = sx / unit_x;
  let fy = f32(sy - y0 * unit_y) / f32(unit_y);
  let fx = f32(sx - x0 * unit_x) / f32(unit_x);
  let left = ((b * params.height + y0) * params.width + x0) * n;
  let right = select(0, n, x0 + 1 < params.width);
  let down = select(0, params.width * n, y0 + 1 < params.height);
  let to = (row * params.out_width + ox) * n;
  for (var c = 0; c < n; c++) {
    let at = left + c;
    let above = f32(x[at]) * (1.0 - fx) + f32(x[at + right]) * fx;
    let below = f32(x[at + down]) * (1.0 - fx) + f32(x[at + down + right]) * fx;
    y[to + c] = real(above * (1.0 - fy) + below * fy);
  }
}

// the weight of input i in output o
fn weight(o: i32, i: i32, inputs: i32, outputs: i32) -> f32 {
  let unit = 2 * outputs;
  return f32(max(0, unit - abs(position(o, inputs, outputs) - i * unit))) / f32(unit);
}

// the first and the last output that may look at input i
fn first_output(i: i32, inputs: i32, outputs: i32) -> i32 {
  return select(max(0, ((2 * i - 1) * outputs - inputs) / (2 * inputs)), 0, i == 0);
}

fn last_output(i: i32, inputs: i32, outputs: i32) -> i32 {
  return select(min(outputs - 1, ((2 * i + 3) * outputs - inputs) / (2 * inputs) + 1), outputs - 1, i == inputs - 1);
}

@compute @workgroup_size(SIZE)
fn resize_backward(id: Invocation) {
  let row = i32(id.group.z * id.groups.y + id.group.y);
  let column = i32(id.group.x * SIZE + id.local);
  let c_count = params.channels;
  if (row >= params.rows || column >= params.width * c_count) { return; }
  let b = row / params.height;
  let iy = row - b * params.height;
  let ix = column / c_count;
  let c = column - ix * c_count;
  let left = first_output(ix, params.width, params.out_width);
  let right = last_output(ix, params.width, params.out_width) + 1;
  let bottom = last_output(iy, params.height, params.out_height) + 1;
  var sum = 0.0;
  for (var oy = first_output(iy, params.height, params.out_height); oy < bottom; oy++) {
    var line = 0.0;
    let from_row = (b * params.out_height + oy) * params.out_width;
    for (var ox = left; ox < right; ox++) {
      line += weight(ox, ix, params.width, params.out_width) * f32(x[(from_row + ox) * c_count + c]);
    }
    sum += weight(oy, iy, params.height, params.out_height) * line;
  }
  y[row * params.width * c_count + column] = real(select(f32(y[row * params.width * c_count + column]), 0.0, FRESH) + sum);
}
