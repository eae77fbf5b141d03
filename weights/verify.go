package weights

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
)

const contentKey = "content_sha256"

// ContentSum hashes each tensor's name, element type, shape and bytes, in the order of the names,
// and every metadata entry but the sum itself. The order of the tensors in the file does not change
// it.
func (f *File) ContentSum() string { return f.sum() }

// sum is ContentSum, also without the metadata entries of other keys.
func (f *File) sum(without ...string) string {
	h := sha256.New()
	tensors := make([]*Tensor, len(f.Tensors))
	for i := range tensors {
		tensors[i] = &f.Tensors[i]
	}
	slices.SortStableFunc(tensors, func(a, b *Tensor) int { return strings.Compare(a.Name, b.Name) })
	writeCount(h, len(tensors))
	for _, t := range tensors {
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
		if key != contentKey && !slices.Contains(without, key) {
			writeField(h, key)
			writeField(h, f.Metadata[key])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Seal stores the content sum in the metadata. Call it last, before Encode.
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
	h.Write(le.AppendUint64(nil, uint64(n)))
}

// writeField writes the length before the text: two different lists of fields never hash the same.
func writeField(h hash.Hash, s string) {
	writeCount(h, len(s))
	h.Write([]byte(s))
}

// Model is a verified file.
type Model struct {
	*File
	Metadata Metadata
	SHA256   string   // of the whole file, hex
	Shipped  bool     // the sum is in the manifest; otherwise the file is the user's own
	Served   bool     // the manifest has the sum of a file that does not ship: Entry.Served
	Proof    string   // Entry.Proof of a shipped model
	Others   []*Model // the other members, if this is an ensemble
	Draws    int      // possible masks that inference is to draw beside the raters' (model.Config.Draws)
	Sums     []string // SHA256 of each member's file, if this is an ensemble
}

// Name is the name that programs use: a shipped model's own name, or "own-" and the sum of a user's
// file. Therefore a user's file cannot be mistaken for a shipped model, or for another file with
// its name.
func (m *Model) Name() string {
	if m.Shipped {
		return m.Metadata.Name
	}
	return "own-" + m.SHA256[:12]
}

// Label is the model's title for people. It says when the weights do not ship, and whose they are.
func (m *Model) Label() string {
	title := cmp.Or(m.Metadata.Title, m.Metadata.Name)
	if m.Shipped {
		return title
	}
	if m.Served {
		return title + " (weights of this server, " + m.SHA256[:12] + ")"
	}
	return title + " (your own weights, " + m.SHA256[:12] + ")"
}

// ErrUnusable is the kind of Open's errors: the bytes are no weights file, or no whole one.
var ErrUnusable = errors.New("no usable weights file")

type unusable struct{ error }

func (u unusable) Unwrap() error        { return u.error }
func (u unusable) Is(target error) bool { return target == ErrUnusable }

// Open decodes and verifies a weights file: the rules of the format, complete metadata, the content
// sum and finite values. The model is a shipped one, or one that the server offers, if the SHA-256
// of the file is in the manifest, and otherwise the user's own. name is for error messages.
func (m *Manifest) Open(name string, data []byte) (*Model, error) {
	sum := sha256.Sum256(data)
	model := &Model{SHA256: hex.EncodeToString(sum[:])}
	for _, e := range m.Models {
		if e.SHA256 == model.SHA256 {
			model.Shipped, model.Served, model.Proof = !e.Served, e.Served, e.Proof
		}
	}
	var err error
	if model.File, err = Decode(data); err == nil {
		model.Metadata, err = ParseMetadata(model.File.Metadata)
	}
	if err == nil {
		err = model.VerifyContent()
	}
	if err == nil {
		err = model.checkFinite()
	}
	if err != nil {
		return nil, unusable{fmt.Errorf("%s: %w", name, err)}
	}
	model.Metadata.Certificate = model.File.certified(model.Metadata.Certificate)
	return model, nil
}

// checkFinite reads every floating-point tensor. The error names the first tensor that has a NaN or
// an infinite value.
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
