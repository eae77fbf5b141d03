enable subgroups;

// Attention (attention.wgsl), forward, for heads of D = 4, 8 or 16 channels on processors that emulate a GPU with subgroups of eight, where a
// load is a loop over lanes: each lane holds four neighbouring queries and their results. Of four keys at a time, half of the lanes load one
// each, the others their values, and shuffles hand them to all: a loop over lanes serves eight rows and the 32 queries of a subgroup.
// Joined with attention_tokens.wgsl, attention_quads.wgsl, and attention_floats.wgsl or attention_int8.wgsl.

const LANES: u32 = 8u; // a workgroup is one subgroup
const KEYS: u32 = 4u; // at a time
const ROWS: u32 = 4u; // queries of a lane

// Quads are those of a token; of what it has not nothing is read. Rows are those of four queries.
struct Quads { c0: vec4<f32>, c1: vec4<f32>, c2: vec4<f32>, c3: vec4<f32> }
struct Rows { r0: Quads, r1: Quads, r2: Quads, r3: Quads }

// Weights of four keys, p0 to p3, for each of four queries, and what the sums before them are scaled by.
struct Weights { decay: vec4<f32>, p0: vec4<f32>, p1: vec4<f32>, p2: vec4<f32>, p3: vec4<f32> }

fn query_quads(b: u32, i: u32, h: u32) -> Quads {
  let a = params.scale * LOG2E;
  let at = index(b, i, params.queries, h) * QUADS;
  var x = Quads(load_query(at) * a, vec4<f32>(), vec4<f32>(), vec4<f32>());
  if (QUADS > 1u) { x.c1 = load_query(at + 1u) * a; }
  if (QUADS > 2u) { x.c2 = load_query(at + 2u) * a; x.c3 = load_query(at + 3u) * a; }
  return x;
}

fn pair_quads(at: u32) -> Quads {
  var x = Quads(load_pair(at), vec4<f32>(), vec4<f32>(), vec4<f32>());
  if (QUADS > 1u) { x.c1 = load_pair(at + 1u); }
  if (QUADS > 2u) { x.c2 = load_pair(at + 2u); x.c3 = load_pair(at + 3u); }
  return x;
}

// shuffled is what a lane has of x.
fn shuffled(x: Quads, lane: u32) -> Quads {
  return Quads(subgroupShuffle(x.c0, lane), subgroupShuffle(x.c1, lane), subgroupShuffle(x.c2, lane), subgroupShuffle(x.c3, lane));
}

fn along(x: Quads, y: Quads) -> f32 {
  var s = product(x.c0, y.c0);
  if (QUADS > 1u) { s += product(x.c1, y.c1); }
  if (QUADS > 2u) { s += product(x.c2, y.c2) + product(x.c3, y.c3); }
  return s;
}

fn products(x: Quads, y: Rows) -> vec4<f32> {
  return vec4<f32>(along(x, y.r0), along(x, y.r1), along(x, y.r2), along(x, y.r3));
}

// scores are those of key j, which a lane has, for the queries, if it exists.
fn scores(queries: Rows, token: Quads, lane: u32, j: u32) -> vec4<f32> {
  return select(vec4<f32>(LOWEST), products(shuffled(token, lane), queries), vec4<bool>(j < params.keys));
}

// mix is y scaled, plus four values by their weights.
fn mix(y: Quads, decay: f32, p0: f32, v0: Quads, p1: f32, v1: Quads, p2: f32, v2: Quads, p3: f32, v3: Quads) -> Quads {
  return Quads(
    fma(vec4<f32>(p3), v3.c0, fma(vec4<f32>(p2), v2.c0, fma(vec4<f32>(p1), v1.c0, fma(vec4<f32>(p0), v0.c0, y.c0 * decay)))),
    fma(vec4<f32>(p3), v3.c1, fma(vec4<f32>(p2), v2.c1, fma(vec4<f32>(p1), v1.c1, fma(vec4<f32>(p0), v0.c1, y.c1 * decay)))),
    fma(vec4<f32>(p3), v3.c2, fma(vec4<f32>(p2), v2.c2, fma(vec4<f32>(p1), v1.c2, fma(vec4<f32>(p0), v0.c2, y.c2 * decay)))),
    fma(vec4<f32>(p3), v3.c3, fma(vec4<f32>(p2), v2.c3, fma(vec4<f32>(p1), v1.c3, fma(vec4<f32>(p0), v0.c3, y.c3 * decay)))));
}

// store_query stores the result of a query that exists, from its sum of weighted values.
fn store_query(b: u32, i: u32, h: u32, y: Quads, highest: f32, total: f32) {
  if (i >= params.queries) { return; }
  let row = index(b, i, params.queries, h);
  let at = row * QUADS;
  store_sum(row, highest + log2(total));
  store(at, y.c0 / total);
  if (QUADS > 1u) { store(at + 1u, y.c1 / total); }
  if (QUADS > 2u) { store(at + 2u, y.c2 / total); store(at + 3u, y.c3 / total); }
}

@compute @workgroup_size(LANES)
fn attention_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let first = (group.x * LANES + lane) * ROWS;
  let h = group.y;
  let b = group.z;
  let queries = Rows(query_quads(b, first, h), query_quads(b, first + 1u, h), query_quads(b, first + 2u, h), query_quads(b, first + 3u, h));
  var y = Rows();
  var highest = vec4<f32>(LOWEST);
  var total = vec4<f32>();
  let part = select(0u, values(), lane >= KEYS);
  for (var j = 0u; j < params.keys; j += KEYS) {
    let token = pair_quads(pair(b, j + lane % KEYS, h) * QUADS + part);
    let s0 = scores(queries, token, 0u, j); let s1 = scores(queries, token, 1u, j + 1u);
    let s2 = scores(queries, token, 2u, j + 2u); let s3 = scores(queries, token, 3u, j + 3u);
    let next = max(highest, max(max(s0, s1), max(s2, s3)));
    let w = Weights(exp2(highest - next), exp2(s0 - next), exp2(s1 - next), exp2(s2 - next), exp2(s3 - next));
    highest = next;
    total = total * w.decay + ((w.p0 + w.p1) + (w.p2 + w.p3));
    let v0 = shuffled(token, KEYS); let v1 = shuffled(token, KEYS + 1u); let v2 = shuffled(token, KEYS + 2u); let v3 = shuffled(token, KEYS + 3u);
    y = Rows(
      mix(y.r0, w.decay.x, w.p0.x, v0, w.p1.x, v1, w.p2.x, v2, w.p3.x, v3), mix(y.r1, w.decay.y, w.p0.y, v0, w.p1.y, v1, w.p2.y, v2, w.p3.y, v3),
      mix(y.r2, w.decay.z, w.p0.z, v0, w.p1.z, v1, w.p2.z, v2, w.p3.z, v3), mix(y.r3, w.decay.w, w.p0.w, v0, w.p1.w, v1, w.p2.w, v2, w.p3.w, v3));
  }
  store_query(b, first, h, y.r0, highest.x, total.x);
  store_query(b, first + 1u, h, y.r1, highest.y, total.y);
  store_query(b, first + 2u, h, y.r2, highest.z, total.z);
  store_query(b, first + 3u, h, y.r3, highest.w, total.w);
}
