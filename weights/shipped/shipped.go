//go:build !js

// Package shipped embeds the files of the models that ship into native programs. The page fetches
// these files. The package does not build for the page, so that no program of the page can embed
// them by mistake.
package shipped

import (
	"embed"
	"fmt"

	"mrprism/weights"
)

// The pattern matches *.md and *.safetensors but not this source, and it matches something even
// when there is no model.
//
//go:embed *[ds]
var files embed.FS

// File returns a shipped file's bytes: a model or its card, named as in the manifest.
func File(name string) ([]byte, error) {
	data, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("weights: %s was not there when this program was built", name)
	}
	return data, nil
}

// Open returns the shipped model of that name, verified.
func Open(name string) (*weights.Model, error) {
	manifest := weights.Shipped()
	entry, err := manifest.Find(name)
	if err != nil {
		return nil, err
	}
	data, err := File(entry.File)
	if err != nil {
		return nil, err
	}
	return manifest.OpenShipped(name, data)
}
