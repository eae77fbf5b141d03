package weights

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// Limits on what Decode reads. They are far above our models: the paper's configuration has about
// 400 tensors and a 60 KiB header.
const (
	MaxHeaderBytes = 1 << 20
	MaxTensors     = 4096
	MaxRank        = 64
	MaxFileBytes   = 1 << 30
)

// File is a decoded safetensors file: the header's string map and the tensors in the order of their
// bytes.
type File struct {
	Metadata map[string]string
	Tensors  []Tensor
}

// Tensor returns the tensor of that name, or nil.
func (f *File) Tensor(name string) *Tensor {
	for i := range f.Tensors {
		if f.Tensors[i].Name == name {
			return &f.Tensors[i]
		}
	}
	return nil
}

// FormatError says which rule of the format a file breaks. Rule is the name of the reference
// implementation's error (https://github.com/huggingface/safetensors, safetensors/src/tensor.rs).
// The tighter limits have names of our own.
type FormatError struct {
	Rule   string
	Detail string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("not a valid safetensors file (%s): %s", e.Rule, e.Detail)
}

func broken(rule, format string, args ...any) error {
	return &FormatError{Rule: rule, Detail: fmt.Sprintf(format, args...)}
}

// Decode reads a safetensors file. The tensors share the memory of data, so that Decode allocates
// memory only for the header. A file that breaks a rule of the format, has duplicate keys or
// exceeds a limit gives a [*FormatError].
func Decode(data []byte) (*File, error) {
	if len(data) < 8 {
		return nil, broken("HeaderTooSmall", "%d bytes, the header's length alone takes 8", len(data))
	}
	size := binary.LittleEndian.Uint64(data)
	if size > MaxHeaderBytes {
		return nil, broken("HeaderTooLarge", "a header of %d bytes is declared, at most %d are read", size, MaxHeaderBytes)
	}
	if size > uint64(len(data)-8) {
		return nil, broken("InvalidHeaderLength", "a header of %d bytes is declared, %d follow; the file is cut short", size, len(data)-8)
	}
	header, body := data[8:8+size], data[8+size:]
	if !utf8.Valid(header) {
		return nil, broken("InvalidHeader", "the header is not UTF-8 text")
	}
	metadata, entries, err := parseHeader(header)
	if err != nil {
		return nil, err
	}
	// The checks go in the order of the bytes. Empty tensors may share an offset: they keep the
	// header's order.
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	f := &File{Metadata: metadata, Tensors: make([]Tensor, 0, len(entries))}
	end := uint64(0)
	for i := range entries {
		e := &entries[i]
		if e.begin != end || e.end < e.begin {
			return nil, broken("InvalidOffset", "tensor %q has bytes %d to %d, where %d was expected to begin: tensors must follow each other without gap or overlap",
				e.name, e.begin, e.end, end)
		}
		if err := e.checkSize(); err != nil {
			return nil, err
		}
		end = e.end
	}
	if end != uint64(len(body)) {
		return nil, broken("MetadataIncompleteBuffer", "the header describes %d bytes of tensors, the file has %d", end, len(body))
	}
	for _, e := range entries {
		t := Tensor{Name: e.name, DType: e.dtype, Shape: make([]int, len(e.shape)), Data: body[e.begin:e.end:e.end]}
		for i, d := range e.shape {
			t.Shape[i] = int(d)
		}
		f.Tensors = append(f.Tensors, t)
	}
	return f, nil
}

// entry is a tensor's description in the header.
type entry struct {
	name       string
	dtype      DType
	shape      []uint64
	begin, end uint64 // byte range, from the end of the header
}

// checkSize compares the byte range with the shape. A product that overflows is an error.
func (e *entry) checkSize() error {
	n, high := uint64(1), uint64(0)
	for _, d := range e.shape {
		if high, n = bits.Mul64(n, d); high != 0 || d > 1<<62 {
			return broken("ValidationOverflow", "tensor %q of shape %v is too large to count", e.name, e.shape)
		}
	}
	if high, n = bits.Mul64(n, dtypes[e.dtype].bits); high != 0 {
		return broken("ValidationOverflow", "tensor %q of shape %v is too large to count", e.name, e.shape)
	}
	if n%8 != 0 {
		return broken("MisalignedSlice", "tensor %q of shape %v and type %s does not end at a byte", e.name, e.shape, e.dtype)
	}
	if n/8 != e.end-e.begin {
		return broken("TensorInvalidInfo", "tensor %q of shape %v and type %s needs %d bytes and has %d", e.name, e.shape, e.dtype, n/8, e.end-e.begin)
	}
	return nil
}

// Encode writes the file. Metadata is sorted by key, and the header is padded with spaces to a
// multiple of 8 bytes. Tensors keep their order, but wider element types come first: this aligns
// every tensor to its elements. The same file always gives the same bytes.
func (f *File) Encode() ([]byte, error) {
	if len(f.Tensors) > MaxTensors {
		return nil, fmt.Errorf("weights: %d tensors, at most %d can be written", len(f.Tensors), MaxTensors)
	}
	order := make([]*Tensor, len(f.Tensors))
	for i := range f.Tensors {
		order[i] = &f.Tensors[i]
	}
	slices.SortStableFunc(order, func(a, b *Tensor) int { return cmp.Compare(dtypes[b.DType].bits, dtypes[a.DType].bits) })

	entries := make([]entry, 0, len(order))
	seen := make(map[string]bool, len(order))
	offset := uint64(0)
	for _, t := range order {
		e := entry{name: t.Name, dtype: t.DType, shape: []uint64{}, begin: offset, end: offset + uint64(len(t.Data))}
		for _, d := range t.Shape {
			if d < 0 {
				return nil, fmt.Errorf("weights: tensor %s has the shape %v", t.Name, t.Shape)
			}
			e.shape = append(e.shape, uint64(d))
		}
		if _, known := dtypes[t.DType]; !known {
			return nil, fmt.Errorf("weights: tensor %s has the unknown element type %q", t.Name, t.DType)
		}
		if seen[t.Name] || t.Name == metadataKey {
			return nil, fmt.Errorf("weights: the tensor name %q is used twice or reserved", t.Name)
		}
		if !utf8.ValidString(t.Name) {
			return nil, fmt.Errorf("weights: the tensor name %q is not UTF-8", t.Name)
		}
		var bad *FormatError
		if err := e.checkSize(); errors.As(err, &bad) {
			return nil, fmt.Errorf("weights: %s", bad.Detail)
		}
		seen[t.Name] = true
		offset = e.end
		entries = append(entries, e)
	}
	header, err := formatHeader(f.Metadata, entries)
	if err != nil {
		return nil, err
	}
	if uint64(len(header))+8+offset > MaxFileBytes {
		return nil, fmt.Errorf("weights: %d bytes of tensors, at most %d can be written", offset, MaxFileBytes)
	}
	out := make([]byte, 0, 8+uint64(len(header))+offset)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(header)))
	out = append(out, header...)
	for _, t := range order {
		out = append(out, t.Data...)
	}
	return out, nil
}
