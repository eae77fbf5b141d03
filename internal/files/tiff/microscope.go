package tiff

import (
	"math"
	"strconv"
	"strings"

	"mrprism/internal/files/raster"
)

// units are OME's and ImageJ's units of length in mm. Programs write µm in several ways.
var units = map[string]float64{
	"": 1e-3, "µm": 1e-3, "μm": 1e-3, "\xb5m": 1e-3, "&#181;m": 1e-3, "&#xb5;m": 1e-3, "&#xB5;m": 1e-3,
	"pm": 1e-9, "Å": 1e-7, "nm": 1e-6, "mm": 1, "cm": 10, "dm": 100, "m": 1000, "in": 25.4,
	`\u00B5m`: 1e-3, "micron": 1e-3, "um": 1e-3, "inch": 25.4,
}

// microscope is the size of a pixel, mm across and down, and the distance of slices, mm or 0, in
// the XML by which OME describes the file on its first page. ok is false if the XML does not say
// one size for all pictures of the file. Source: the OME Data Model, 2016-06.
func microscope(description []byte) (mm [3]float64, ok bool) {
	xml := string(description)
	if !strings.Contains(xml, "http://www.openmicroscopy.org/") {
		return mm, false
	}
	for _, part := range strings.Split(strings.ReplaceAll(xml, "<OME:", "<"), "<Pixels ")[1:] {
		element, _, _ := strings.Cut(part, ">")
		var size [3]float64
		for i, name := range []string{"PhysicalSizeX", "PhysicalSizeY", "PhysicalSizeZ"} {
			v, err := strconv.ParseFloat(attribute(element, name), 64)
			if size[i] = v * units[attribute(element, name+"Unit")]; err == nil && raster.Length(size[i]) {
				continue
			} else if i < 2 {
				return mm, false
			}
			size[i] = 0
		}
		if ok && size != mm {
			return mm, false
		}
		mm, ok = size, true
	}
	return mm, ok
}

// imagej is what ImageJ says on the first page: its unit of length, and the distance of slices, in
// mm; 0: it does not say. Source: ImageJ's FileInfo and TiffDecoder.
func imagej(description []byte) (unit, step float64) {
	text, is := strings.CutPrefix(string(description), "ImageJ=")
	said := func(name string) string {
		_, after, _ := strings.Cut(text, "\n"+name+"=")
		value, _, _ := strings.Cut(after, "\n")
		return strings.TrimRight(value, "\r\x00")
	}
	if name := said("unit"); is && name != "" {
		unit = units[name]
	}
	v, err := strconv.ParseFloat(said("spacing"), 64)
	if step = math.Abs(v) * unit; err != nil || !raster.Length(step) { // it is negative in some files
		step = 0
	}
	return unit, step
}

// attribute is the text of an attribute, or empty if the element lacks it.
func attribute(element, name string) string {
	_, rest, _ := strings.Cut(element, name+"=")
	if rest == "" {
		return ""
	}
	value, _, _ := strings.Cut(rest[1:], rest[:1])
	return value
}

// apart is raster.Frame.Apart. ImageJ says on the first page what the pages are.
func (p *page) apart(description []byte) string {
	text := string(description)
	several := strings.HasPrefix(text, "ImageJ=") && (strings.Contains(text, "\nframes=") || strings.Contains(text, "\nchannels="))
	switch {
	case p.colours > 1 || p.photometric == palette:
		return "it is in colour"
	case several:
		return "its pages are times or channels"
	}
	return ""
}
