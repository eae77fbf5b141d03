enable subgroups;

// Attention (attention.wgsl), forward, for heads of D = 4, 8, 16 or 32 channels on processors that emulate a GPU with subgroups of eight, where
// a load is a loop over lanes: each lane holds four neighbouring queries and their results; of 32 channels it holds half, and the lane beside it
// the other. Four keys and their values are visited at a time: lanes load different ones, and shuffles hand them to all.
// Joined with attention_tokens.wgsl, attention_quads.wgsl, and attention_floats.wgsl or attention_int8.wgsl.

const LANES: u32 = 8u; // a workgroup is one subgroup
const KEYS: u32 = 4u; // at a time
const ROWS: u32 = 4u; // queries of a lane
const SHARE: u32 = max(QUADS / 4u, 1u); // lanes of a query, 1 or 2
const OWN: u32 = min(QUADS, 4u); // quads of a token that a lane has

// Quads are those that a lane has of a token; beyond OWN nothing is read. Rows are those of four queries, Loaded those of the SHARE tokens that
// a lane loads.
struct Quads { c0: vec4<f32>, c1: vec4<f32>, c2: vec4<f32>, c3: vec4<f32> }
struct Rows { r0: Quads, r1: Quads, r2: Quads, r3: Quads }
struct Loaded { first: Quads, second: Quads }

// Weights of four keys, p0 to p3, for each of four queries, and what the sums before them are scaled by.
struct Weights { decay: vec4<f32>, p0: vec4<f32>, p1: vec4<f32>, p2: vec4<f32>, p3: vec4<f32> }

fn query_quads(b: u32, i: u32, h: u32, part: u32) -> Quads {
  let a = params.scale * LOG2E;
  let at = index(b, i, params.queries, h) * QUADS + part * OWN;
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

// load is what a lane loads first (n = 0) and second: of the four keys from j on, then of their values.
fn load(b: u32, j: u32, h: u32, lane: u32, n: u32) -> Quads {
  let token = (n * LANES + lane) / SHARE;
  return pair_quads(pair(b, j + token % KEYS, h) * QUADS + select(0u, values(), token >= KEYS) + lane % SHARE * OWN);
}

// taken is a lane's part of one of the eight: a key, or a value from the fourth on.
fn taken(l: Loaded, token: u32, part: u32) -> Quads {
  if (token * SHARE < LANES) { return shuffled(l.first, token * SHARE + part); }
  return shuffled(l.second, token * SHARE - LANES + part);
}

// scores are those of a key for the queries, if it exists.
fn scores(queries: Rows, key: Quads, exists: bool) -> vec4<f32> {
  var s = products(key, queries);
  if (SHARE > 1u) { s += subgroupShuffleXor(s, 1u); }
  return select(vec4<f32>(LOWEST), s, vec4<bool>(exists));
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
fn store_query(b: u32, i: u32, h: u32, part: u32, y: Quads, highest: f32, total: f32) {
  if (i >= params.queries) { return; }
  let row = index(b, i, params.queries, h);
  let at = row * QUADS + part * OWN;
  if (part == 0u) { store_sum(row, highest + log2(total)); }
  store(at, y.c0 / total);
  if (QUADS > 1u) { store(at + 1u, y.c1 / total); }
  if (QUADS > 2u) { store(at + 2u, y.c2 / total); store(at + 3u, y.c3 / total); }
}

@compute @workgroup_size(LANES)
fn attention_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let first = (group.x * LANES + lane) / SHARE * ROWS;
  let part = lane % SHARE;
  let h = group.y;
  let b = group.z;
  let queries = Rows(
    query_quads(b, first, h, part), query_quads(b, first + 1u, h, part), query_quads(b, first + 2u, h, part), query_quads(b, first + 3u, h, part));
  var y = Rows();
  var highest = vec4<f32>(LOWEST);
  var total = vec4<f32>();
  for (var j = 0u; j < params.keys; j += KEYS) {
    var tokens = Loaded(load(b, j, h, lane, 0u), Quads());
    if (SHARE == 2u) { tokens.second = load(b, j, h, lane, 1u); }
    let s0 = scores(queries, taken(tokens, 0u, part), true); let s1 = scores(queries, taken(tokens, 1u, part), j + 1u < params.keys);
    let s2 = scores(queries, taken(tokens, 2u, part), j + 2u < params.keys); let s3 = scores(queries, taken(tokens, 3u, part), j + 3u < params.keys);
    let next = max(highest, max(max(s0, s1), max(s2, s3)));
    let w = Weights(exp2(highest - next), exp2(s0 - next), exp2(s1 - next), exp2(s2 - next), exp2(s3 - next));
    highest = next;
    total = total * w.decay + ((w.p0 + w.p1) + (w.p2 + w.p3));
    let v0 = taken(tokens, 4u, part); let v1 = taken(tokens, 5u, part); let v2 = taken(tokens, 6u, part); let v3 = taken(tokens, 7u, part);
    y = Rows(
      mix(y.r0, w.decay.x, w.p0.x, v0, w.p1.x, v1, w.p2.x, v2, w.p3.x, v3), mix(y.r1, w.decay.y, w.p0.y, v0, w.p1.y, v1, w.p2.y, v2, w.p3.y, v3),
      mix(y.r2, w.decay.z, w.p0.z, v0, w.p1.z, v1, w.p2.z, v2, w.p3.z, v3), mix(y.r3, w.decay.w, w.p0.w, v0, w.p1.w, v1, w.p2.w, v2, w.p3.w, v3));
  }
  store_query(b, first, h, part, y.r0, highest.x, total.x);
  store_query(b, first + 1u, h, part, y.r1, highest.y, total.y);
  store_query(b, first + 2u, h, part, y.r2, highest.z, total.z);
  store_query(b, first + 3u, h, part, y.r3, highest.w, total.w);
}
