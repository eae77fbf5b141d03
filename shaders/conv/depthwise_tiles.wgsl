// Depthwise convolution for GPUs, a quad of channels an invocation. The maths are those of
// depthwise.wgsl. Below conv2d_common.wgsl: element and stored are real4.
//
//   forward, backward_x   a workgroup has ROWS × COLUMNS positions of an image and QUADS quads, and
//     loads what they see of x once
//   backward_weight       a workgroup has one tap and one quad of a part, and its invocations share
//     the pixels of the part

const SIZE: u32 = 64u;
const ROWS: i32 = 4;
const COLUMNS: i32 = 8;
const QUADS: i32 = 2; // ROWS × COLUMNS × QUADS = SIZE
const SEEN: u32 = 512u;

@group(0) @binding(4) var<storage, read_write> result: array<stored>; // y

var<workgroup> seen: array<real4, SEEN>; // (rows, columns, QUADS) of x
var<workgroup> sums: array<vec4<f32>, SIZE>;

// reach is the distance in x from the first tap of an axis to the last. before is how far x is read
// before the first tap.
fn reach(a: Axis) -> i32 { return (a.taps - 1) * abs(a.x_tap); }
fn before(a: Axis) -> i32 { return max(0, (1 - a.taps) * a.x_tap); }

@compute @workgroup_size(SIZE)
fn depthwise_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let g = phase_geometry(group.z / params.batch);
  let r = g.rows;
  let c = g.cols;
  let quads = i32(params.inputs / WIDTH);
  let first_quad = i32(group.x) * QUADS;
  let tiles = (c.count + COLUMNS - 1) / COLUMNS;
  let u = i32(group.y) / tiles * ROWS;
  let v = i32(group.y) % tiles * COLUMNS;
  let b = i32(group.z % params.batch);
  let top = u * r.x_step + r.x_start - before(r);
  let left = v * c.x_step + c.x_start - before(c);
  let height = (ROWS - 1) * r.x_step + reach(r) + 1;
  let width = (COLUMNS - 1) * c.x_step + reach(c) + 1;
  let loads = (height * width * QUADS + i32(SIZE - 1u - local)) / i32(SIZE);
  for (var load = 0; load < loads; load++) {
    let i = load * i32(SIZE) + i32(local);
    let quad = first_quad + i % QUADS;
    let col = left + i / QUADS % width;
    let row = top + i / QUADS / width;
    let inside = (row >= 0) & (row < r.x_size) & (col >= 0) & (col < c.x_size) & (quad < quads);
    seen[i] = select(real4(), x[select(0, ((b * r.x_size + row) * c.x_size + col) * quads + quad, inside)], inside);
  }
  workgroupBarrier();
  let quad = i32(local) % QUADS;
  let col = i32(local) / QUADS % COLUMNS;
  let row = i32(local) / QUADS / COLUMNS;
  let n = first_quad + quad;
  if ((u + row >= r.count) | (v + col >= c.count) | (n >= quads)) { return; }
  var sum = vec4<f32>();
  if (params.has_bias == 1u) { sum = vec4<f32>(bias[n]); }
  let row_taps = r.taps;
  let col_taps = c.taps;
  for (var t = 0; t < row_taps; t++) {
    let line = (row * r.x_step + t * r.x_tap + before(r)) * width + col * c.x_step + before(c);
    for (var s = 0; s < col_taps; s++) {
      sum += vec4<f32>(seen[(line + s * c.x_tap) * QUADS + quad]) * vec4<f32>(w[weight_at(g, t, s) * quads + n]);
    }
  }
  let to = destination(g, Position(b, u + row, v + col)) * quads + n;
  if (params.adds == ADD_TO_Y && !FRESH) { sum += vec4<f32>(result[to]); }
  result[to] = real4(activated(sum));
}

@compute @workgroup_size(SIZE)
fn depthwise_backward_weight(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let quads = i32(params.inputs / WIDTH);
  let n = i32(group.x);
  let t = i32(group.y) / g.cols.taps;
  let s = i32(group.y) % g.cols.taps;
  let first = i32(group.z * params.chunk);
  let last = min(positions(g), first + i32(params.chunk));
  var sum = vec4<f32>();
  let turns = (last - first + i32(SIZE - 1u - local)) / i32(SIZE);
  for (var turn = 0; turn < turns; turn++) {
    let p = position(g, first + i32(local) + turn * i32(SIZE));
    let pixel = source(g, p, t, s);
    if (pixel >= 0) { sum += vec4<f32>(x[pixel * quads + n]) * vec4<f32>(dy[destination(g, p) * quads + n]); }
  }
  sums[local] = sum;
  for (var half = SIZE / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (local < half) { sums[local] += sums[local + half]; }
  }
  if (local > 0u) { return; }
  let to = (i32(group.z) * g.rows.taps * g.cols.taps + i32(group.y)) * quads + n;
  var total = sums[0];
  if (params.adds == ADD_TO_Y && !FRESH) { total += dw[to]; }
  dw[to] = total;
}
