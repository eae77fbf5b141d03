// The gradients of attention_tiles.wgsl, which comes before it, with attention_floats.wgsl.
//
// dq gives a query to an invocation, as the forward does. dk and dv, where tokens are few and the sum is long, give a key to 8 invocations,
// each with every eighth query; they add up their parts at the end, in order. The padding lets the 8 invocations read different banks.

const SLICES: u32 = 8u; // invocations that share a key

var<workgroup> own_keys: array<vec4<f32>, 136>; // (SIZE / SLICES, PITCH)
var<workgroup> own_values: array<vec4<f32>, 136>;

@compute @workgroup_size(SIZE)
fn attention_backward_q(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let h = group.y;
  let b = group.z;
  let query = group.x * SIZE + local;
  let at = index(b, query, params.queries, h);
  let row = at * QUADS;
  let a = params.scale * LOG2E;
  let e = lse[at];
  let d = delta[at];
  let q0 = vec4<f32>(q[row + min(0u, QUADS - 1u)]) * a; let g0 = vec4<f32>(dy[row + min(0u, QUADS - 1u)]);
  let q1 = vec4<f32>(q[row + min(1u, QUADS - 1u)]) * a; let g1 = vec4<f32>(dy[row + min(1u, QUADS - 1u)]);
  let q2 = vec4<f32>(q[row + min(2u, QUADS - 1u)]) * a; let g2 = vec4<f32>(dy[row + min(2u, QUADS - 1u)]);
  let q3 = vec4<f32>(q[row + min(3u, QUADS - 1u)]) * a; let g3 = vec4<f32>(dy[row + min(3u, QUADS - 1u)]);
  let q4 = vec4<f32>(q[row + min(4u, QUADS - 1u)]) * a; let g4 = vec4<f32>(dy[row + min(4u, QUADS - 1u)]);
  let q5 = vec4<f32>(q[row + min(5u, QUADS - 1u)]) * a; let g5 = vec4<f32>(dy[row + min(5u, QUADS - 1u)]);
  let q6 = vec4<f32>(q[row + min(6u, QUADS - 1u)]) * a; let g6 = vec4<f32>(dy[row + min(6u, QUADS - 1u)]);
  let q7 = vec4<f32>(q[row + min(7u, QUADS - 1u)]) * a; let g7 = vec4<f32>(dy[row + min(7u, QUADS - 1u)]);
  let q8 = vec4<f32>(q[row + min(8u, QUADS - 1u)]) * a; let g8 = vec4<f32>(dy[row + min(8u, QUADS - 1u)]);
  let q9 = vec4<f32>(q[row + min(9u, QUADS - 1u)]) * a; let g9 = vec4<f32>(dy[row + min(9u, QUADS - 1u)]);
  let q10 = vec4<f32>(q[row + min(10u, QUADS - 1u)]) * a; let g10 = vec4<f32>(dy[row + min(10u, QUADS - 1u)]);
  let q11 = vec4<f32>(q[row + min(11u, QUADS - 1u)]) * a; let g11 = vec4<f32>(dy[row + min(11u, QUADS - 1u)]);
  let q12 = vec4<f32>(q[row + min(12u, QUADS - 1u)]) * a; let g12 = vec4<f32>(dy[row + min(12u, QUADS - 1u)]);
  let q13 = vec4<f32>(q[row + min(13u, QUADS - 1u)]) * a; let g13 = vec4<f32>(dy[row + min(13u, QUADS - 1u)]);
  let q14 = vec4<f32>(q[row + min(14u, QUADS - 1u)]) * a; let g14 = vec4<f32>(dy[row + min(14u, QUADS - 1u)]);
  let q15 = vec4<f32>(q[row + min(15u, QUADS - 1u)]) * a; let g15 = vec4<f32>(dy[row + min(15u, QUADS - 1u)]);
  var d0 = vec4<f32>(0.0); var d1 = vec4<f32>(0.0); var d2 = vec4<f32>(0.0); var d3 = vec4<f32>(0.0);
  var d4 = vec4<f32>(0.0); var d5 = vec4<f32>(0.0); var d6 = vec4<f32>(0.0); var d7 = vec4<f32>(0.0);
  var d8 = vec4<f32>(0.0); var d9 = vec4<f32>(0.0); var d10 = vec4<f32>(0.0); var d11 = vec4<f32>(0.0);
  var d12 = vec4<f32>(0.0); var d13 = vec4<f32>(0.0); var d14 = vec4<f32>(0.0); var d15 = vec4<f32>(0.0);
  for (var j = 0u; j < params.keys; j += TILE) {
    workgroupBarrier();
    load_keys(b, h, j, local);
    workgroupBarrier();
    for (var i = 0u; i < min(TILE, params.keys - j); i++) {
      let t = i * PITCH;
      var s = dot(q0, first_tile[t]); var z = dot(g0, second_tile[t]);
      if (QUADS > 1u) { s += dot(q1, first_tile[t + 1u]); z += dot(g1, second_tile[t + 1u]); }
      if (QUADS > 2u) { s += dot(q2, first_tile[t + 2u]); z += dot(g2, second_tile[t + 2u]); }
      if (QUADS > 3u) { s += dot(q3, first_tile[t + 3u]); z += dot(g3, second_tile[t + 3u]); }
      if (QUADS > 4u) { s += dot(q4, first_tile[t + 4u]); z += dot(g4, second_tile[t + 4u]); }
      if (QUADS > 5u) { s += dot(q5, first_tile[t + 5u]); z += dot(g5, second_tile[t + 5u]); }
      if (QUADS > 6u) { s += dot(q6, first_tile[t + 6u]); z += dot(g6, second_tile[t + 6u]); }
      if (QUADS > 7u) { s += dot(q7, first_tile[t + 7u]); z += dot(g7, second_tile[t + 7u]); }
      if (QUADS > 8u) { s += dot(q8, first_tile[t + 8u]); z += dot(g8, second_tile[t + 8u]); }
      if (QUADS > 9u) { s += dot(q9, first_tile[t + 9u]); z += dot(g9, second_tile[t + 9u]); }
      if (QUADS > 10u) { s += dot(q10, first_tile[t + 10u]); z += dot(g10, second_tile[t + 10u]); }
      if (QUADS > 11u) { s += dot(q11, first_tile[t + 11u]); z += dot(g11, second_tile[t + 11u]); }
      if (QUADS > 12u) { s += dot(q12, first_tile[t + 12u]); z += dot(g12, second_tile[t + 12u]); }
      if (QUADS > 13u) { s += dot(q13, first_tile[t + 13u]); z += dot(g13, second_tile[t + 13u]); }
      if (QUADS > 14u) { s += dot(q14, first_tile[t + 14u]); z += dot(g14, second_tile[t + 14u]); }
      if (QUADS > 15u) { s += dot(q15, first_tile[t + 15u]); z += dot(g15, second_tile[t + 15u]); }
      let ds = exp2(s - e) * (z - d);
      d0 += ds * first_tile[t];
      if (QUADS > 1u) { d1 += ds * first_tile[t + 1u]; } if (QUADS > 2u) { d2 += ds * first_tile[t + 2u]; }
      if (QUADS > 3u) { d3 += ds * first_tile[t + 3u]; } if (QUADS > 4u) { d4 += ds * first_tile[t + 4u]; }
      if (QUADS > 5u) { d5 += ds * first_tile[t + 5u]; } if (QUADS > 6u) { d6 += ds * first_tile[t + 6u]; }
      if (QUADS > 7u) { d7 += ds * first_tile[t + 7u]; } if (QUADS > 8u) { d8 += ds * first_tile[t + 8u]; }
      if (QUADS > 9u) { d9 += ds * first_tile[t + 9u]; } if (QUADS > 10u) { d10 += ds * first_tile[t + 10u]; }
      if (QUADS > 11u) { d11 += ds * first_tile[t + 11u]; } if (QUADS > 12u) { d12 += ds * first_tile[t + 12u]; }
      if (QUADS > 13u) { d13 += ds * first_tile[t + 13u]; } if (QUADS > 14u) { d14 += ds * first_tile[t + 14u]; }
      if (QUADS > 15u) { d15 += ds * first_tile[t + 15u]; }
    }
  }
  if (query >= params.queries) { return; }
  add_dq(row, d0 * params.scale);
  if (QUADS > 1u) { add_dq(row + 1u, d1 * params.scale); } if (QUADS > 2u) { add_dq(row + 2u, d2 * params.scale); }
  if (QUADS > 3u) { add_dq(row + 3u, d3 * params.scale); } if (QUADS > 4u) { add_dq(row + 4u, d4 * params.scale); }
  if (QUADS > 5u) { add_dq(row + 5u, d5 * params.scale); } if (QUADS > 6u) { add_dq(row + 6u, d6 * params.scale); }
  if (QUADS > 7u) { add_dq(row + 7u, d7 * params.scale); } if (QUADS > 8u) { add_dq(row + 8u, d8 * params.scale); }
  if (QUADS > 9u) { add_dq(row + 9u, d9 * params.scale); } if (QUADS > 10u) { add_dq(row + 10u, d10 * params.scale); }
  if (QUADS > 11u) { add_dq(row + 11u, d11 * params.scale); } if (QUADS > 12u) { add_dq(row + 12u, d12 * params.scale); }
  if (QUADS > 13u) { add_dq(row + 13u, d13 * params.scale); } if (QUADS > 14u) { add_dq(row + 14u, d14 * params.scale); }
  if (QUADS > 15u) { add_dq(row + 15u, d15 * params.scale); }
}

