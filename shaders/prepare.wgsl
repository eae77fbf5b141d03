// A square of a photograph, resampled to (1, S, S, 3) and normalised: y = (v/255 - mean) / deviation.
//
// Output pixel i of an axis covers [origin + i·step, origin + (i+1)·step) of the photograph, step = side / S. Where step > 1 it is
// the mean over that interval, otherwise the linear interpolation at its centre. Beyond the border the edge pixel continues.
// Positions are kept as whole numbers of 1 / S of a pixel, so that they are exact. An invocation has one output pixel; the row
// is the workgroup's y.

const SIZE: u32 = 64u;

struct Params {
  width: i32, // of the photograph
  height: i32,
  size: i32, // S
  mean: f32,
  deviation: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> pixels: array<u32>; // (H, W), red in the low byte, then green and blue
@group(0) @binding(2) var<storage, read> region: array<i32>; // x, y, side in pixels
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

// The n pixels of one axis as an output pixel sees them.
struct Axis {
  from_position: i32, // the interval, in 1 / S of a pixel
  to_position: i32,
  centre: i32, // its centre, counted in pixel centres, in 1 / (2 S)
  first: i32, // the pixels that have a weight
  last: i32,
  end: i32, // n - 1
}

fn axis(i: i32, origin: i32, side: i32, n: i32) -> Axis {
  let s = params.size;
  var a: Axis;
  a.from_position = origin * s + i * side;
  a.to_position = a.from_position + side;
  a.end = n - 1;
  a.centre = clamp(2 * a.from_position + side - s, 0, 2 * s * a.end);
  if (side > s) {
    a.first = min(max(a.from_position, 0) / s, a.end);
    a.last = min(max(a.to_position - 1, 0) / s, a.end);
  } else {
    a.first = a.centre / (2 * s);
    a.last = min(a.first + 1, a.end);
  }
  return a;
}

// the weight of pixel j
fn weight(a: Axis, j: i32, side: i32) -> f32 {
  let s = params.size;
  if (side > s) {
    let left = select(max(a.from_position, j * s), a.from_position, j == 0);
    let right = select(min(a.to_position, (j + 1) * s), a.to_position, j == a.end);
    return f32(right - left) / f32(side);
  }
  return f32(max(0, 2 * s - abs(a.centre - 2 * s * j))) / f32(2 * s);
}

@compute @workgroup_size(SIZE)
fn prepare(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let row = i32(group.y);
  let column = i32(group.x * SIZE + local);
  if (column >= params.size) { return; }
  let side = max(region[2], 1);
  let across = axis(column, region[0], side, params.width);
  let down = axis(row, region[1], side, params.height);
  var sum = vec3<f32>(0.0, 0.0, 0.0);
  for (var j = down.first; j <= down.last; j++) {
    var line = vec3<f32>(0.0, 0.0, 0.0);
    for (var i = across.first; i <= across.last; i++) {
      let v = pixels[j * params.width + i];
      line += weight(across, i, side) * vec3<f32>(f32(v & 0xffu), f32((v >> 8u) & 0xffu), f32((v >> 16u) & 0xffu));
    }
    sum += weight(down, j, side) * line;
  }
  let v = (sum / 255.0 - params.mean) / params.deviation;
  let to = 3 * (row * params.size + column);
  y[to] = v.x;
  y[to + 1] = v.y;
  y[to + 2] = v.z;
}
