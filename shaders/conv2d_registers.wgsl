// Convolution for processors that emulate a GPU: each invocation keeps 8 pixels × 8 outputs (quads a and b) in named variables,
// so that few loads serve many products; no workgroup memory. The maths are those of conv2d.wgsl; outputs are a multiple of four. Joined with
// conv2d_quads.wgsl, conv2d_channel_loads.wgsl and the parts of conv2d.wgsl.

const SIZE: u32 = 32u;

@compute @workgroup_size(SIZE)
fn conv2d_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                  @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let block = i32((group.y * groups.x + group.x) * SIZE + local);
  let phase = phase_of(group.z);
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
  var a0 = start_a;
  var b0 = start_b;
  var a1 = start_a;
  var b1 = start_b;
  var a2 = start_a;
  var b2 = start_b;
  var a3 = start_a;
  var b3 = start_b;
  var a4 = start_a;
  var b4 = start_b;
  var a5 = start_a;
  var b5 = start_b;
  var a6 = start_a;
  var b6 = start_b;
  var a7 = start_a;
  var b7 = start_b;
  for (var tap = 0; tap < g.rows.taps * g.cols.taps; tap++) {
    let t = tap / g.cols.taps;
    let s = tap % g.cols.taps;
    let x0 = source(g, p0, t, s) * inputs;
    let x1 = source(g, p1, t, s) * inputs;
    let x2 = source(g, p2, t, s) * inputs;
    let x3 = source(g, p3, t, s) * inputs;
    let x4 = source(g, p4, t, s) * inputs;
    let x5 = source(g, p5, t, s) * inputs;
    let x6 = source(g, p6, t, s) * inputs;
    let x7 = source(g, p7, t, s) * inputs;
    var from_w = weight_at(g, t, s, phase) * inputs * quads;
    for (var k = 0; k < inputs; k++) {
      let wa = vec4<f32>(w[from_w + qa]);
      let wb = vec4<f32>(w[from_w + qb]);
      let v0 = load(x0, k);
      a0 += v0 * wa;
      b0 += v0 * wb;
      let v1 = load(x1, k);
      a1 += v1 * wa;
      b1 += v1 * wb;
      let v2 = load(x2, k);
      a2 += v2 * wa;
      b2 += v2 * wb;
      let v3 = load(x3, k);
      a3 += v3 * wa;
      b3 += v3 * wb;
      let v4 = load(x4, k);
      a4 += v4 * wa;
      b4 += v4 * wb;
      let v5 = load(x5, k);
      a5 += v5 * wa;
      b5 += v5 * wb;
      let v6 = load(x6, k);
      a6 += v6 * wa;
      b6 += v6 * wb;
      let v7 = load(x7, k);
      a7 += v7 * wa;
      b7 += v7 * wb;
      from_w += quads;
    }
  }
  var sums = array<vec4<f32>, 16>(a0, b0, a1, b1, a2, b2, a3, b3, a4, b4, a5, b5, a6, b6, a7, b7);
  var p = p0;
  let last = min(first + 8, g.batch * g.rows.count * g.cols.count);
  for (var i = first; i < last; i++) {
    let pixel = destination(g, p, phase);
    put(pixel, qa, sums[2 * (i - first)]);
    if (qb != qa) { put(pixel, qb, sums[2 * (i - first) + 1]); } // once, since it may add to what is there
    p = next(g, p);
  }
}

fn store_weight(row: i32, qa: i32, qb: i32, a: vec4<f32>, b: vec4<f32>) {
  let quads = i32(params.outputs) / 4;
  let before_a = select(vec4<f32>(), dw[row * quads + qa], params.adds == 1u);
  let before_b = select(vec4<f32>(), dw[row * quads + qb], params.adds == 1u);
  dw[row * quads + qa] = before_a + a;
  dw[row * quads + qb] = before_b + b;
}

@compute @workgroup_size(SIZE)
fn conv2d_backward_weight(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                          @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let block = i32((group.y * groups.x + group.x) * SIZE + local);
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
  var a0 = vec4<f32>();
  var b0 = vec4<f32>();
  var a1 = vec4<f32>();
  var b1 = vec4<f32>();
  var a2 = vec4<f32>();
  var b2 = vec4<f32>();
  var a3 = vec4<f32>();
  var b3 = vec4<f32>();
  var a4 = vec4<f32>();
  var b4 = vec4<f32>();
  var a5 = vec4<f32>();
  var b5 = vec4<f32>();
  var a6 = vec4<f32>();
  var b6 = vec4<f32>();
  var a7 = vec4<f32>();
  var b7 = vec4<f32>();
  let first = part * i32(params.chunk);
  let last = min(g.batch * g.rows.count * g.cols.count, first + i32(params.chunk));
  var p = position(g, first);
  for (var i = first; i < last; i++) {
    let rows = rows_at(g, p, t);
    let from_y = destination(g, p, vec2<i32>()) * quads;
    let ya = vec4<f32>(dy[from_y + qa]);
    let yb = vec4<f32>(dy[from_y + qb]);
    let v0 = load_row(rows, j + 0);
    a0 += v0 * ya;
    b0 += v0 * yb;
    let v1 = load_row(rows, j + 1);
    a1 += v1 * ya;
    b1 += v1 * yb;
    let v2 = load_row(rows, j + 2);
    a2 += v2 * ya;
    b2 += v2 * yb;
    let v3 = load_row(rows, j + 3);
    a3 += v3 * ya;
    b3 += v3 * yb;
    let v4 = load_row(rows, j + 4);
    a4 += v4 * ya;
    b4 += v4 * yb;
    let v5 = load_row(rows, j + 5);
    a5 += v5 * ya;
    b5 += v5 * yb;
    let v6 = load_row(rows, j + 6);
    a6 += v6 * ya;
    b6 += v6 * yb;
    let v7 = load_row(rows, j + 7);
    a7 += v7 * ya;
    b7 += v7 * yb;
    p = next(g, p);
  }
  var sums = array<vec4<f32>, 16>(a0, b0, a1, b1, a2, b2, a3, b3, a4, b4, a5, b5, a6, b6, a7, b7);
  let end = min(j + 8, g.cols.taps * inputs);
  for (var i = j; i < end; i++) { store_weight(weight_row(g, part, t, i), qa, qb, sums[2 * (i - j)], sums[2 * (i - j) + 1]); }
}
