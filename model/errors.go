package model

import "errors"

// ErrNotFinite means that the network produced something that is no probability: damaged weights or a failing device.
var ErrNotFinite = errors.New("the network's output is not a probability")
