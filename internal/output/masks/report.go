package masks

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"mrprism/internal/files/dicom"
	"mrprism/internal/segment"
	"mrprism/internal/trust"
)

// Codes of PS3.16 2025c.
const (
	comment  dicom.Code = "DCM 121106 Comment"
	group    dicom.Code = "DCM 125007 Measurement Group"
	tracking dicom.Code = "DCM 112039 Tracking Identifier"
	observer dicom.Code = "DCM 121005 Observer Type"
	mm2      dicom.Code = "UCUM mm2 mm2"
)

var sides = map[string]dicom.Code{segment.Right: "SCT 24028007 Right", segment.Left: "SCT 7771000 Left"}

// keys are areas of the eye by structure (CID 4281).
var keys = map[string]dicom.Code{"disc": "DCM 131262 Optic disc area", "cup": "DCM 131261 Optic cup area"}

func item(relation string, name dicom.Code, value any, below ...*dicom.Item) *dicom.Item {
	return &dicom.Item{Relation: relation, Name: name, Value: value, Items: below}
}

// figure is a number of a report.
type figure struct {
	name, unit       dicom.Code
	value, low, high float64 // low to high is the range over the mask and the raters; 0: there is none
	about            string
	segments         []int // that it measures, from 1
}

// item is a NUM by TID 300.
func (f *figure) item(below ...*dicom.Item) *dicom.Item {
	number := func(v float64) dicom.Number {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
		return dicom.Number{Value: v, Unit: f.unit}
	}
	var all []*dicom.Item
	if f.low <= f.value && f.value <= f.high {
		all = append(all, item(dicom.Property, "SCT 371886008 +, range of upper measurement uncertainty", number(f.high-f.value)),
			item(dicom.Property, "SCT 371885007 -, range of lower measurement uncertainty", number(f.value-f.low)))
	}
	return item(dicom.Contains, f.name, number(f.value), append(append(all, item(dicom.Property, comment, f.about)), below...)...)
}

// sources are the segments that the figure measures, and the image.
func (f *figure) sources(relation string, name dicom.Code) (all []*dicom.Item) {
	for _, n := range f.segments {
		all = append(all, item(relation, "DCM 121191 Referenced Segment", dicom.Image(n)))
	}
	return append(all, item(relation, name, dicom.Image(0)))
}

// reporter makes the content of a report.
type reporter struct {
	d *Drawing
	dicom.Report
	comments []*dicom.Item
}

func (r *reporter) say(text ...string) {
	r.comments = append(r.comments, item(dicom.Contains, comment, strings.Join(text, "")))
}

// report writes the figures of a picture as a DICOM SR. Those of a disc whose eye is known follow
// TID 6003, "Optic Disc Key Measurements", others TID 1500, "Measurement Report". Figures that are
// not to be used are left out, and a comment says why.
func report(d *Drawing) ([]byte, error) {
	r, err := reported(d)
	if err != nil {
		return nil, err
	}
	return r.Encode()
}

func reported(d *Drawing) (r *reporter, err error) {
	if d.Figures == nil {
		return nil, errors.New("a DICOM SR has the figures of a result, and there are none; save the masks as a DICOM SEG")
	}
	seg := d.segments(false)
	r = &reporter{d: d, Report: dicom.Report{Derived: seg.Derived}}
	if r.Instance, r.SegmentSeries, err = seg.UIDs(); err != nil {
		return nil, err
	}
	r.say("For research use. These figures are no diagnosis.")
	for _, doubt := range d.Doubts {
		r.say("Doubt: ", doubt.Text)
	}
	ratios, areas := r.ratios(), r.areas()
	key := slices.Clone(ratios)
	for _, f := range areas {
		if name, ok := keys[strings.ToLower(d.Structures[f.segments[0]-1].Name)]; ok && f.unit == mm2 {
			key = append(key, new(*f))
			key[len(key)-1].name = name
		}
	}
	if slices.ContainsFunc(append(ratios, areas...), func(f *figure) bool { return f.high > 0 }) {
		r.say("Ranges are over the mask and those that the model predicts of its raters, and no confidence intervals.")
	}
	items := r.context()
	if eye := d.Figures.Eye; eye != nil && eye.Side != "" && len(key) > 0 {
		items = append(append(items, r.algorithm()...), r.ofEye(eye, key))
		r.Root = item("", "DCM 131241 Optic Disc Key Measurements", dicom.Template("6003"), items...)
	} else {
		items = append(items, item(dicom.Modifies, "DCM 121058 Procedure reported", dicom.Code("SCT 363679005 Imaging procedure")),
			item(dicom.Contains, "DCM 126010 Imaging Measurements", nil, r.ofSegments(ratios, areas)...))
		r.Root = item("", "DCM 126000 Imaging Measurement Report", dicom.Template("1500"), items...)
	}
	r.Root.Items = append(r.Root.Items, r.comments...)
	return r, nil
}

// context is the language and the observers: the program, and a person who corrected or accepted
// the masks (TID 1204, 1001 to 1004).
func (r *reporter) context() []*dicom.Item {
	all := []*dicom.Item{
		item(dicom.Modifies, "DCM 121049 Language of Content Item and Descendants", dicom.Code("RFC5646 en English")),
		item(dicom.Context, observer, dicom.Code("DCM 121007 Device")),
		item(dicom.Context, "DCM 121012 Device Observer UID", dicom.Identifier(dicom.UID("device "+r.Serial))),
		item(dicom.Context, "DCM 121013 Device Observer Name", "MrPrism"),
		item(dicom.Context, "DCM 121015 Device Observer Model Name", r.Model),
	}
	if r.d.corrected() || r.d.Person != "" {
		name := cmp.Or(r.d.Person, "Unnamed^Person")
		if !strings.Contains(name, "^") {
			name += "^" // the form of names since 1993; a code is a family name alone
		}
		all = append(all, item(dicom.Context, observer, dicom.Code("DCM 121006 Person")),
			item(dicom.Context, "DCM 121008 Person Observer Name", dicom.Person(name)))
	}
	return all
}

