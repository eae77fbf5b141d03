package main

import (
	"encoding/json"
	"path/filepath"

	"mrprism/weights"
)

// limitsOf reads the cards of the models that ship, in folder, and gives their limits as JSON:
// sentences by the model's name. The page prints them in a report, without a network too.
func limitsOf(folder string) (string, error) {
	all := map[string][]string{}
	for _, entry := range weights.Shipped().Models {
		d, err := weights.ReadDescribed(filepath.Join(folder, entry.File))
		if err != nil {
			return "", err
		}
		all[entry.Name] = d.Card.Limits()
	}
	text, err := json.MarshalIndent(all, "", "  ")
	return string(text), err
}
