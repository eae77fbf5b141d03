// Package shipped has the files of the models that ship. They are embedded into native programs.
// The page fetches them, and no program of the page embeds them.
package shipped

import "mrprism/weights"

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