// algorithm identifies the model (TID 4019).
func (r *reporter) algorithm() []*dicom.Item {
	return []*dicom.Item{
		item(dicom.Modifies, "DCM 111001 Algorithm Name", "MrPrism: "+r.Model),
		item(dicom.Modifies, "DCM 111003 Algorithm Version", cmp.Or(r.Version, "unnamed")),
		item(dicom.Modifies, "DCM 111002 Algorithm Parameters", "weights "+r.Serial),
	}
}

// ofEye is the group of an eye (TID 6001).
func (r *reporter) ofEye(eye *segment.Eye, figures []*figure) *dicom.Item {
	side := item(dicom.Modifies, "SCT 272741003 Laterality", sides[eye.Side])
	all := []*dicom.Item{
		item(dicom.Modifies, "SCT 363698007 Finding Site", dicom.Code("SCT 81745001 Eye"), side), item(dicom.Context, tracking, eye.Side+" eye"),
	}
	for _, f := range figures {
		all = append(all, f.item(f.sources(dicom.InferredFrom, "DCM 121112 Source of Measurement")...))
	}
	r.say("Eye: ", eye.Side, ", by ", eye.By, ".")
	if len(eye.Against) > 0 {
		r.say("Eye: the other one by ", strings.Join(eye.Against, ", "), ".")
	}
	return item(dicom.Contains, group, dicom.Template("6001"), all...)
}

// ofSegments are a group for each structure with an area (TID 1410), and one for each ratio (TID
// 1501).
func (r *reporter) ofSegments(ratios, areas []*figure) (all []*dicom.Item) {
	add := func(template dicom.Template, name string, items []*dicom.Item) {
		id := item(dicom.Context, "DCM 112040 Tracking Unique Identifier", dicom.Identifier(dicom.UID(r.Instance+name)))
		items = append(append([]*dicom.Item{item(dicom.Context, tracking, name), id}, r.algorithm()...), items...)
		all = append(all, item(dicom.Contains, group, template, items...))
	}
	for _, f := range areas {
		name, items := r.d.Structures[f.segments[0]-1].Name, f.sources(dicom.Contains, "DCM 121233 Source image for segmentation")
		if known, ok := dicom.TypeOf(name); ok {
			items = append(items, item(dicom.Contains, "DCM 121071 Finding", known))
		}
		add("1410", name, append(items, f.item()))
	}
	for _, f := range ratios {
		add("1501", f.name.Meaning(), []*dicom.Item{f.item(f.sources(dicom.InferredFrom, "DCM 121112 Source of Measurement")...)})
	}
	return all
}

// usable gives a figure the segments of structures, and says in it how far to trust it. Of one that
// is not to be used a comment says so, and usable is false.
func (r *reporter) usable(f *figure, v *trust.Verdict, of ...string) bool {
	for i, s := range r.d.Structures {
		if slices.Contains(of, s.Name) {
			f.segments = append(f.segments, i+1)
		}
	}
	if f.about = "Corrected by hand."; v == nil {
		return len(f.segments) == len(of)
	}
	if f.about = strings.TrimSpace("Trust: " + v.Word + ". " + v.Reason); v.Word == trust.DoNotUse {
		r.say(f.name.Meaning(), " of ", strings.Join(of, ", "), " is left out. ", f.about)
	}
	return v.Word != trust.DoNotUse && len(f.segments) == len(of)
}

// areas are those of the structures, in mm² or, of an unknown scale, in pixels.
func (r *reporter) areas() (all []*figure) {
	for _, s := range r.d.Figures.Structures {
		f, pixel := &figure{name: "DCM 130922 Number of pixels", unit: "UCUM 1 no units"}, 1.
		if mm := r.d.Figures.Spacing; mm != nil {
			f.name, f.unit, pixel = "SCT 42798000 Area", mm2, mm[0]*mm[1]
		}
		if f.value = float64(s.Area) * pixel; s.Low != nil {
			f.low, f.high = float64(*s.Low)*pixel, float64(*s.High)*pixel
		}
		if r.usable(f, s.Trust, s.Class) && s.Area > 0 {
			all = append(all, f)
		}
	}
	return all
}

// ratios are those of cup and disc (CID 4281).
func (r *reporter) ratios() (all []*figure) {
	for i, ratio := range []*segment.Ratio{r.d.Figures.VerticalRatio, r.d.Figures.HorizontalRatio} {
		if ratio == nil || ratio.Value == nil {
			continue
		}
		f := &figure{name: []dicom.Code{"DCM 131257 Cup to disc ratio vertical", "DCM 131258 Cup to disc ratio horizontal"}[i], unit: "UCUM {ratio} ratio", value: *ratio.Value}
		if ratio.Low != nil {
			f.low, f.high = *ratio.Low, *ratio.High
		}
		if !r.usable(f, ratio.Trust, ratio.Outer, ratio.Inner) {
			continue
		}
		if c := ratio.Certified; c != nil {
			f.about += " Certified on " + c.Camera + ", " + c.Date + ", " + strconv.Itoa(c.Eyes) + " eyes."
		}
		all = append(all, f)
	}
	return all
}
