package evaluate

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/files/imageio"
)

// circle is the place of a structure, in pixels or in shares: x and r of the image's width, y of
// its height.
type circle struct{ x, y, r float64 }

// of converts a circle from shares to pixels of an image.
func (c circle) of(img *imageio.Image) circle {
	w, h := float64(img.W), float64(img.H)
	return circle{c.x * w, c.y * h, c.r * w}
}

// Limits of a right mask: the distance of its centroid in radii, and its area in areas of the
// circle.
const (
	farthest = 1
	smallest = 0.4
	largest  = 2.5
)

// compare compares the pixels of a mask (H, W) above one half with the circle, in pixels. The
// distance is that of their centroid from the centre in radii, NaN without pixels; the area is in
// areas of the circle.
func (c circle) compare(mask []float32, w int) (distance, area float64) {
	n, x, y := 0., 0., 0.
	for i, v := range mask {
		if v > .5 {
			n++
			x += float64(i%w) + .5
			y += float64(i/w) + .5
		}
	}
	return math.Hypot(x/n-c.x, y/n-c.y) / c.r, float64(metric.Area(mask)) / (math.Pi * c.r * c.r)
}

// quarter turns an image clockwise by 90 degrees.
func quarter(img *imageio.Image) *imageio.Image {
	out := *img
	out.W, out.H, out.Pix = img.H, img.W, imageio.Turn(img.Pix, img.W, img.H, 3)
	return &out
}

// quarter turns the circle, in pixels, with its image of a height.
func (c circle) quarter(height int) circle { return circle{float64(height) - c.y, c.x, c.r} }

// centreHeader is the CSV's; the last column may be missing.
var centreHeader = []string{"name", "cx", "cy", "r", "note"}

// readCentres reads a CSV and finds its images in the folder images beside it. The error is a
// dataset.Problems that names every bad line.
func readCentres(file string) (*album, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	images, err := imagesByName(filepath.Join(filepath.Dir(file), "images"))
	if err != nil {
		return nil, err
	}
	// Excel writes a byte order mark
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	r.FieldsPerRecord = -1
	header, err := r.Read()
	if err != nil || !slices.Equal(header, centreHeader) && !slices.Equal(header, centreHeader[:4]) {
		return nil, fmt.Errorf("%s: the first line has to be name,cx,cy,r or name,cx,cy,r,note", file)
	}
	set, seen := &album{name: file}, map[string]int{}
	var problems dataset.Problems
	for {
		fields, err := r.Read()
		if err == io.EOF {
			break
		}
		line, p, err := readPhotograph(r, fields, len(header), err)
		paths := images[p.name]
		switch first := seen[p.name]; {
		case err != nil:
		case first > 0:
			err = fmt.Errorf("%s is already in line %d", p.name, first)
		case len(paths) > 1:
			err = fmt.Errorf("several images are called %s; remove or rename all but one", p.name)
		case len(paths) == 0:
			err = fmt.Errorf("there is no image images/%s.png, .jpg or .jpeg beside the file", p.name)
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s, line %d: %v", file, line, err))
			continue
		}
		seen[p.name], p.path = line, paths[0]
		set.photographs = append(set.photographs, p)
	}
	switch {
	case len(problems) > 0:
		return nil, problems
	case len(set.photographs) == 0:
		return nil, fmt.Errorf("%s: it names no photograph", file)
	}
	return set, nil
}

// imagesByName are a folder's pictures by name without extension.
func imagesByName(dir string) (map[string][]string, error) {
	images := map[string][]string{}
	paths, err := pictures(dir)
	for _, path := range paths {
		name := imageio.Stem(path)
		images[name] = append(images[name], path)
	}
	return images, err
}

// readPhotograph reads the fields of one line and returns its number. failed is the CSV reader's
// error.
func readPhotograph(r *csv.Reader, fields []string, columns int, failed error) (line int, p photograph, err error) {
	if broken := (*csv.ParseError)(nil); errors.As(failed, &broken) {
		return broken.StartLine, p, broken.Err
	}
	line, _ = r.FieldPos(0)
	if len(fields) != columns {
		return line, p, fmt.Errorf("it has %d fields, and the first line has %d", len(fields), columns)
	}
	if p.name = strings.TrimSpace(fields[0]); p.name == "" {
		return line, p, errors.New("the name is empty")
	}
	p.circle, err = readCircle(fields[1:4])
	return line, p, err
}

// readCircle reads cx, cy and r; nil if all three are empty.
func readCircle(fields []string) (*circle, error) {
	if strings.TrimSpace(strings.Join(fields, "")) == "" {
		return nil, nil
	}
	var v [3]float64
	for i, field := range fields {
		name := centreHeader[1+i]
		value, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil {
			return nil, fmt.Errorf("%s is %q and not a number; leave cx, cy and r all empty if the structure is absent", name, field)
		}
		if !(value >= 0 && value <= 1) {
			return nil, fmt.Errorf("%s is %s; it has to be a share, 0 to 1", name, field)
		}
		v[i] = value
	}
	if v[2] == 0 {
		return nil, errors.New("r is 0; it has to be above 0")
	}
	return &circle{v[0], v[1], v[2]}, nil
}
