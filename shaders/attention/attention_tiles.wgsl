// Attention for GPUs, with D any multiple of 4 up to 64. Keys and values (for dk and dv: queries
// and dy) pass through workgroup memory in tiles of 16 tokens. A workgroup loads each tile once.
// Each invocation keeps a query and its result in registers. Below attention_common.wgsl.
//
// For dq an invocation has a query, as in the forward kernel. For dk and dv there are few keys and
// long sums: 8 invocations share a key, each has every eighth query, and they add up their parts at
// the end, in order. Rows are padded by one vec4, so that the 8 invocations read different banks.

const SIZE: u32 = 64u;
const TILE: u32 = 16u;
const PITCH: u32 = QUADS + 1u;
const SLICES: u32 = 8u; // invocations that share a key

var<workgroup> first_tile: array<vec4<f32>, 272>; // (TILE, PITCH): keys, queries
var<workgroup> second_tile: array<vec4<f32>, 272>; // (TILE, PITCH): values, dy
var<workgroup> scores: array<f32, 1088>; // (SIZE, TILE + 1)
var<workgroup> own_keys: array<vec4<f32>, 136>; // (SIZE / SLICES, PITCH)
var<workgroup> own_values: array<vec4<f32>, 136>;

fn values() -> u32 { return params.heads * QUADS; } // from a key to its value

fn load_keys(b: u32, h: u32, j: u32, local: u32) {
  for (var t = local; t < TILE * QUADS; t += SIZE) {
    let source = pair(b, j + t / QUADS, h) * QUADS + t % QUADS;
    let to = t / QUADS * PITCH + t % QUADS;
    first_tile[to] = loaded(kv[source]);
    second_tile[to] = loaded(kv[values() + source]);
  }
}

@compute @workgroup_size(SIZE)
fn attention_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let h = group.y;
  let b = group.z;
  let query = group.x * SIZE + local;
  let at = index(b, query, params.queries, h);
  let row = at * QUADS;
  let a = params.scale * LOG2E;
  var own: array<vec4<f32>, QUADS>;
  var sum: array<vec4<f32>, QUADS>;
  for (var c = 0u; c < QUADS; c++) { own[c] = loaded(q[row + c]) * a; }
  var m = LOWEST;
  var l = 0.0;
  for (var j = 0u; j < params.keys; j += TILE) {
    workgroupBarrier();
    load_keys(b, h, j, local);
    workgroupBarrier();
    let n = min(TILE, params.keys - j);
    var highest = m;
    for (var i = 0u; i < n; i++) {
      let t = i * PITCH;
      var s = 0.0;
      for (var c = 0u; c < QUADS; c++) { s += dot(own[c], first_tile[t + c]); }
      scores[local * (TILE + 1u) + i] = s;
      highest = max(highest, s);
    }
    let decay = exp2(m - highest);
    m = highest;
    l *= decay;
    for (var c = 0u; c < QUADS; c++) { sum[c] *= decay; }
    for (var i = 0u; i < n; i++) {
      let t = i * PITCH;
      let p = exp2(scores[local * (TILE + 1u) + i] - m);
      l += p;
      for (var c = 0u; c < QUADS; c++) { sum[c] += p * second_tile[t + c]; }
    }
  }
  if (query >= params.queries) { return; }
  store_sum(at, m + log2(l));
  for (var c = 0u; c < QUADS; c++) { store(row + c, sum[c] / l); }
}

@compute @workgroup_size(SIZE)
fn attention_backward_q(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let h = group.y;
  let b = group.z;
  let query = group.x * SIZE + local;
  let at = index(b, query, params.queries, h);
  let row = at * QUADS;
  let a = params.scale * LOG2E;
  let e = lse[at];
  var d = 0.0;
  var own: array<vec4<f32>, QUADS>;
  var slope: array<vec4<f32>, QUADS>;
  var sum: array<vec4<f32>, QUADS>;
  for (var c = 0u; c < QUADS; c++) {
    own[c] = loaded(q[row + c]) * a;
    slope[c] = vec4<f32>(dy[row + c]);
    d += dot(slope[c], vec4<f32>(result[row + c]));
  }
  for (var j = 0u; j < params.keys; j += TILE) {
    workgroupBarrier();
    load_keys(b, h, j, local);
    workgroupBarrier();
    for (var i = 0u; i < min(TILE, params.keys - j); i++) {
      let t = i * PITCH;
      var s = 0.0;
      var z = 0.0;
      for (var c = 0u; c < QUADS; c++) {
        s += dot(own[c], first_tile[t + c]);
        z += dot(slope[c], second_tile[t + c]);
      }
      let ds = exp2(s - e) * (z - d);
      for (var c = 0u; c < QUADS; c++) { sum[c] += ds * first_tile[t + c]; }
    }
  }
  if (query >= params.queries) { return; }
  delta_out[at] = d;
  for (var c = 0u; c < QUADS; c++) { add_dq(row + c, sum[c] * params.scale, true); }
}

