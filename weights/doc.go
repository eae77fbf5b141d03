// Package weights reads, writes, quantizes and verifies the weights of a model.
//
// Weights are safetensors files (https://github.com/huggingface/safetensors): eight bytes of header length, a JSON header that
// gives each tensor's element type, shape and byte range, then the bytes. Tensor names are PyTorch's (encoder.layer2.0.conv1.weight);
// shapes are channels-last, as metadata "layout": "HWIO" says. What the network needs to know about itself (configuration, classes,
// raters, …) is in the header's string map, see [Metadata].
//
// Nothing in a file is believed before it is checked: [Decode] applies the format's rules and tighter limits, [Open] compares
// the SHA-256 sum built into the program ([Shipped]) or, for a file of the user's own, the content hash it carries, and refuses values
// that are not finite. The package has no network and no file access in a browser; programs hand it bytes.
package weights

//go:generate go run ./internal/manifest
//go:generate go run ./internal/study
