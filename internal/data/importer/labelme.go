package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
)

// labelme is the form of labelme: a file for each image.
var labelme = Layout{
	Name:        "labelme",
	Description: `labelme: NAME.json with NAME.jpg beside it, polygons and masks. A folder is a rater if another one has the same images`,
	list:        func(o *Options) (*listing, error) { return listShapes(o, ".json", parseLabelme) },
}

// parseLabelme reads a file. Source: labelme/_label_file.py and labelme/utils/shape.py.
func parseLabelme(path string, data []byte) ([]entry, error) {
	var file struct {
		Shapes                  *[]json.RawMessage
		ImagePath               string
		ImageWidth, ImageHeight int
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if file.Shapes == nil || file.ImagePath == "" {
		return nil, errors.New("has no shapes or no imagePath, as a labelme file has")
	}
	e := entry{image: file.ImagePath, w: file.ImageWidth, h: file.ImageHeight, group: filepath.Dir(path), read: true}
	for i, raw := range *file.Shapes {
		var of struct {
			Label  string
			Mask   []byte
			Kind   string `json:"shape_type"`
			Points [][2]float64
		}
		s := shape{}
		if err := errors.Join(json.Unmarshal(raw, &of), json.Unmarshal(raw, &s.attributes)); err != nil {
			return nil, fmt.Errorf("its shape %d: %w", i+1, err)
		}
		s.label, s.kind = of.Label, "a "+of.Kind
		switch {
		case of.Kind == "polygon" || of.Kind == "":
			s.region = polygon(flat(of.Points, 1, 1)...)
		case of.Kind == "mask" && len(of.Points) > 0:
			s.region = bitmap(of.Mask, int(of.Points[0][0]), int(of.Points[0][1]))
		}
		e.shapes = append(e.shapes, s)
	}
	return []entry{e}, nil
}

// flat are the numbers of points, which have a scale.
func flat(points [][2]float64, x, y float64) (all []float64) {
	for _, p := range points {
		all = append(all, x*p[0], y*p[1])
	}
	return all
}
