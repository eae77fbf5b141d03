// Part of kernels on maps (B, P, M, K) and (B, P, K), P pixels, joined with widths_singles.wgsl or widths_quads.wgsl. An invocation takes a block
// of pixels: as few as fill whole quads in both kinds of map, or one pixel. What it takes lies side by side, and is loaded once and not again for
// every rater or structure; what is of an image is the same for a whole workgroup. Extents are constants, so that loops over a block are unrolled
// and its arrays are registers.

alias real = f32; // what storage holds; f16 where a plan asks for it
alias real4 = vec4<f32>;
const SIZE: u32 = 64u;
const RATERS: u32 = 4u;
const CLASSES: u32 = 2u;
const LABELS: u32 = 8u; // RATERS CLASSES
const PIXELS: u32 = 2u; // of a block
const VALUES: u32 = 16u; // PIXELS LABELS: of a block of (B, P, M, K)
const RESULTS: u32 = 4u; // PIXELS CLASSES: of a block of (B, P, K)
const QUADS: u32 = VALUES / WIDTH; // loads of a block of (B, P, M, K)
const RESULT_QUADS: u32 = RESULTS / WIDTH; // and of (B, P, K)

struct Params {
  batch: u32,
  pixels: u32,
  raters: u32,
  classes: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// Blocks of an image; invocation i of image b takes block b · blocks() + i.
fn blocks() -> u32 { return params.pixels / PIXELS; }

// For value j of a block: its index in the block without raters, and in (B, M, K) its label.
fn result_of(j: u32) -> u32 { return j / LABELS * CLASSES + j % CLASSES; }
fn label_of(j: u32, image: u32) -> u32 { return image * LABELS + j % LABELS; }
