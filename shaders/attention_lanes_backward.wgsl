// The gradients of attention_lanes.wgsl, which comes before it, with attention_floats.wgsl. Loaded tokens are visited two at a time.

fn gradient_quads(at: u32) -> Quads {
  var x = Quads(vec4<f32>(dy[at]), vec4<f32>(), vec4<f32>(), vec4<f32>());
  if (QUADS > 1u) { x.c1 = vec4<f32>(dy[at + 1u]); }
  if (QUADS > 2u) { x.c2 = vec4<f32>(dy[at + 2u]); x.c3 = vec4<f32>(dy[at + 3u]); }
  return x;
}

// add_to_query adds to the gradient of a query that exists.
fn add_to_query(b: u32, i: u32, h: u32, part: u32, x: Quads) {
  if (i >= params.queries) { return; }
  let to = at(index(b, i, params.queries, h), part);
  add_dq(to, x.c0);
  if (QUADS > 1u) { add_dq(to + 1u, x.c1); }
  if (QUADS > 2u) { add_dq(to + 2u, x.c2); add_dq(to + 3u, x.c3); }
}

@compute @workgroup_size(LANES)
fn attention_backward_q(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let first = (group.x * LANES + lane) / SHARE * ROWS;
  let part = lane % SHARE;
  let h = group.y;
  let b = group.z;
  let i0 = index(b, first, params.queries, h); let i1 = index(b, first + 1u, params.queries, h);
  let i2 = index(b, first + 2u, params.queries, h); let i3 = index(b, first + 3u, params.queries, h);
  let queries = Rows(
    scores_query(b, first, h, part), scores_query(b, first + 1u, h, part), scores_query(b, first + 2u, h, part), scores_query(b, first + 3u, h, part));
  let gradients = Rows(gradient_quads(at(i0, part)), gradient_quads(at(i1, part)), gradient_quads(at(i2, part)), gradient_quads(at(i3, part)));
  let e = vec4<f32>(lse[i0], lse[i1], lse[i2], lse[i3]);
  let d = vec4<f32>(delta[i0], delta[i1], delta[i2], delta[i3]);
  var sum = Rows();
  for (var j = 0u; j < params.keys; j += TOKENS) {
    let own = at(pair(b, j + lane / SHARE, h), part);
    let k = pair_quads(own);
    let v = pair_quads(own + values());
    for (var t = 0u; t < TOKENS; t += 2u) {
      let k0 = shuffled(k, t, part); let k1 = shuffled(k, t + 1u, part);
      let ds0 = exp2(scores(k0, queries, j + t) - e) * (products(shuffled(v, t, part), gradients) - d);
      let ds1 = exp2(scores(k1, queries, j + t + 1u) - e) * (products(shuffled(v, t + 1u, part), gradients) - d);
      sum = add(sum, ds0, k0, ds1, k1);
    }
  }
  add_to_query(b, first, h, part, scaled(sum.r0, params.scale));
  add_to_query(b, first + 1u, h, part, scaled(sum.r1, params.scale));
  add_to_query(b, first + 2u, h, part, scaled(sum.r2, params.scale));
  add_to_query(b, first + 3u, h, part, scaled(sum.r3, params.scale));
}

// add_to_pair adds to the gradients of a key that exists and of its value.
fn add_to_pair(b: u32, i: u32, h: u32, part: u32, k: Quads, v: Quads) {
  if (i >= params.keys) { return; }
  let to = at(pair(b, i, h), part);
  add_dkv(to, k.c0); add_dkv(to + values(), v.c0);
  if (QUADS > 1u) { add_dkv(to + 1u, k.c1); add_dkv(to + values() + 1u, v.c1); }
  if (QUADS > 2u) {
    add_dkv(to + 2u, k.c2); add_dkv(to + values() + 2u, v.c2);
    add_dkv(to + 3u, k.c3); add_dkv(to + values() + 3u, v.c3);
  }
}

@compute @workgroup_size(LANES)
fn attention_backward_kv(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let first = (group.x * LANES + lane) / SHARE * ROWS; // key
  let part = lane % SHARE;
  let h = group.y;
  let b = group.z;
  let a = params.scale * LOG2E;
  let a0 = at(pair(b, first, h), part); let a1 = at(pair(b, first + 1u, h), part);
  let a2 = at(pair(b, first + 2u, h), part); let a3 = at(pair(b, first + 3u, h), part);
  let k = Rows(scaled(pair_quads(a0), a), scaled(pair_quads(a1), a), scaled(pair_quads(a2), a), scaled(pair_quads(a3), a));
  let v = Rows(pair_quads(a0 + values()), pair_quads(a1 + values()), pair_quads(a2 + values()), pair_quads(a3 + values()));
  var dk = Rows();
  var dv = Rows();
  for (var j = 0u; j < params.queries; j += TOKENS) {
    let query = j + lane / SHARE;
    let i = index(b, query, params.queries, h);
    let q = query_quads(at(i, part));
    let g = gradient_quads(at(i, part));
    let e = select(-LOWEST, lse[i], query < params.queries); // beyond the last none has a weight
    let d = delta[i];
    for (var t = 0u; t < TOKENS; t += 2u) {
      let q0 = shuffled(q, t, part); let g0 = shuffled(g, t, part);
      let q1 = shuffled(q, t + 1u, part); let g1 = shuffled(g, t + 1u, part);
      let p0 = exp2(products(q0, k) - subgroupShuffle(e, t * SHARE));
      let p1 = exp2(products(q1, k) - subgroupShuffle(e, (t + 1u) * SHARE));
      dv = add(dv, p0, g0, p1, g1);
      let ds0 = p0 * (products(g0, v) - subgroupShuffle(d, t * SHARE));
      let ds1 = p1 * (products(g1, v) - subgroupShuffle(d, (t + 1u) * SHARE));
      dk = add(dk, ds0, q0, ds1, q1);
    }
  }
  add_to_pair(b, first, h, part, scaled(dk.r0, params.scale), dv.r0);
  add_to_pair(b, first + 1u, h, part, scaled(dk.r1, params.scale), dv.r1);
  add_to_pair(b, first + 2u, h, part, scaled(dk.r2, params.scale), dv.r2);
  add_to_pair(b, first + 3u, h, part, scaled(dk.r3, params.scale), dv.r3);
}
