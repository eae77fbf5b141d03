// Pooling of images x (B, H, W, C) to y (B, H', W', C) over windows of kh × kw pixels; what lies
// outside the image is left out.
//
//   max       y[o] = max of the window;  dx[i] += Σ of dy[o] over the windows o whose first
//     maximum, row by row, is i
//   average   y[o] = Σ of the window / n(o), n its pixels inside;  dx[i] += Σ dy[o] / n(o) over the
//     windows o that hold i
//
// An invocation has one x and one channel; y and z of the workgroup give the row. max_pool_place
// writes for each window the place of its maximum, y W + x, which is exact in f32 up to 2^24
// pixels.
//
// Header (go doc ./shaders): Invocation, real.

const SIZE: u32 = 64u;

struct Params {
  rows: i32, // of the kernel's result: B H' or B H
  height: i32,
  width: i32,
  channels: i32,
  out_height: i32,
  out_width: i32,
  kernel_y: i32,
  kernel_x: i32,
  stride_y: i32,
  stride_x: i32,
  top: i32,
  left: i32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<real>;
@group(0) @binding(2) var<storage, read_write> y: array<real>;
@group(0) @binding(2) var<storage, read_write> places_out: array<f32>; // of the maxima
@group(0) @binding(1) var<storage, read> dy: array<real>;
@group(0) @binding(2) var<storage, read_write> dx: array<real>;
@group(0) @binding(2) var<storage, read> places: array<f32>; // (B, H', W', C)
@group(0) @binding(3) var<storage, read_write> dx_max: array<real>;

struct Span {
  first: i32,
  end: i32,
}

// The pixels, of n, that window o covers.
fn covered(o: i32, stride: i32, before: i32, kernel: i32, n: i32) -> Span {
  let first = o * stride - before;
  return Span(max(first, 0), min(first + kernel, n));
}

// The windows, of n, that cover pixel i.
fn covering(i: i32, stride: i32, before: i32, kernel: i32, n: i32) -> Span {
  let last = i + before;
  return Span(max(last - kernel + stride, 0) / stride, min(last / stride + 1, n));
}

struct Best {
  value: f32,
  place: i32,
}

fn best(row: i32, column: i32) -> Best {
  let b = row / params.out_height;
  let ox = column / params.channels;
  let c = column - ox * params.channels;
  let rows = covered(row - b * params.out_height, params.stride_y, params.top, params.kernel_y, params.height);
  let columns = covered(ox, params.stride_x, params.left, params.kernel_x, params.width);
  var found = Best(0.0, -1);
  let bottom = rows.end;
  let right = columns.end;
  for (var iy = rows.first; iy < bottom; iy++) {
    for (var ix = columns.first; ix < right; ix++) {
      let v = f32(x[((b * params.height + iy) * params.width + ix) * params.channels + c]);
      let nan = (bitcast<u32>(v) & 0x7fffffffu) > 0x7f800000u; // a NaN passes, as in PyTorch
      if (found.place < 0 || v > found.value || nan) { found = Best(v, iy * params.width + ix); }
    }
  }
  return found;
}

@compute @workgroup_size(SIZE)
fn max_pool_forward(id: Invocation) {
  let row = i32(id.group.z * id.groups.y + id.group.y);
  let column = i32(id.group.x * SIZE + id.local);
  let columns = params.out_width * params.channels;
  if (row >= params.rows || column >= columns) { return; }
  y[row * columns + column] = real(best(row, column).value);
}

@compute @workgroup_size(SIZE)
fn max_pool_place(id: Invocation) {
  let row = i32(id.group.z * id.groups.y + id.group.y);
  let column = i32(id.group.x * SIZE + id.local);
  let columns = params.out_width * params.channels;
  if (row >= params.rows || column >= columns) { return; }
  places_out[row * columns + column] = f32(best(row, column).place);
}

@compute @workgroup_size(SIZE)
fn max_pool_backward(id: Invocation) {
  let row = i32(id.group.z * id.groups.y + id.group.y);
  let column = i32(id.group.x * SIZE + id.local);
  if (row >= params.rows || column >= params.width * params.channels) { return; }
  let b = row / params.height;
  let iy = row - b * params.height;
  let ix = column / params.channels;
  let c = column - ix * params.channels;
  let here = f32(iy * params.width + ix);
  let rows = covering(iy, params.stride_y, params.top, params.kernel_y, params.out_height);
  let columns = covering(ix, params.stride_x, params.left, params.kernel_x, params.out_width);
  var sum = 0.0;
  let bottom = rows.end;
  let right = columns.end;
  for (var oy = rows.first; oy < bottom; oy++) {
    for (var ox = columns.first; ox < right; ox++) {
      let o = ((b * params.out_height + oy) * params.out_width + ox) * params.channels + c;
      sum += select(0.0, f32(dy[o]), places[o] == here);
    }
  }
  let at = row * params.width * params.channels + column;
  dx_max[at] = real(select(f32(dx_max[at]), 0.0, FRESH) + sum);
}

@compute @workgroup_size(SIZE)
fn average_pool_forward(id: Invocation) {
  let row = i32(id.group.z * id.groups.y + id.group.y);
  let column = i32(id.group.x * SIZE + id.local);
  if (row >= params.rows || column >= params.out_width * params.channels) { return; }
  let b = row / params.out_height;
  let ox = column / params.channels;
  let c = column - ox * params.channels;
  let rows = covered(row - b * params.out_height, params.stride_y, params.top, params.kernel_y, params.height);
  let columns = covered(ox, params.stride_x, params.left, params.kernel_x, params.width);
  var sum = 0.0;
  let bottom = rows.end;
  let right = columns.end;
  for (var iy = rows.first; iy < bottom; iy++) {
    for (var ix = columns.first; ix < right; ix++) {
      sum += f32(x[((b * params.height + iy) * params.width + ix) * params.channels + c]);
    }
  }
  y[row * params.out_width * params.channels + column] = real(sum / f32((rows.end - rows.first) * (columns.end - columns.first)));
}

@compute @workgroup_size(SIZE)
fn average_pool_backward(id: Invocation) {
  let row = i32(id.group.z * id.groups.y + id.group.y);
  let column = i32(id.group.x * SIZE + id.local);
  if (row >= params.rows || column >= params.width * params.channels) { return; }
  let b = row / params.height;
  let ix = column / params.channels;
  let c = column - ix * params.channels;
  let rows = covering(row - b * params.height, params.stride_y, params.top, params.kernel_y, params.out_height);
  let columns = covering(ix, params.stride_x, params.left, params.kernel_x, params.out_width);
  var sum = 0.0;
  let bottom = rows.end;
  let right = columns.end;
  for (var oy = rows.first; oy < bottom; oy++) {
    let high = covered(oy, params.stride_y, params.top, params.kernel_y, params.height);
    for (var ox = columns.first; ox < right; ox++) {
      let wide = covered(ox, params.stride_x, params.left, params.kernel_x, params.width);
      let n = (high.end - high.first) * (wide.end - wide.first);
      sum += f32(dy[((b * params.out_height + oy) * params.out_width + ox) * params.channels + c]) / f32(n);
    }
  }
  let at = row * params.width * params.channels + column;
  dx[at] = real(select(f32(dx[at]), 0.0, FRESH) + sum);
}
