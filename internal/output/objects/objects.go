// Package objects writes the objects of a field, such as cells, in the formats that other programs
// read. Equal fields give equal bytes.
package objects

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"strconv"
	"strings"

	"mrprism/internal/choice"
	"mrprism/internal/data/coco"
	"mrprism/internal/data/instances"
	"mrprism/internal/files/cells"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"
	"mrprism/internal/files/tiff"
	"mrprism/internal/output/masks"
	"mrprism/shaders/pulse"
)

// Drawing is the objects of a picture.
type Drawing struct {
	Field      *instances.Field
	Picture    *imageio.Image // its file's properties; pixels are not needed
	Name       string         // of the picture's file
	Semicolons bool           // as of cells.Table
}

// Format is a form of file.
type Format struct {
	Name   string // for flags and messages
	Ending string // of the file's name
	About  string // for people
	Write  func(d *Drawing) ([]byte, error)
}

// Formats are all formats. The first is the default.
var Formats = []Format{
	{"labels-png", "_labels.png", "numbers of objects, 16 bits", labelsPNG},
	{"labels-tiff", "_labels.tif", "numbers of objects, 16 bits, for ImageJ and napari", labelsTIFF},
	{"labels-nifti", "_labels.nii.gz", "numbers of objects, 16 bits, in the space of a NIfTI or DICOM source", labelsNIfTI},
	{"imagej", "_rois.zip", "outlines for ImageJ's ROI Manager, along the pixels", imagej},
	{"geojson", "_objects.geojson", "outlines and measurements as QuPath's detections", geojson},
	{"csv", "_objects.csv", "a line of measurements for each object", table},
	{"coco", "_coco.json", "masks as COCO's compressed RLE", annotations},
}

// Find returns the format of a name.
func Find(name string) (Format, error) {
	return choice.Find("format", name, Formats, func(f Format) string { return f.Name })
}

// Names are the names of all formats, separated by commas.
func Names() string {
	var names []string
	for _, f := range Formats {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

func labelsPNG(d *Drawing) ([]byte, error) {
	grey := image.NewGray16(image.Rect(0, 0, d.Field.Width, d.Field.Height))
	for i, n := range d.Field.Labels {
		grey.Pix[2*i], grey.Pix[2*i+1] = uint8(n>>8), uint8(n)
	}
	var out bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(pulse.Writer(&out), grey)
	return out.Bytes(), err
}

// about describes a label image in one line.
func (d *Drawing) about() string { return "MrPrism: numbers of objects, " + d.Field.Class }

func labelsTIFF(d *Drawing) ([]byte, error) {
	page := tiff.Page{Name: d.Field.Class, About: d.about(), Labels: d.Field.Labels}
	return tiff.Encode(d.Field.Width, d.Field.Height, d.Picture.Spacing, []tiff.Page{page})
}

func labelsNIfTI(d *Drawing) ([]byte, error) {
	labels, place, w, h := masks.Placed(d.Picture, d.Field.Labels)
	return nifti.EncodeLabels(w, h, place, d.Picture.PixelSize(), d.about(), labels)
}

// annotations has the number of an object as the annotation's.
func annotations(d *Drawing) ([]byte, error) {
	f := d.Field
	file := coco.File{
		Images:      []coco.Image{{ID: 1, File: d.Name, Width: f.Width, Height: f.Height}},
		Annotations: []coco.Annotation{}, Categories: []coco.Category{{ID: 1, Name: f.Class}},
	}
	for _, o := range f.Objects {
		a := coco.Annotation{ID: int(o.Number), Image: 1, Category: 1}
		a.Mark(f.Mask(o.Number, o.Box), o.Box, f.Width, f.Height)
		file.Annotations = append(file.Annotations, a)
	}
	text, err := json.Marshal(file)
	return append(text, '\n'), err
}

// figure is a measurement with six significant digits.
func figure(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// table has areas in mm² too, or in µm² if a pixel is smaller than 10 µm, and perimeters in mm or
// µm if pixels are square. x and y are the centroid; the middle of the first pixel is 0.5.
func table(d *Drawing) ([]byte, error) {
	t := cells.Table{Semicolons: d.Semicolons, Columns: []string{
		"number", "class", "x_px", "y_px", "area_px", "perimeter_px", "roundness", "disagreement_px", "cut", "doubt", "by"}}
	size, unit := d.Picture.PixelSize(), "mm"
	if size[0] < .01 {
		size[0], size[1], unit = 1000*size[0], 1000*size[1], "um"
	}
	known := size[0] > 0 && size[1] > 0
	square := known && max(size[0], size[1]) < 1.001*min(size[0], size[1])
	if known {
		t.Columns = append(t.Columns, "area_"+unit+"2")
	}
	if square {
		t.Columns = append(t.Columns, "perimeter_"+unit)
	}
	for _, o := range d.Field.Objects {
		doubt := ""
		if o.Doubt != nil {
			doubt = figure(*o.Doubt)
		}
		line := []string{strconv.Itoa(int(o.Number)), cells.Guarded(d.Field.Class), figure(o.X), figure(o.Y), strconv.Itoa(o.Area), figure(o.Perimeter),
			figure(o.Roundness), figure(o.Disagreement), strconv.FormatBool(o.Cut), doubt, cells.Guarded(o.By)}
		if known {
			line = append(line, figure(float64(o.Area)*size[0]*size[1]))
		}
		if square {
			line = append(line, figure(o.Perimeter*size[0]))
		}
		t.Lines = append(t.Lines, line)
	}
	return t.Bytes()
}
