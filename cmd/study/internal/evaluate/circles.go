package evaluate

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/text"
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
	out.W, out.H, out.Pix = img.H, img.W, imageio.Turn(img.Pix, img.W, img.H, 3, 1)
	return &out
}

// quarter turns the circle, in pixels, with its image of a height.
func (c circle) quarter(height int) circle { return circle{float64(height) - c.y, c.x, c.r} }

// centreHeader may be the table's first line; the last column may be missing.
var centreHeader = []string{"name", "cx", "cy", "r", "note"}

// readCentres reads a table and finds its images in the folder images beside it. The error is a
// dataset.Problems that names every bad line.
func readCentres(file string) (*album, error) {
	data, err := text.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read (%w)", file, err)
	}
	images, err := imagesByName(filepath.Join(filepath.Dir(file), "images"))
	if err != nil {
		return nil, err
	}
	lines, err := text.Table(data, 4, len(centreHeader))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	set, seen := &album{name: file}, map[string]int{}
	var problems dataset.Problems
	for i, line := range lines {
		if i == 0 && line.IsHead() {
			if n := min(len(line.Fields), len(centreHeader)); n < 4 || !slices.Equal(line.Fields, centreHeader[:n]) {
				return nil, fmt.Errorf("%s: the first line has to be name,cx,cy,r or name,cx,cy,r,note", file)
			}
			continue
		}
		p, err := readPhotograph(line.Fields, images)
		if first := seen[p.name]; err == nil && first > 0 {
			err = fmt.Errorf("%s is already in line %d", p.name, first)
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s, line %d: %v", file, line.Number, err))
			continue
		}
		seen[p.name] = line.Number
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
		name := dataset.NameOf(path)
		images[name] = append(images[name], path)
	}
	return images, err
}

// readPhotograph reads the fields of one line.
func readPhotograph(fields []string, images map[string][]string) (p photograph, err error) {
	if n := len(fields); n < 4 || n > len(centreHeader) {
		return p, fmt.Errorf("it has %d fields; give name,cx,cy,r or name,cx,cy,r,note", n)
	}
	name, _ := dataset.Meant(images, fields[0])
	switch paths := images[name]; {
	case fields[0] == "":
		return p, errors.New("the name is empty")
	case len(paths) > 1:
		return p, fmt.Errorf("several images are called %s; remove or rename all but one", name)
	case len(paths) == 0:
		return p, fmt.Errorf("there is no image images/%s.png, .jpg or .jpeg beside the file", name)
	default:
		p.name, p.path = name, paths[0]
	}
	p.circle, err = readCircle(fields[1:4])
	return p, err
}

// readCircle reads cx, cy and r; nil if all three are empty.
func readCircle(fields []string) (*circle, error) {
	if strings.Join(fields, "") == "" {
		return nil, nil
	}
	var v [3]float64
	for i, field := range fields {
		name := centreHeader[1+i]
		value, err := strconv.ParseFloat(strings.Replace(field, ",", ".", 1), 64) // German has a comma
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
