package weights

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
)

const contentKey = "content_sha256"

// ContentSum hashes everything a file means: each tensor's name, element type, shape and bytes in the order of names, and every metadata
// entry but the sum itself. It does not depend on the order of tensors in the file.
func (f *File) ContentSum() string {
	h := sha256.New()
	tensors := slices.Clone(f.Tensors)
	slices.SortFunc(tensors, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
	writeCount(h, len(tensors))
	for i := range tensors {
		t := &tensors[i]
		writeField(h, t.Name)
		writeField(h, string(t.DType))
		writeCount(h, len(t.Shape))
		for _, d := range t.Shape {
			writeCount(h, d)
		}
		writeCount(h, len(t.Data))
		h.Write(t.Data)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		if key != contentKey {
			writeField(h, key)
			writeField(h, f.Metadata[key])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Seal stores the content sum in the metadata; call it last, before Encode.
func (f *File) Seal() {
	if f.Metadata == nil {
		f.Metadata = map[string]string{}
	}
	f.Metadata[contentKey] = f.ContentSum()
}

// VerifyContent compares the content with the sum the file carries.
func (f *File) VerifyContent() error {
	stored := f.Metadata[contentKey]
	if stored == "" {
		return fmt.Errorf("weights: the file carries no %s; write it with train or export", contentKey)
	}
	if sum := f.ContentSum(); sum != stored {
		return fmt.Errorf("weights: the file is damaged: its content hashes to %.12s…, it was written with %.12s…; get the file again", sum, stored)
	}
	return nil
}

func writeCount(h hash.Hash, n int) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

// writeField writes the length before the text, so that no two lists of fields hash the same.
func writeField(h hash.Hash, s string) {
	writeCount(h, len(s))
	h.Write([]byte(s))
}

// Model is a verified file.
type Model struct {
	*File
	Metadata Metadata
	SHA256   string // of the whole file, hex
	Shipped  bool   // one of ours, by its sum; otherwise the user's own
	Proof    string // of a shipped one, its entry's
}

// Name is what programs call the model: the name that it ships under, or "own-" and the sum of a user's own, which can so neither stand in for
// a shipped model nor for another of the same name.
func (m *Model) Name() string {
	if m.Shipped {
		return m.Metadata.Name
	}
	return "own-" + m.SHA256[:12]
}

// Label says whose weights these are, for the page and the commands.
func (m *Model) Label() string {
	title := m.Metadata.Title
	if title == "" {
		title = m.Metadata.Name
	}
	if m.Shipped {
		return title
	}
	return title + " (your own weights, " + m.SHA256[:12] + ")"
}

// Open decodes and verifies a weights file. Where the file is one of the manifest's by its SHA-256 it is a shipped one. Any other is the
// user's own, whose content must hash to the sum in its metadata. Either way the format's rules hold, the metadata is complete, and every
// value is finite. name stands in messages.
func (m *Manifest) Open(name string, data []byte) (*Model, error) {
	sum := sha256.Sum256(data)
	model := &Model{SHA256: hex.EncodeToString(sum[:])}
	for _, e := range m.Models {
		if e.SHA256 == model.SHA256 {
			model.Shipped, model.Proof = true, e.Proof
		}
	}
	var err error
	if model.File, err = Decode(data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if model.Metadata, err = ParseMetadata(model.File.Metadata); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := model.VerifyContent(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := model.checkFinite(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return model, nil
}

// checkFinite reads every floating-point tensor. It names the tensor with the first value that is NaN or infinite.
func (f *File) checkFinite() error {
	for i := range f.Tensors {
		switch t := &f.Tensors[i]; t.DType {
		case F64, F32, F16, BF16:
			if _, err := t.Float32(); err != nil {
				return err
			}
		}
	}
	return nil
}