// gather adds up, in order, quads c to c + 3 of dk and dv over the invocations of each key.
fn gather(local: u32, b: u32, first: u32, h: u32, c: u32, k0: vec4<f32>, k1: vec4<f32>, k2: vec4<f32>, k3: vec4<f32>,
          v0: vec4<f32>, v1: vec4<f32>, v2: vec4<f32>, v3: vec4<f32>) {
  workgroupBarrier();
  first_tile[local] = k0; first_tile[SIZE + local] = k1; first_tile[2u * SIZE + local] = k2; first_tile[3u * SIZE + local] = k3;
  second_tile[local] = v0; second_tile[SIZE + local] = v1; second_tile[2u * SIZE + local] = v2; second_tile[3u * SIZE + local] = v3;
  workgroupBarrier();
  let key = local / 4u;
  let quad = local % 4u;
  if (key < SIZE / SLICES && first + key < params.keys && c + quad < QUADS) {
    var key_sum = vec4<f32>(0.0);
    var value_sum = vec4<f32>(0.0);
    for (var t = quad * SIZE + key * SLICES; t < quad * SIZE + (key + 1u) * SLICES; t++) {
      key_sum += first_tile[t];
      value_sum += second_tile[t];
    }
    let to = pair(b, first + key, h) * QUADS + c + quad;
    add_dkv(to, key_sum * params.scale, true);
    add_dkv(values() + to, value_sum, true);
  }
}

@compute @workgroup_size(SIZE)
fn attention_backward_kv(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let h = group.y;
  let b = group.z;
  let slice = local % SLICES;
  let own = local / SLICES * PITCH;
  let first = group.x * (SIZE / SLICES);
  let a = params.scale * LOG2E;
  for (var t = local; t < SIZE / SLICES * QUADS; t += SIZE) {
    let source = pair(b, first + t / QUADS, h) * QUADS + t % QUADS;
    own_keys[t / QUADS * PITCH + t % QUADS] = loaded(kv[source]) * a;
    own_values[t / QUADS * PITCH + t % QUADS] = loaded(kv[values() + source]);
  }
  var k: array<vec4<f32>, 16>; // QUADS, in fours
  var v: array<vec4<f32>, 16>;
  for (var j = 0u; j < params.queries; j += TILE) {
    workgroupBarrier();
    for (var t = local; t < TILE * QUADS; t += SIZE) {
      let source = index(b, j + t / QUADS, params.queries, h) * QUADS + t % QUADS;
      first_tile[t / QUADS * PITCH + t % QUADS] = loaded(q[source]);
      second_tile[t / QUADS * PITCH + t % QUADS] = vec4<f32>(dy[source]);
    }
    workgroupBarrier();
    for (var i = slice; i < TILE; i += SLICES) {
      let row = i * PITCH;
      var s = 0.0;
      var z = 0.0;
      for (var c = 0u; c < QUADS; c++) {
        s += dot(own_keys[own + c], first_tile[row + c]);
        z += dot(own_values[own + c], second_tile[row + c]);
      }
      let at = index(b, j + i, params.queries, h);
      let p = select(0.0, exp2(s - lse[at]), j + i < params.queries);
      let ds = p * (z - delta[at]);
      for (var c = 0u; c < QUADS; c++) {
        k[c] += ds * first_tile[row + c];
        v[c] += p * second_tile[row + c];
      }
    }
  }
  for (var c = 0u; c < QUADS; c += 4u) {
    gather(local, b, first, h, c, k[c], k[c + 1u], k[c + 2u], k[c + 3u], v[c], v[c + 1u], v[c + 2u], v[c + 3u]);
  }
}
