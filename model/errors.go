package model

import "errors"

// ErrNotFinite: the network's output holds a value outside 0..1. Weights are damaged or a device
// fails.
var ErrNotFinite = errors.New("the network's output is not a probability")

// ErrNothing: a device returned nothing but zeros. A sigmoid is nowhere 0 in f32, therefore no
// kernel wrote the memory. Halves become 0 below a logit of about −17, or −10 on a device that
// flushes small halves; a map of only such logits is refused too.
var ErrNothing = errors.New("the device returned nothing but zeros")

// ErrWrong: a device's results differ from those of other devices.
var ErrWrong = errors.New("the device computes wrongly")

// ErrNoRanges: the weights file lacks the ranges of layers' inputs, which Int8 needs.
var ErrNoRanges = errors.New("they do not say how large the inputs of layers become, which precision int8 needs: add that with export -ranges, from training images")
