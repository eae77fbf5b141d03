package objects

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"math"
	"time"

	"mrprism/internal/data/contour"
	"mrprism/internal/output/archive"
)

// imagej is a ZIP of a .roi file for each object. Coordinates are whole numbers, since outlines
// along the pixels are exact.
func imagej(d *Drawing) ([]byte, error) {
	zip := archive.New()
	for _, o := range d.Field.Objects {
		name := fmt.Sprintf("%04d.roi", o.Number)
		if err := zip.Add(name, region(d.Field.Edges(o.Number), o.Box), time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
			return nil, err
		}
	}
	err := zip.Close()
	return zip.Part(), err
}

// The kinds of regions and of segments in ImageJ.
const (
	composite, traced = 1, 8 // composite ones say that they are rectangles
	lineTo, closePath = 1, 4
)

// region is an ImageJ .roi file. One line of few points is a traced region, whose coordinates have
// 16 bits. All others are composite ones, of segments in float32: kind, x, y, kind, x, y, …
// Source: the layout in ij/io/RoiDecoder.java, and the kinds of java.awt.geom.PathIterator.
func region(polygons []contour.Polygon, box image.Rectangle) []byte {
	head := make([]byte, 64)
	copy(head, "Iout")
	order := binary.BigEndian
	order.PutUint16(head[4:], 227) // version
	for i, v := range []int{box.Min.Y, box.Min.X, box.Max.Y, box.Max.X} {
		order.PutUint16(head[8+2*i:], uint16(min(v, math.MaxUint16)))
	}
	if line := polygons[0][0]; len(polygons) == 1 && len(polygons[0]) == 1 && len(line) <= math.MaxInt16 && box.In(image.Rect(0, 0, math.MaxInt16, math.MaxInt16)) {
		head[6] = traced
		order.PutUint16(head[16:], uint16(len(line)-1))
		for axis, from := range []int{box.Min.X, box.Min.Y} {
			for _, p := range line[1:] {
				head = order.AppendUint16(head, uint16(int(p[axis])-from))
			}
		}
		return head
	}
	var path []float32
	for _, polygon := range polygons {
		for _, line := range polygon {
			for i, p := range line[1:] {
				path = append(path, float32(min(i, lineTo)), float32(p[0]), float32(p[1])) // first 0: move
			}
			path = append(path, closePath)
		}
	}
	head[6] = composite
	order.PutUint32(head[36:], uint32(len(path)))
	for _, v := range path {
		head = order.AppendUint32(head, math.Float32bits(v))
	}
	return head
}

// values are JSON, by ascending names.
type values = map[string]any

// geojson has a feature for each object, in polygons along the pixels, as QuPath 0.4 and later read
// it. A measurement that is unknown is left out: QuPath takes no null. Source: RFC 7946, except for
// the coordinates, which are pixels, and qupath/lib/io/QuPathTypeAdapters.java.
func geojson(d *Drawing) ([]byte, error) {
	f, all := d.Field, []values{}
	for _, o := range f.Objects {
		polygons := f.Edges(o.Number)
		shape := values{"type": "MultiPolygon", "coordinates": polygons}
		if len(polygons) == 1 {
			shape = values{"type": "Polygon", "coordinates": polygons[0]}
		}
		measured := values{"Area px^2": o.Area, "Perimeter px": o.Perimeter, "Roundness": o.Roundness, "Disagreement px^2": o.Disagreement}
		if o.Doubt != nil {
			measured["Doubt"] = *o.Doubt
		}
		all = append(all, values{"type": "Feature", "id": identity(f.Width, f.Height, f.Class, o.Number, shape), "geometry": shape, "properties": values{
			"objectType": "detection", "name": fmt.Sprint(o.Number), "classification": values{"name": f.Class}, "measurements": measured}})
	}
	text, err := json.Marshal(values{"type": "FeatureCollection", "features": all})
	return append(text, '\n'), err
}

// identity is a UUID of version 8 (RFC 9562), a hash of what it is given. An object that stays the
// same keeps it.
func identity(of ...any) string {
	text, _ := json.Marshal(of)
	u := sha256.Sum256(text)
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
