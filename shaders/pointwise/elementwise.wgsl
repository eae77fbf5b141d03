// Sums and multiples, element by element, over N elements of any shape.
//
//   add             y = a + b
//   multiply        y = a b
//   add_product     dx += a b
//   scale           y = factor a + offset
//   add_scaled      dx += factor dy
//   add_broadcast   y[b, i] = a[b, i] + table[i], i < N / batch
//
// Header (go doc ./shaders): Invocation, stored, floats, WIDTH.

const SIZE: u32 = 64u;

struct Params {
  n: u32,
  period: u32, // elements of the table
  factor: f32,
  offset: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<stored>;
@group(0) @binding(2) var<storage, read> b: array<stored>; // of add and the products; the table of add_broadcast
@group(0) @binding(3) var<storage, read_write> out: array<stored>;
@group(0) @binding(2) var<storage, read_write> y: array<stored>;

@compute @workgroup_size(SIZE)
fn add_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  out[i] = stored(floats(a[i]) + floats(b[i]));
}

@compute @workgroup_size(SIZE)
fn add_broadcast_forward(id: Invocation) {
  let i = number(id, SIZE);
  let period = params.period / WIDTH;
  if (i >= period) { return; }
  let add = floats(b[i]);
  for (var at = i; at * WIDTH < params.n; at += period) { out[at] = stored(floats(a[at]) + add); }
}

@compute @workgroup_size(SIZE)
fn multiply_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  out[i] = stored(floats(a[i]) * floats(b[i]));
}

@compute @workgroup_size(SIZE)
fn add_product(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  out[i] = stored(select(floats(out[i]), floats(), FRESH) + floats(a[i]) * floats(b[i]));
}

@compute @workgroup_size(SIZE)
fn scale_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  y[i] = stored(params.factor * floats(a[i]) + params.offset);
}

@compute @workgroup_size(SIZE)
fn add_scaled(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  y[i] = stored(select(floats(y[i]), floats(), FRESH) + params.factor * floats(a[i]));
}
