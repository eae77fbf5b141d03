// Shared part of the kernels on maps (B, P, M, K) and (B, P, K) of P pixels: raters.wgsl, fuse.wgsl
// and rule.wgsl. An invocation computes a block of pixels: the fewest pixels that fill whole quads
// in both kinds of map, or one pixel. The numbers of a block lie side by side, and the invocation
// loads them once, for all raters and structures. All invocations of a workgroup belong to one
// image. Extents are constants: compilers unroll loops over a block, and keep its arrays in
// registers.
//
// Header (go doc ./shaders): Invocation, real, stored, floats, WIDTH. Besides: RATERS and CLASSES
// (4, 2), LABELS (their product), PIXELS (of a block: 2), VALUES (of a block of (B, P, M, K):
// PIXELS LABELS), RESULTS (of a block of (B, P, K): PIXELS CLASSES) and PLACES (0 to WIDTH - 1).

const SIZE: u32 = 64u;
const QUADS: u32 = VALUES / WIDTH; // loads of a block of (B, P, M, K)
const RESULT_QUADS: u32 = RESULTS / WIDTH; // loads of a block of (B, P, K)

struct Params {
  batch: u32,
  pixels: u32,
  raters: u32,
  classes: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// Blocks of an image; invocation i of image b takes block b · blocks() + i.
fn blocks() -> u32 { return params.pixels / PIXELS; }

// For value j of a block: its index in a block of (B, P, K), and its label in (B, M, K).
fn result_of(j: u32) -> u32 { return j / LABELS * CLASSES + j % CLASSES; }
fn label_of(j: u32, image: u32) -> u32 { return image * LABELS + j % LABELS; }

// lane is number i of v, and with_lane is v with x there.
fn lane(v: floats, i: u32) -> f32 { return vec4<f32>(v)[i]; }
fn with_lane(v: floats, i: u32, x: f32) -> floats { return select(v, floats(x), floats(f32(i)) == PLACES); }
