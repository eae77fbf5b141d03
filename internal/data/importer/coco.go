package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"path/filepath"

	"mrprism/internal/data/coco"
)

// cocoFiles is COCO's form of instance annotations.
var cocoFiles = Layout{
	Name: "coco",
	Description: `COCO: JSON files of images, annotations and categories, with polygons, and RLE compressed or not
           annotations/instances_train.json, images/…: neg_category_ids, as LVIS has them, are empty masks; where an image has
           this field, other labels without annotation are missing`,
	list: func(o *Options) (*listing, error) { return listShapes(o, ".json", parseCOCO) },
}

// parseCOCO reads a file. Source: cocoapi/PythonAPI/pycocotools/coco.py and common/maskApi.c.
func parseCOCO(path string, data []byte) (entries []entry, err error) {
	var file coco.File
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if file.Images == nil || file.Categories == nil {
		return nil, errors.New("has no images or no categories, as a COCO file has")
	}
	names, at := map[int]string{}, map[int]int{}
	for _, c := range file.Categories {
		names[c.ID] = c.Name
	}
	for i, m := range file.Images {
		e := entry{image: m.File, w: m.Width, h: m.Height, group: path, part: filepath.Base(path), listed: m.Absent != nil}
		if e.listed {
			for _, id := range *m.Absent {
				e.absent = append(e.absent, names[id])
			}
		}
		entries, at[m.ID] = append(entries, e), i
	}
	for _, a := range file.Annotations {
		i, known := at[a.Image]
		if !known {
			return nil, fmt.Errorf("its annotation %d is of the image %d, which it has not", a.ID, a.Image)
		}
		s := shape{label: names[a.Category], kind: "a box", attributes: a.Attributes}
		if s.region, err = cocoRegion(a.Segmentation); err != nil {
			return nil, fmt.Errorf("its annotation %d: %w", a.ID, err)
		}
		entries[i].shapes = append(entries[i].shapes, s)
	}
	return entries, nil
}

// cocoRegion is a segmentation: polygons, or runs along the image's columns; nil if there is none.
func cocoRegion(segmentation json.RawMessage) (region, error) {
	var polygons [][]float64
	if len(segmentation) == 0 || json.Unmarshal(segmentation, &polygons) == nil {
		if len(polygons) == 0 {
			return nil, nil
		}
		return func(mask []uint8, w, h int) (err error) {
			for _, points := range polygons {
				err = cmp.Or(err, polygon(points...)(mask, w, h))
			}
			return err
		}, nil
	}
	var of coco.Runs
	if err := json.Unmarshal(segmentation, &of); err != nil {
		return nil, err
	}
	var counts []int
	var text string
	err := json.Unmarshal(of.Counts, &counts)
	if json.Unmarshal(of.Counts, &text) == nil {
		counts, err = coco.Lengths(text)
	}
	return runs(counts, image.Rect(0, 0, of.Size[1], of.Size[0]), true), err
}
