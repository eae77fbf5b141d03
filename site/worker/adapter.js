// Why the processor computes, in words, and what can be done about it.

// The worker's reason is the text of a Go error. It contains one of these texts, which come from
// gpu.js if there is no adapter, and otherwise from shaders/gpu. The first one that it contains
// counts.
const reasons = [
  {
    text: "this browser has no WebGPU",
    chip: "no WebGPU",
    sentence: "This browser gives no WebGPU",
    next: "Current Chrome and Edge have it.",
  },
  {
    text: "not loaded over https",
    chip: "no WebGPU",
    sentence: "This browser gives no WebGPU to pages from another machine without https",
    next: "Open the page over https, or on the machine that serves it.",
  },
  {
    text: "GPU device lost",
    chip: "GPU lost",
    sentence: "The graphics processor was lost",
    next: "The page asks for it again after two minutes.",
  },
  {
    text: "out of GPU memory",
    chip: "GPU out of memory",
    sentence: "The graphics memory does not suffice",
    next: "Closing other pages that use the graphics processor may help.",
  },
  {
    text: "no GPU adapter",
    chip: "no GPU",
    sentence: "This browser offers no graphics processor",
    next: "It may be switched off in the browser's settings (graphics or hardware acceleration).",
  },
];
// The GPU refused, did not answer or computed wrongly.
const failed = {
  chip: "GPU failed",
  sentence: "The graphics processor could not be used",
  next: "Please report this with the reason under About.",
};

// whyProcessor puts a reason into words. had: a GPU computed earlier in this page, and so was lost
// if there is none now.
export function whyProcessor(reason, had) {
  const why = reasons.find(({ text }) => reason.includes(text)) ?? failed;
  return had && why.text === "no GPU adapter" ? whyProcessor("GPU device lost") : why;
}
