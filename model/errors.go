package model

import "errors"

// ErrNotFinite means that the network produced something that is no probability: damaged weights or a failing device.
var ErrNotFinite = errors.New("the network's output is not a probability")

// ErrNothing means that a device returned nothing but zeros, which no weights compute: a sigmoid is nowhere 0, so it is memory that nobody wrote.
var ErrNothing = errors.New("the device returned nothing but zeros")

// ErrNoRanges means that weights do not say how large the inputs of layers become, which inference in int8 needs.
var ErrNoRanges = errors.New("they do not say how large the inputs of layers become, which precision int8 needs: add that with export -ranges, from training images")
