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

// Item is a content item of a report. It has one value: the one that is set. Without a value it is a
// container. Source: PS3.3 C.17.3 and C.18.
type Item struct {
	Relation string // empty: the root
	Name     Code

	Text    string
	Person  string // a name
	Code    Code
	Number  *float64 // in Unit
	Unit    Code
	UID     string
	Image   bool // the source's frame
	Segment int  // of the DICOM SEG, from 1

	Template string // that orders a container, by PS3.16
	Items    []Item
}

// Report is a DICOM SR of a frame, about segments of a DICOM SEG of the same frame.
type Report struct {
	Derived
	Instance, SegmentSeries string // of the DICOM SEG: Segmentation.UIDs
	Root                    Item
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

func (r *Report) item(i Item) elements.Set {
	var e, v elements.Set
	kind := "CONTAINER"
	switch {
	case i.Text != "":
		kind = "TEXT"
		v.Text(0x0040a160, "UT", r.label(i.Text, longestText))
	case i.Person != "":
		kind = "PNAME"
		v.Text(0x0040a123, "PN", r.label(i.Person, 64))
	case i.Code != Code{}:
		kind = "CODE"
		v.Sequence(0x0040a168, i.Code.item())
	case i.Number != nil:
		kind = "NUM"
		var value elements.Set
		value.Sequence(0x004008ea, i.Unit.item())
		value.Decimals(0x0040a30a, *i.Number)
		v.Sequence(0x0040a300, value)
	case i.UID != "":
		kind = "UIDREF"
		v.Text(0x0040a124, "UI", i.UID)
	case i.Segment > 0:
		kind = "IMAGE"
		segment := r.segmentation()
		segment.Words(0x0062000b, i.Segment)
		v.Sequence(0x00081199, segment)
	case i.Image:
		kind = "IMAGE"
		v.Sequence(0x00081199, r.frame(r.Source))
	default:
		v.Text(0x0040a050, "CS", "SEPARATE")
	}
	if i.Relation != "" {
		e.Text(0x0040a010, "CS", i.Relation)
	}
	e.Text(0x0040a040, "CS", kind)
	e.Sequence(0x0040a043, i.Name.item())
	if i.Template != "" {
		var template elements.Set
		template.Text(0x00080105, "CS", "DCMR")
		template.Text(0x0040db00, "CS", i.Template)
		e.Sequence(0x0040a504, template)
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
