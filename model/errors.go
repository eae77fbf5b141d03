package model

import "errors"

// ErrNotFinite means that the network produced something that is no probability: damaged weights or a failing device.
var ErrNotFinite = errors.New("the network's output is not a probability")

// ErrNothing means that a device returned nothing but zeros: a sigmoid is nowhere 0 in f32, so it is memory that nobody wrote. (Halves become 0
// below a logit of about −17, or −10 where small ones are flushed; a map that is so sure of nothing everywhere is refused too.)
var ErrNothing = errors.New("the device returned nothing but zeros")

// ErrWrong means that a device computes something else than others do.
var ErrWrong = errors.New("the device computes wrongly")

// ErrNoRanges means that weights do not say how large the inputs of layers become, which inference in int8 needs.
var ErrNoRanges = errors.New("they do not say how large the inputs of layers become, which precision int8 needs: add that with export -ranges, from training images")
