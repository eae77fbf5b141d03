// Package weights reads, writes, quantizes and verifies the weights of a model.
//
// Weights are safetensors files (https://github.com/huggingface/safetensors): eight bytes of header
// length, a JSON header that gives each tensor's element type, shape and byte range, then the
// bytes. Tensor names are PyTorch's (encoder.layer2.0.conv1.weight). Shapes are channels-last,
// which the metadata name "layout": "HWIO". The header's string map describes the model, see
// [Metadata].
//
// The package checks everything in a file before it uses it. [Decode] applies the format's rules
// and tighter limits. [Manifest.Open] compares the file's SHA-256 with those built into the program
// ([Shipped]). The content of a user's own file it compares with the sum in that file. It refuses
// values that are not finite. In a browser the package reads neither network nor files: programs
// give it bytes.
package weights

//go:generate go run ../cmd/bundle/manifest
