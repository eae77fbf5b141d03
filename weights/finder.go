package weights

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// finderKey is the metadata entry with the metadata of a finder, and begins the names of its
// tensors.
const finderKey = "finder"

// Finder is the small network that looks for the anchor in whole photographs in place of the file's
// own, or nil. What draws a structure in crops forgets to find it, and the other way round.
func (f *File) Finder() (*Model, error) {
	text := f.Metadata[finderKey]
	if text == "" {
		return nil, nil
	}
	small := &File{}
	if err := json.Unmarshal([]byte(text), &small.Metadata); err != nil {
		return nil, fmt.Errorf("weights: metadata %q: %w", finderKey, err)
	}
	for _, t := range f.Tensors {
		if name, ok := strings.CutPrefix(t.Name, finderKey+"."); ok {
			t.Name = name
			small.Tensors = append(small.Tensors, t)
		}
	}
	about, err := ParseMetadata(small.Metadata)
	if err == nil {
		err = fits(f.Metadata, &about)
	}
	if err != nil {
		return nil, fmt.Errorf("weights: the finder: %w", err)
	}
	if about.Quantization = f.Metadata["quantization"]; about.Quantization != "" {
		small.Metadata["quantization"] = about.Quantization
	}
	return &Model{File: small, Metadata: about}, nil
}

// fits refuses what cannot look for the anchor of a model.
func fits(metadata map[string]string, small *Metadata) error {
	m, err := ParseMetadata(metadata)
	switch {
	case err != nil:
		return err
	case m.Anchor == "" || !slices.Equal(small.Classes, []string{m.Anchor}):
		return fmt.Errorf("%s marks %s, and %s looks for %q: train it on that class alone", small.Name, strings.Join(small.Classes, ", "), m.Name, m.Anchor)
	case m.Side != small.Side:
		return fmt.Errorf("%s sees %d pixels, and %s %d: train it at that side", small.Name, small.Side, m.Name, m.Side)
	}
	return nil
}

// Join makes small the file's finder, in place of an earlier one. Both are float32. What the file
// says of trust was learned with the finder before, and goes.
func (f *File) Join(small *File) error {
	about, err := ParseMetadata(small.Metadata)
	if err == nil {
		err = fits(f.Metadata, &about)
	}
	if err != nil {
		return err
	}
	f.Tensors = slices.DeleteFunc(slices.Clone(f.Tensors), finds)
	for _, t := range small.Tensors {
		if !finds(t) {
			t.Name = finderKey + "." + t.Name
			f.Tensors = append(f.Tensors, t)
		}
	}
	own := maps.Clone(small.Metadata)
	maps.DeleteFunc(own, func(key, _ string) bool { return key == contentKey || key == finderKey || key == "trust" })
	f.Metadata = maps.Clone(f.Metadata)
	f.Metadata[finderKey] = asJSON(own)
	delete(f.Metadata, "trust")
	return nil
}

// finds tells whether a tensor is the finder's.
func finds(t Tensor) bool { return strings.HasPrefix(t.Name, finderKey+".") }
