/**
 * What goes on: the bytes of a download, the tiles or passes of a computation. total is 0 where
 * it is not known.
 */
export type Progress = (progress: { stage: string; done: number; total: number }) => void;
/** The bytes of a file. */
export type Bytes = Blob | ArrayBuffer | ArrayBufferView;

export interface OpenOptions {
  /** The folder of the package's files, with "/" at its end, where a bundler did not copy them. */
  base?: string;
  /** "browser" computes with WebGPU, "processor" on the CPU; unless given, what is faster. */
  device?: "" | "browser" | "processor";
  precision?: "" | "f16" | "int8";
  progress?: Progress;
  /** Ends the opening, which rejects with the signal's reason. */
  signal?: AbortSignal;
}
/**
 * Loads a model that ships ("fundus", "newborn-brain", "cells"), or weights of your own. All
 * models of the same options share a worker.
 */
export function open(model?: string | Bytes, options?: OpenOptions): Promise<Model>;

export interface Model {
  readonly name: string;
  readonly title: string;
  /**
   * Segments a JPEG, PNG, WebP, TIFF, BMP, DICOM or NIfTI file. Wrong options are TypeErrors;
   * other failures are SegmentErrors.
   */
  segment(image: Bytes, options?: SegmentOptions): Promise<Result>;
  /** Ends the worker, if no other model uses it. */
  close(): void;
}

export interface RecalibrateOptions {
  /**
   * What people marked. mask has a byte a pixel: 255 inside, 0 outside, 128 where nothing is
   * said; or it is a PNG.
   */
  evidence?: { rater: string; class?: string; mask: Uint8Array | Blob }[] | null;
  /** A number from 0 to 1 for each rater, in models that name raters. */
  raterWeights?: ArrayLike<number> | null;
  progress?: Progress;
  signal?: AbortSignal;
}
export interface SegmentOptions extends RecalibrateOptions {
  /** Where to look: "auto", "none" (the whole image) or "x,y,side" in pixels. */
  roi?: string;
  /** The slice of a volume, from 1; the middle one unless given. */
  slice?: number;
  /** The last pass; as the model was trained unless given. */
  recurrences?: number;
  /** Receives the decoded picture, in RGBA; large ones are shrunk to at most 4096 pixels a side. */
  image?(picture: {
    width: number;
    height: number;
    pixelsWide: number;
    pixelsHigh: number;
    rgba: Uint8Array;
  }): void;
}

/** How far to believe a figure; reason is a sentence. */
export interface Verdict {
  word: "trusted" | "check" | "do not use";
  reason?: string;
}
/**
 * It holds what most raters would say, in a share (coverage, 0 to 1) of images like those that it
 * was learned from.
 */
export interface Interval {
  low: number;
  high: number;
  coverage: number;
}
export interface Structure {
  name: string;
  /** Pixels. low and high are the smallest and largest area of the mask and the raters. */
  area: number;
  low: number | null;
  high: number | null;
  /** Of the area, in pixels; withheld says why there is none. */
  interval?: Interval;
  withheld?: string;
  trust?: Verdict;
  /** Of the image's area, 0 to 1. */
  share: number;
  /** Pixels: the largest number in any one column, and in any one row. */
  height: number;
  width: number;
  pieces: number;
  disagreement: number | null;
  /**
   * Height × width of the image, row by row: 255 inside, 0 outside, as `segment -format
   * png-mask`.
   */
  mask: Uint8Array;
  /**
   * Polygons, each a list of closed rings of points [x, y] in pixels; rings after the first are
   * holes.
   */
  outlines: [number, number][][][];
}
/**
 * The height of the inner structure over that of the outer. value is null where there is no inner
 * structure.
 */
export interface Ratio {
  inner: string;
  outer: string;
  value: number | null;
  low: number | null;
  high: number | null;
  interval?: Interval;
  withheld?: string;
  trust?: Verdict;
}
export interface Result {
  /** Pixels of the image. */
  width: number;
  height: number;
  model: string;
  classes: string[];
  raters: string[];
  /** What raters are: people, or levels of agreement. */
  labels: string;
  structures: Structure[];
  /** null where the model has no disc and cup. */
  ratio: Ratio | null;
  /** All figures, as in the JSON of `segment`. */
  measurements: Record<string, unknown>;
  /** False: nothing of the kind is in the picture. */
  found: boolean;
  /** Why the model does not believe its result. */
  doubts: { code: string; text: string }[];
  /** Whether a photograph that the model searched can be graded, and why not; null: another picture. */
  quality: { gradable: boolean; faults: { code: string; text: string }[] } | null;
  /** Above 1 the model doubts the result; null: these weights cannot tell. */
  doubt: number | null;
  roi: { x: number; y: number; side: number; whole: boolean };
  recurrences: number;
  takesMarks: boolean;
  /** What computed, and why. */
  adapter: string;
  why: string;
  timings: Record<string, number>;
  /**
   * Maps of a class, by name or number: height × width, 0 to 1. The worker keeps those of the
   * last four results.
   */
  probability(cls: string | number): Promise<Float32Array>;
  rater(rater: string | number, cls: string | number): Promise<Float32Array>;
  recurrence(i: number, cls: string | number): Promise<Float32Array>;
  disagreement(cls: string | number): Promise<Float32Array>;
  others(cls: string | number): Promise<Float32Array>;
  /**
   * A file as `segment -format` writes it: "png", "png-mask", "tiff", "nifti", "dicom-seg",
   * "svg", "geojson", …; of all classes unless one is given.
   */
  file(format: string, cls?: string): Promise<Uint8Array>;
  /** The result around marks and weights of raters. What is left out stays as it was. */
  recalibrate(options?: RecalibrateOptions): Promise<Result>;
}

/** code: "image", "weights", "memory", "changed", "crashed", "silent", …; next says what to do. */
export class SegmentError extends Error {
  code: string;
  next: string;
}
