// Package coco has COCO's form of instance annotations, as it is read and written.
// Source: https://cocodataset.org/#format-data and common/maskApi.c of cocodataset/cocoapi.
package coco

import (
	"encoding/json"
	"fmt"
	"image"
)

// File is a file of annotations.
type File struct {
	Images      []Image      `json:"images"`
	Annotations []Annotation `json:"annotations"`
	Categories  []Category   `json:"categories"`
}

// Image is a picture of a file.
type Image struct {
	ID     int    `json:"id"`
	File   string `json:"file_name"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Absent *[]int `json:"neg_category_ids,omitempty"`
}

// Annotation is a marked area of a picture.
type Annotation struct {
	ID           int             `json:"id"`
	Image        int             `json:"image_id"`
	Category     int             `json:"category_id"`
	Segmentation json.RawMessage `json:"segmentation"`
	Area         float64         `json:"area"`
	Box          []float64       `json:"bbox"` // x, y, w, h
	Crowd        int             `json:"iscrowd"`
	Attributes   map[string]any  `json:"attributes,omitempty"`
}

// Category is a class.
type Category struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// Runs is a segmentation by runs along the picture's columns. The first run is outside.
type Runs struct {
	Size   [2]int          `json:"size"`   // h, w
	Counts json.RawMessage `json:"counts"` // numbers, or the text of Text
}

// Mark sets the segmentation, area and box of an annotation. The mask (0: outside) covers the
// rectangle at in a picture of w × h pixels.
func (a *Annotation) Mark(mask []uint8, at image.Rectangle, w, h int) {
	box, end, counts := image.Rectangle{}, 0, []int{}
	for x := at.Min.X; x < at.Max.X; x++ {
		for y := at.Min.Y; y < at.Max.Y; y++ {
			if mask[(y-at.Min.Y)*at.Dx()+x-at.Min.X] == 0 {
				continue
			}
			if here := x*h + y; here != end || a.Area == 0 {
				counts, end = append(counts, here-end, 0), here
			}
			counts[len(counts)-1]++
			end++
			a.Area++
			box = box.Union(image.Rect(x, y, x+1, y+1))
		}
	}
	if end < w*h {
		counts = append(counts, w*h-end)
	}
	text, _ := json.Marshal(Text(counts))
	a.Segmentation, _ = json.Marshal(Runs{[2]int{h, w}, text})
	a.Box = []float64{float64(box.Min.X), float64(box.Min.Y), float64(box.Dx()), float64(box.Dy())}
}

// Lengths are the runs of a compressed text. Source: rleFrString and rleToString of
// cocoapi/common/maskApi.c.
func Lengths(text string) (counts []int, err error) {
	value, shift := 0, 0
	for _, c := range []byte(text) {
		if c -= 48; c > 63 || shift > 55 {
			return nil, fmt.Errorf("its compressed runs hold %q", c+48)
		}
		value |= int(c) & 0x1f << shift
		if shift += 5; c&0x20 != 0 {
			continue
		}
		if c&0x10 != 0 {
			value |= -1 << shift
		}
		if n := len(counts); n > 2 {
			value += counts[n-2]
		}
		counts, value, shift = append(counts, value), 0, 0
	}
	return counts, nil
}

// Text is the inverse of Lengths.
func Text(counts []int) string {
	var text []byte
	for i, value := range counts {
		if i > 2 {
			value -= counts[i-2]
		}
		for more := true; more; {
			c := byte(value & 0x1f)
			value >>= 5
			if more = value != -int(c>>4); more { // the sign is not said yet
				c |= 0x20
			}
			text = append(text, c+48)
		}
	}
	return string(text)
}
