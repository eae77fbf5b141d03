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

// Core is the second class of a finder of many objects: the middle of each, by which objects are
// told apart that touch.
const Core = "core"

// Finder is the small network that looks for the anchor in whole photographs in place of the file's
// own, or for the many objects of a field; nil: there is none. What draws a structure in crops
// forgets to find it, and the other way round.
func (f *File) Finder() (*Model, error) {
	small, err := f.Attached()
	if small == nil || err != nil {
		return nil, err
	}
	about, err := f.fits(small)
	if err != nil {
		return nil, fmt.Errorf("weights: the finder: %w", err)
	}
	if about.Quantization = f.Metadata["quantization"]; about.Quantization != "" {
		small.Metadata["quantization"] = about.Quantization
	}
	return &Model{File: small, Metadata: about}, nil
}

// Attached is the file of the finder, unchecked, or nil.
func (f *File) Attached() (*File, error) {
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
	return small, nil
}

// fits describes small. It refuses what cannot look for the anchor of the model f.
func (f *File) fits(small *File) (Metadata, error) {
	about, err := ParseMetadata(small.Metadata)
	if err != nil {
		return about, err
	}
	m, err := ParseMetadata(f.Metadata)
	switch {
	case err != nil:
		return about, err
	case m.Anchor == "" && len(m.Classes) == 1 && slices.Equal(about.Classes, []string{m.Classes[0], Core}):
		return about, nil
	case m.Anchor == "" || !slices.Equal(about.Classes, []string{m.Anchor}):
		return about, fmt.Errorf("%s marks %s, and %s looks for %q: train it on that class alone, or on fields (train synthetic fields)", about.Name, strings.Join(about.Classes, ", "), m.Name, m.Anchor)
	case m.Side != about.Side:
		return about, fmt.Errorf("%s sees %d pixels, and %s %d: train it at that side", about.Name, about.Side, m.Name, m.Side)
	}
	return about, nil
}

// Join makes small the finder of the model f. It refuses one that does not fit.
func (f *File) Join(small *File) error {
	if _, err := f.fits(small); err != nil {
		return err
	}
	f.Attach(small)
	return nil
}

// Attach writes small, unchecked, into f, in place of an earlier finder. Both are float32.
func (f *File) Attach(small *File) {
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
}

// finds tells whether a tensor is the finder's.
func finds(t Tensor) bool { return strings.HasPrefix(t.Name, finderKey+".") }
