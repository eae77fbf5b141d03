package contour

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Figure is the outline of a structure in an image.
type Figure struct {
	Structure string
	By        string // "consensus", or who drew or would draw it
	Corrected bool   // a person corrected it
	Lines     Lines
}

// colours are those of the page's structures (site/draw/colours.js).
var colours = []string{"#3fd0ff", "#bef55c", "#f57db7", "#ab9a7c", "#6a79ff", "#f1daba"}

// Colour is the colour of a structure's outlines, as #rrggbb.
func Colour(structure int) string { return colours[structure%len(colours)] }

// xmlEscapes replaces the characters that XML reserves.
var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// escaped is a text for use within XML.
func escaped(text string) string {
	return xmlEscapes.Replace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xfffe || r == 0xffff {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "")))
}

// SVG writes a path for each figure, in pixels of an image of w × h. The title of a path says
// whether a person corrected the figure.
func SVG(w, h int, figures []Figure) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n", w, h, w, h)
	fmt.Fprintf(&out, "<desc>Outlines by MrPrism, in pixels of the image.</desc>\n")
	for i, f := range figures {
		about := f.Structure + ", " + f.By
		if f.Corrected {
			about += ", corrected by hand"
		}
		colour := Colour(i)
		fmt.Fprintf(&out, `<path data-structure="%s" fill="%s" fill-opacity="0.2" fill-rule="evenodd" stroke="%s" stroke-width="2" vector-effect="non-scaling-stroke" d="%s`,
			escaped(f.Structure), colour, colour, f.Lines.Path())
		fmt.Fprintf(&out, "\"><title>%s</title></path>\n", escaped(about))
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// Path is lines as the data of an SVG path.
func (l Lines) Path() string {
	var out strings.Builder
	for _, polygon := range l.Polygons() {
		for _, points := range polygon {
			for k, p := range points[:len(points)-1] {
				letter := "L"
				if k == 0 {
					letter = "M"
				}
				fmt.Fprintf(&out, "%s%g %g", letter, p[0], p[1])
			}
			out.WriteString("Z")
		}
	}
	return out.String()
}

type collection struct {
	Type     string    `json:"type"`
	Features []feature `json:"features"`
}

type feature struct {
	Type       string     `json:"type"`
	Properties properties `json:"properties"`
	Geometry   *geometry  `json:"geometry"` // null if nothing is marked
}

type properties struct {
	Structure string `json:"structure"`
	By        string `json:"by"`
	Corrected bool   `json:"corrected_by_hand"`
	Width     int    `json:"image_width"`
	Height    int    `json:"image_height"`
	Units     string `json:"units"`
}

type geometry struct {
	Type        string `json:"type"`
	Coordinates any    `json:"coordinates"`
}

// GeoJSON writes a feature for each figure: a Polygon or MultiPolygon in pixels of an image of w ×
// h, or null if nothing is marked. Source: RFC 7946, except for the coordinates.
func GeoJSON(w, h int, figures []Figure) ([]byte, error) {
	all := collection{"FeatureCollection", []feature{}}
	for _, f := range figures {
		made := feature{Type: "Feature", Properties: properties{f.Structure, f.By, f.Corrected, w, h, "pixels, y down"}}
		switch polygons := f.Lines.Polygons(); {
		case len(polygons) == 1:
			made.Geometry = &geometry{"Polygon", polygons[0]}
		case len(polygons) > 1:
			made.Geometry = &geometry{"MultiPolygon", polygons}
		}
		all.Features = append(all.Features, made)
	}
	text, err := json.Marshal(all)
	return append(text, '\n'), err
}
