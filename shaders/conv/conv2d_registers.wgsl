// Convolution for processors that emulate a GPU, where a load has to serve many products, and for
// inputs that are no multiple of four. Each invocation keeps 8 pixels × 8 outputs (quads a and b)
// in registers. Outputs are a multiple of four. The maths are those of conv2d.wgsl. Below
// conv2d_common.wgsl: element is real, stored is real4.

const SIZE: u32 = 32u;

// load is channel k of four pixels. The first channel of a pixel lies at base. A pixel with a
// negative base is zero.
fn load(base: vec4<i32>, k: i32) -> vec4<f32> {
  let i = max(base, vec4<i32>()) + k;
  return select(vec4<f32>(), vec4<f32>(real4(x[i.x], x[i.y], x[i.z], x[i.w])), base >= vec4<i32>());
}

// outer has a quad of outputs in each column, one for each of four pixels.
fn outer(outputs: vec4<f32>, pixels: vec4<f32>) -> mat4x4<f32> {
  return mat4x4<f32>(outputs * pixels.x, outputs * pixels.y, outputs * pixels.z, outputs * pixels.w);
}

@compute @workgroup_size(SIZE)
fn conv2d_forward(id: Invocation) {
  let g = phase_geometry(id.group.z);
  let block = i32(number(id, SIZE));
  let inputs = i32(params.inputs);
  let quads = i32(params.outputs) / 4;
  let pairs = (quads + 1) / 2;
  let qa = block % pairs * 2;
  let qb = min(qa + 1, quads - 1);
  let first = block / pairs * 8;
  let p0 = position(g, first);
  let p1 = next(g, p0);
  let p2 = next(g, p1);
  let p3 = next(g, p2);
  let p4 = next(g, p3);
  let p5 = next(g, p4);
  let p6 = next(g, p5);
  let p7 = next(g, p6);
  var start_a = vec4<f32>();
  var start_b = vec4<f32>();
  if (params.has_bias == 1u) {
    start_a = vec4<f32>(bias[qa]);
    start_b = vec4<f32>(bias[qb]);
  }
  var a0 = mat4x4<f32>(start_a, start_a, start_a, start_a); // pixels 0 to 3
  var b0 = mat4x4<f32>(start_b, start_b, start_b, start_b);
  var a4 = a0; // pixels 4 to 7
  var b4 = b0;
  for (var tap = 0; tap < g.rows.taps * g.cols.taps; tap++) {
    let t = tap / g.cols.taps;
    let s = tap % g.cols.taps;
    let x0 = vec4<i32>(source(g, p0, t, s), source(g, p1, t, s), source(g, p2, t, s), source(g, p3, t, s)) * inputs;
    let x4 = vec4<i32>(source(g, p4, t, s), source(g, p5, t, s), source(g, p6, t, s), source(g, p7, t, s)) * inputs;
    var from_w = weight_at(g, t, s) * inputs * quads;
    for (var k = 0; k < inputs; k++) {
      let wa = vec4<f32>(w[from_w + qa]);
      let wb = vec4<f32>(w[from_w + qb]);
      let v0 = load(x0, k);
      let v4 = load(x4, k);
      a0 += outer(wa, v0);
      b0 += outer(wb, v0);
      a4 += outer(wa, v4);
      b4 += outer(wb, v4);
      from_w += quads;
    }
  }
  var a = array<mat4x4<f32>, 2>(a0, a4);
  var b = array<mat4x4<f32>, 2>(b0, b4);
  var p = p0;
  let last = min(first + 8, positions(g));
  for (var i = first; i < last; i++) {
    let pixel = destination(g, p);
    let n = i - first;
    put(pixel, qa, a[n / 4][n % 4]);
    if (qb != qa) { put(pixel, qb, b[n / 4][n % 4]); } // only once: put may add to y
    p = next(g, p);
  }
}

fn load_row(rows: Rows, j: i32) -> f32 {
  let inside = (j >= rows.low) & (j < rows.high);
  return select(0.0, f32(x[select(0, rows.base + j, inside)]), inside);
}

// load_rows are four rows from j on.
fn load_rows(rows: Rows, j: i32) -> vec4<f32> {
  return vec4<f32>(load_row(rows, j), load_row(rows, j + 1), load_row(rows, j + 2), load_row(rows, j + 3));
}

@compute @workgroup_size(SIZE)
fn conv2d_backward_weight(id: Invocation) {
  let g = geometry();
  let block = i32(number(id, SIZE));
  let inputs = i32(params.inputs);
  let quads = i32(params.outputs) / 4;
  let pairs = (quads + 1) / 2;
  let qa = block % pairs * 2;
  let qb = min(qa + 1, quads - 1);
  let blocks = (g.cols.taps * inputs + 7) / 8;
  let j = (block / pairs) % blocks * 8;
  let t = (block / pairs / blocks) % g.rows.taps;
  let part = block / pairs / blocks / g.rows.taps;
  if (part >= i32(params.parts)) { return; }
  var a0 = mat4x4<f32>(); // rows j to j + 3
  var b0 = mat4x4<f32>();
  var a4 = mat4x4<f32>(); // rows j + 4 to j + 7
  var b4 = mat4x4<f32>();
  let first = part * i32(params.chunk);
  let last = min(positions(g), first + i32(params.chunk));
  var p = position(g, first);
  for (var i = first; i < last; i++) {
    let rows = rows_at(g, p, t);
    let from_y = destination(g, p) * quads;
    let ya = vec4<f32>(dy[from_y + qa]);
    let yb = vec4<f32>(dy[from_y + qb]);
    let v0 = load_rows(rows, j);
    let v4 = load_rows(rows, j + 4);
    a0 += outer(ya, v0);
    b0 += outer(yb, v0);
    a4 += outer(ya, v4);
    b4 += outer(yb, v4);
    p = next(g, p);
  }
  var a = array<mat4x4<f32>, 2>(a0, a4);
  var b = array<mat4x4<f32>, 2>(b0, b4);
  let end = min(j + 8, g.cols.taps * inputs);
  for (var i = j; i < end; i++) {
    let row = weight_row(g, part, t, i);
    let n = i - j;
    add_weights(row, qa, a[n / 4][n % 4]);
    if (qb != qa) { add_weights(row, qb, b[n / 4][n % 4]); }
  }
}
