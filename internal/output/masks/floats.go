//go:build !js

package masks

import (
	"fmt"

	"mrprism/internal/files/npy"
	"mrprism/internal/files/tiff"
)

// Floats are the formats that the page does without, and is smaller.
var Floats = []Format{
	{Name: "npy", Ending: ".npy", About: "probability, float32, for NumPy", write: array},
	{Name: "tiff-float", Ending: "_float.tif", About: "probability, float32", write: floatPages},
}

func array(d *Drawing) ([]byte, error) {
	if len(d.Structures) != 1 {
		return nil, fmt.Errorf("an .npy holds one structure, not %d; save them one by one", len(d.Structures))
	}
	return npy.Encode(d.Picture.H, d.Picture.W, d.Structures[0].values()), nil
}

func floatPages(d *Drawing) ([]byte, error) {
	var all []tiff.Page
	for _, s := range d.Structures {
		all = append(all, tiff.Page{Name: s.Name, About: d.comment(s, false), Values: s.values()})
	}
	return tiff.Encode(d.Picture.W, d.Picture.H, d.Picture.Spacing, all)
}
