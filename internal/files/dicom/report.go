package dicom

import (
	"mrprism/internal/files/dicom/elements"
)

// reportForm is a Report's: Comprehensive SR Storage.
var reportForm = form{"1.2.840.10008.5.1.4.1.1.88.33", "SR", "901"}

// Relations of a content item to the one above. Source: PS3.3 C.17.3.2.4.
const (
	Contains     = "CONTAINS"
	Modifies     = "HAS CONCEPT MOD"
	Context      = "HAS OBS CONTEXT"
	Property     = "HAS PROPERTIES"
	InferredFrom = "INFERRED FROM"
)

// Item is a content item of a report. Source: PS3.3 C.17.3 and C.18.
type Item struct {
	Relation string // empty: the root
	Name     Code
	Value    any // a string (TEXT), a Code, a Number or one of the types below; nil: a container
	Items    []*Item
}

// Number is the value of a NUM.
type Number struct {
	Value float64
	Unit  Code
}

// Further values of items: a container that a template of PS3.16 orders; a name; a UID; and an
// image, which is a segment of the DICOM SEG, counted from 1, or 0, the source's frame.
type (
	Template   string
	Person     string
	Identifier string
	Image      int
)

// Report is a DICOM SR of a frame, about segments of a DICOM SEG of the same frame.
type Report struct {
	Derived
	Instance, SegmentSeries string // of the DICOM SEG: Segmentation.UIDs
	Root                    *Item
}

// Encode writes the file, which is complete and which nobody has verified. Equal reports of one day
// and run give equal files. Source: PS3.3 A.35.3, C.17.1 to C.17.3.
func (r *Report) Encode() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return r.file(reportForm, nil, r.own), nil
}

func (r *Report) own(e *elements.Set, _ [3]string, _ []byte) {
	var root, evidence, images, masks elements.Set
	images.Sequence(0x00081199, r.instance(r.Source))
	images.Text(0x0020000e, "UI", r.uid(r.Source.series))
	masks.Sequence(0x00081199, r.segmentation())
	masks.Text(0x0020000e, "UI", r.SegmentSeries)
	evidence.Sequence(0x00081115, images, masks)
	evidence.Text(0x0020000d, "UI", r.uid(r.Source.study))
	root.Sequence(0x00081111)
	root.Sequence(0x0040a372)
	root.Sequence(0x0040a375, evidence)
	root.Text(0x0040a491, "CS", "COMPLETE")
	root.Text(0x0040a493, "CS", "UNVERIFIED")
	*e = elements.Merged(root, r.item(r.Root))
}

// segmentation refers to the DICOM SEG.
func (r *Report) segmentation() (e elements.Set) {
	e.Text(0x00081150, "UI", segmentationForm.class)
	e.Text(0x00081155, "UI", r.Instance)
	return e
}

// longestText bounds a text, characters.
const longestText = 1024

func (r *Report) item(i *Item) elements.Set {
	var e, v elements.Set
	kind := "CONTAINER"
	switch value := i.Value.(type) {
	case string:
		kind = "TEXT"
		v.Text(0x0040a160, "UT", r.label(value, longestText))
	case Person:
		kind = "PNAME"
		v.Text(0x0040a123, "PN", r.label(string(value), 64))
	case Identifier:
		kind = "UIDREF"
		v.Text(0x0040a124, "UI", string(value))
	case Code:
		kind = "CODE"
		v.Sequence(0x0040a168, value.item())
	case Number:
		kind = "NUM"
		var number elements.Set
		number.Sequence(0x004008ea, value.Unit.item())
		number.Decimals(0x0040a30a, value.Value)
		v.Sequence(0x0040a300, number)
	case Image:
		kind = "IMAGE"
		to := r.frame(r.Source)
		if value > 0 {
			to = r.segmentation()
			to.Words(0x0062000b, int(value))
		}
		v.Sequence(0x00081199, to)
	case Template:
		var template elements.Set
		template.Text(0x00080105, "CS", "DCMR")
		template.Text(0x0040db00, "CS", string(value))
		v.Sequence(0x0040a504, template)
	}
	if i.Relation != "" {
		e.Text(0x0040a010, "CS", i.Relation)
	}
	e.Text(0x0040a040, "CS", kind)
	e.Sequence(0x0040a043, i.Name.item())
	if kind == "CONTAINER" {
		e.Text(0x0040a050, "CS", "SEPARATE")
	}
	var items []elements.Set
	for _, one := range i.Items {
		items = append(items, r.item(one))
	}
	if items != nil {
		e.Sequence(0x0040a730, items...)
	}
	return elements.Merged(e, v)
}