// Adds quads c to c + 3 of dk and dv: the sums, in order, of what the invocations of a key bring.
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
    add_dkv(to, key_sum * params.scale);
    add_dkv(values() + to, value_sum);
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
    own_keys[t / QUADS * PITCH + t % QUADS] = vec4<f32>(kv[source]) * a;
    own_values[t / QUADS * PITCH + t % QUADS] = vec4<f32>(kv[values() + source]);
  }
  var k0 = vec4<f32>(0.0); var v0 = vec4<f32>(0.0); var k1 = vec4<f32>(0.0); var v1 = vec4<f32>(0.0);
  var k2 = vec4<f32>(0.0); var v2 = vec4<f32>(0.0); var k3 = vec4<f32>(0.0); var v3 = vec4<f32>(0.0);
  var k4 = vec4<f32>(0.0); var v4 = vec4<f32>(0.0); var k5 = vec4<f32>(0.0); var v5 = vec4<f32>(0.0);
  var k6 = vec4<f32>(0.0); var v6 = vec4<f32>(0.0); var k7 = vec4<f32>(0.0); var v7 = vec4<f32>(0.0);
  var k8 = vec4<f32>(0.0); var v8 = vec4<f32>(0.0); var k9 = vec4<f32>(0.0); var v9 = vec4<f32>(0.0);
  var k10 = vec4<f32>(0.0); var v10 = vec4<f32>(0.0); var k11 = vec4<f32>(0.0); var v11 = vec4<f32>(0.0);
  var k12 = vec4<f32>(0.0); var v12 = vec4<f32>(0.0); var k13 = vec4<f32>(0.0); var v13 = vec4<f32>(0.0);
  var k14 = vec4<f32>(0.0); var v14 = vec4<f32>(0.0); var k15 = vec4<f32>(0.0); var v15 = vec4<f32>(0.0);
  for (var j = 0u; j < params.queries; j += TILE) {
    workgroupBarrier();
    for (var t = local; t < TILE * QUADS; t += SIZE) {
      let source = index(b, j + t / QUADS, params.queries, h) * QUADS + t % QUADS;
      first_tile[t / QUADS * PITCH + t % QUADS] = vec4<f32>(q[source]);
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
      k0 += ds * first_tile[row]; v0 += p * second_tile[row];
      if (QUADS > 1u) { k1 += ds * first_tile[row + 1u]; v1 += p * second_tile[row + 1u]; }
      if (QUADS > 2u) { k2 += ds * first_tile[row + 2u]; v2 += p * second_tile[row + 2u]; }
      if (QUADS > 3u) { k3 += ds * first_tile[row + 3u]; v3 += p * second_tile[row + 3u]; }
      if (QUADS > 4u) { k4 += ds * first_tile[row + 4u]; v4 += p * second_tile[row + 4u]; }
      if (QUADS > 5u) { k5 += ds * first_tile[row + 5u]; v5 += p * second_tile[row + 5u]; }
      if (QUADS > 6u) { k6 += ds * first_tile[row + 6u]; v6 += p * second_tile[row + 6u]; }
      if (QUADS > 7u) { k7 += ds * first_tile[row + 7u]; v7 += p * second_tile[row + 7u]; }
      if (QUADS > 8u) { k8 += ds * first_tile[row + 8u]; v8 += p * second_tile[row + 8u]; }
      if (QUADS > 9u) { k9 += ds * first_tile[row + 9u]; v9 += p * second_tile[row + 9u]; }
      if (QUADS > 10u) { k10 += ds * first_tile[row + 10u]; v10 += p * second_tile[row + 10u]; }
      if (QUADS > 11u) { k11 += ds * first_tile[row + 11u]; v11 += p * second_tile[row + 11u]; }
      if (QUADS > 12u) { k12 += ds * first_tile[row + 12u]; v12 += p * second_tile[row + 12u]; }
      if (QUADS > 13u) { k13 += ds * first_tile[row + 13u]; v13 += p * second_tile[row + 13u]; }
      if (QUADS > 14u) { k14 += ds * first_tile[row + 14u]; v14 += p * second_tile[row + 14u]; }
      if (QUADS > 15u) { k15 += ds * first_tile[row + 15u]; v15 += p * second_tile[row + 15u]; }
    }
  }
  gather(local, b, first, h, 0u, k0, k1, k2, k3, v0, v1, v2, v3);
  if (QUADS > 4u) { gather(local, b, first, h, 4u, k4, k5, k6, k7, v4, v5, v6, v7); }
  if (QUADS > 8u) { gather(local, b, first, h, 8u, k8, k9, k10, k11, v8, v9, v10, v11); }
  if (QUADS > 12u) { gather(local, b, first, h, 12u, k12, k13, k14, k15, v12, v13, v14, v15); }
}
