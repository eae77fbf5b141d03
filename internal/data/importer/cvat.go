package importer

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"slices"
	"strconv"
	"strings"
)

// cvat is the form "CVAT for images 1.1".
var cvat = Layout{
	Name: "cvat",
	Description: `CVAT ("CVAT for images 1.1" of tasks, jobs or a project): annotations.xml, images/…; polygons and masks.
           The assignee is the rater; without one, a task or file is a rater if another one has the same images`,
	list: func(o *Options) (*listing, error) { return listShapes(o, ".xml", parseCVAT) },
}

type cvatTask struct {
	ID       string `xml:"id"`
	Name     string `xml:"name"`
	Assignee string `xml:"assignee>username"`
}

type cvatShape struct {
	XMLName    xml.Name
	Label      string `xml:"label,attr"`
	Points     string `xml:"points,attr"`
	Runs       string `xml:"rle,attr"`
	Left       int    `xml:"left,attr"`
	Top        int    `xml:"top,attr"`
	Width      int    `xml:"width,attr"`
	Height     int    `xml:"height,attr"`
	Attributes []struct {
		Name string `xml:"name,attr"`
		Text string `xml:",chardata"`
	} `xml:"attribute"`
}

// parseCVAT reads a file. Source: https://docs.cvat.ai/docs/manual/advanced/xml_format and
// cvat/apps/dataset_manager/bindings.py.
func parseCVAT(path string, data []byte) (entries []entry, err error) {
	var file struct {
		XMLName xml.Name   `xml:"annotations"`
		Tasks   []cvatTask `xml:"meta>task"`
		Jobs    []cvatTask `xml:"meta>job"`
		Several []cvatTask `xml:"meta>project>tasks>task"`
		Images  []struct {
			Name   string      `xml:"name,attr"`
			Task   string      `xml:"task_id,attr"`
			Subset string      `xml:"subset,attr"`
			Width  int         `xml:"width,attr"`
			Height int         `xml:"height,attr"`
			Shapes []cvatShape `xml:",any"`
		} `xml:"image"`
		Tracks []struct{} `xml:"track"`
	}
	if err := xml.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if len(file.Tracks) > 0 {
		return nil, errors.New(`holds the tracks of a video; export the task as "CVAT for images"`)
	}
	var task cvatTask
	for _, task = range append(file.Tasks, file.Jobs...) {
	}
	for _, m := range file.Images {
		group := path
		if i := slices.IndexFunc(file.Several, func(t cvatTask) bool { return t.ID == m.Task }); i >= 0 {
			task = file.Several[i]
			group = task.Name
		}
		e := entry{image: m.Name, w: m.Width, h: m.Height, person: task.Assignee, group: group, part: m.Subset}
		for _, of := range m.Shapes {
			s := shape{label: of.Label, kind: "a " + of.XMLName.Local, attributes: map[string]any{}}
			for _, a := range of.Attributes {
				s.attributes[a.Name] = strings.TrimSpace(a.Text)
			}
			if s.region, err = of.region(); err != nil {
				return nil, fmt.Errorf("%s in %s: %w", s.kind, m.Name, err)
			}
			if s.kind != "a tag" {
				e.shapes = append(e.shapes, s)
			}
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// region is nil if the shape is no area.
func (s *cvatShape) region() (r region, err error) {
	var numbers []float64
	for _, part := range strings.FieldsFunc(s.Points+s.Runs, func(r rune) bool { return strings.ContainsRune(",; ", r) }) {
		n, failed := strconv.ParseFloat(part, 64)
		numbers, err = append(numbers, n), cmp.Or(err, failed)
	}
	switch s.XMLName.Local {
	case "polygon":
		r = polygon(numbers...)
	case "mask":
		var counts []int
		for _, n := range numbers {
			counts = append(counts, int(n))
		}
		r = runs(counts, image.Rect(s.Left, s.Top, s.Left+s.Width, s.Top+s.Height), false)
	}
	return r, err
}
