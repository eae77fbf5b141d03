//go:build !js

package weights

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ReadFile reads a weights file. It refuses more than MaxFileBytes before it allocates memory.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("weights: %s is a folder: name a .safetensors file in it. In the folder of a run this is NAME.safetensors or NAME.best.safetensors", path)
	}
	if !info.Mode().IsRegular() || info.Size() > MaxFileBytes {
		return nil, fmt.Errorf("weights: %s is not a file of at most %d MiB", path, MaxFileBytes>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	return data, nil
}

// BuildManifest lists every NAME.safetensors of a folder. It verifies each as a user's own file. A
// model's name in its metadata must be the file's stem, and its card NAME.md must be in the folder.
func BuildManifest(folder string) (*Manifest, error) {
	m := &Manifest{Models: []Entry{}}
	var others []Entry
	paths, err := filepath.Glob(filepath.Join(folder, "*.safetensors")) // sorted
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		data, err := ReadFile(path)
		if err != nil {
			return nil, err
		}
		model, err := m.Open(path, data)
		if err != nil {
			return nil, err
		}
		file := filepath.Base(path)
		meta := model.Metadata
		if meta.Name != strings.TrimSuffix(file, ".safetensors") {
			return nil, fmt.Errorf("%s: the model is named %q in its metadata; name the file after it", path, meta.Name)
		}
		card := meta.Name + ".md"
		if _, err := os.Stat(filepath.Join(folder, card)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s has no model card; write %s beside it", path, card)
		}
		entry := Entry{Name: meta.Name, File: file, Bytes: len(data), SHA256: model.SHA256, Title: meta.Title,
			Configuration: meta.Configuration, Raters: len(meta.Raters), Classes: len(meta.Classes), Side: meta.Side, Card: card}
		if meta.Anchor != "" {
			m.Models = append(m.Models, entry)
		} else {
			others = append(others, entry)
		}
	}
	m.Models = append(m.Models, others...)
	return m, nil
}
