package agree

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"mrprism/internal/study/picture"
)

//go:embed raters.html
var ratersPage string

var ratersTemplate = template.Must(template.New("raters").Parse(ratersPage))

// pageClass is a structure on the page.
type pageClass struct {
	Class string
	Tree  template.HTML
	Cells []pageCell
}

type pageCell struct {
	Name, Figure string
	Picture      template.URL
}

// page writes the report as one HTML file that needs no other file.
func (r *Report) page(w io.Writer) error {
	type colour struct{ Name, Ink string }
	content := struct {
		Name    string
		Summary []string
		Grids   []grid
		Colours []colour
		Classes []pageClass
	}{Name: r.Name, Summary: r.summary(), Grids: r.grids()}
	for m, rater := range r.Raters {
		c := picture.RaterColour(m)
		content.Colours = append(content.Colours, colour{rater, fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)})
	}
	for _, c := range r.Classes {
		one := pageClass{Class: c.Class}
		if d := r.dendrogram(c); d != nil {
			var svg bytes.Buffer
			if err := d.Write(&svg); err != nil {
				return err
			}
			one.Tree = template.HTML(svg.String()) // chart escapes the names
		}
		for _, cell := range c.cells {
			uri, err := picture.Embedded(cell.Picture)
			if err != nil {
				return err
			}
			one.Cells = append(one.Cells, pageCell{cell.Name, cell.Figure, uri})
		}
		content.Classes = append(content.Classes, one)
	}
	return ratersTemplate.Execute(w, content)
}
