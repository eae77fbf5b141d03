// Functions of one number, element by element, over N elements of any shape.
//
//   y = activated(x)   dx += dy slope(v), v is x or y
//
// Header (go doc ./shaders): Invocation, stored, floats, WIDTH, and the functions activated and
// slope (tensor.Scalar).

const SIZE: u32 = 64u;

struct Params {
  n: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<stored>;
@group(0) @binding(2) var<storage, read_write> y: array<stored>;
@group(0) @binding(1) var<storage, read> v: array<stored>;
@group(0) @binding(2) var<storage, read> dy: array<stored>;
@group(0) @binding(3) var<storage, read_write> dx: array<stored>;

@compute @workgroup_size(SIZE)
fn activation_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  y[i] = stored(activated(floats(x[i])));
}

@compute @workgroup_size(SIZE)
fn activation_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  dx[i] = stored(select(floats(dx[i]), floats(), FRESH) + floats(dy[i]) * slope(floats(v[i])));
}
