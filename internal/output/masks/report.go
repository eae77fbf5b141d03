package masks

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mrprism/internal/files/dicom"
	"mrprism/internal/segment"
	"mrprism/internal/trust"
)

func code(value, scheme, meaning string) dicom.Code {
	return dicom.Code{Value: value, Scheme: scheme, Meaning: meaning}
}
func dcm(value, meaning string) dicom.Code { return code(value, "DCM", meaning) }
func sct(value, meaning string) dicom.Code { return code(value, "SCT", meaning) }

func text(relation, value, name, text string) dicom.Item {
	return dicom.Item{Relation: relation, Name: dcm(value, name), Text: text}
}
func coded(name, value dicom.Code, below ...dicom.Item) dicom.Item {
	return dicom.Item{Relation: dicom.Modifies, Name: name, Code: value, Items: below}
}

var (
	mm2   = code("mm2", "UCUM", "mm2")
	sides = map[string]dicom.Code{segment.Right: sct("24028007", "Right"), segment.Left: sct("7771000", "Left")}
	// keys are areas of the eye by structure (CID 4281).
	keys = map[string]dicom.Code{"disc": dcm("131262", "Optic disc area"), "cup": dcm("131261", "Optic cup area")}
)

// figure is a number of a report.
type figure struct {
	name, unit       dicom.Code
	value, low, high float64 // low to high is the range over the mask and the raters; 0: there is none
	about            string
	segments         []int // that it measures, from 1
}

// item is a NUM by TID 300.
func (f figure) item(below ...dicom.Item) dicom.Item {
	num := func(relation string, name dicom.Code, value float64, below []dicom.Item) dicom.Item {
		value, _ = strconv.ParseFloat(strconv.FormatFloat(value, 'g', 6, 64), 64)
		return dicom.Item{Relation: relation, Name: name, Number: &value, Unit: f.unit, Items: below}
	}
	var all []dicom.Item
	if f.low <= f.value && f.value <= f.high {
		all = append(all, num(dicom.Property, sct("371886008", "+, range of upper measurement uncertainty"), f.high-f.value, nil),
			num(dicom.Property, sct("371885007", "-, range of lower measurement uncertainty"), f.value-f.low, nil))
	}
	return num(dicom.Contains, f.name, f.value, append(append(all, text(dicom.Property, "121106", "Comment", f.about)), below...))
}

// sources are the segments that the figure measures, and the image.
func (f figure) sources(relation, value, name string) (all []dicom.Item) {
	for _, n := range f.segments {
		all = append(all, dicom.Item{Relation: relation, Name: dcm("121191", "Referenced Segment"), Segment: n})
	}
	return append(all, dicom.Item{Relation: relation, Name: dcm(value, name), Image: true})
}

// reporter makes the content of a report.
type reporter struct {
	*Drawing
	dicom.Report
	comments []string
}

// report writes the figures of a picture as a DICOM SR. Those of a disc whose eye is known follow
// TID 6003, "Optic Disc Key Measurements", others TID 1500, "Measurement Report" (PS3.16). Figures
// that are not to be used are left out, and a comment says why.
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
	r = &reporter{Drawing: d, comments: []string{"For research use. These figures are no diagnosis."}}
	seg := d.segments(false)
	if r.Instance, r.SegmentSeries, err = seg.UIDs(); err != nil {
		return nil, err
	}
	for _, doubt := range d.Doubts {
		r.comments = append(r.comments, "Doubt: "+doubt.Text)
	}
	r.Derived = seg.Derived
	ratios, areas := r.ratios(), r.areas()
	key := slices.Clone(ratios)
	for _, f := range areas {
		if name, ok := keys[strings.ToLower(d.Structures[f.segments[0]-1].Name)]; ok && f.unit == mm2 {
			f.name = name
			key = append(key, f)
		}
	}
	if eye := d.Figures.Eye; eye != nil && eye.Side != "" && len(key) > 0 {
		r.Root = dicom.Item{Name: dcm("131241", "Optic Disc Key Measurements"), Template: "6003", Items: slices.Concat(r.context(), r.algorithm(), r.ofEye(eye, key))}
	} else {
		r.Root = dicom.Item{Name: dcm("126000", "Imaging Measurement Report"), Template: "1500", Items: append(r.context(),
			coded(dcm("121058", "Procedure reported"), sct("363679005", "Imaging procedure")),
			dicom.Item{Relation: dicom.Contains, Name: dcm("126010", "Imaging Measurements"), Items: r.ofSegments(ratios, areas)})}
	}
	if slices.ContainsFunc(slices.Concat(ratios, areas), func(f figure) bool { return f.high > 0 }) {
		r.comments = append(r.comments, "Ranges are over the mask and those that the model predicts of its raters, and no confidence intervals.")
	}
	for _, one := range r.comments {
		r.Root.Items = append(r.Root.Items, text(dicom.Contains, "121106", "Comment", one))
	}
	return r, nil
}

// context is the language and the observers: the program, and a person who corrected or accepted the
// masks (TID 1204, 1001 to 1004).
func (r *reporter) context() []dicom.Item {
	observer := func(value, name string) dicom.Item {
		return dicom.Item{Relation: dicom.Context, Name: dcm("121005", "Observer Type"), Code: dcm(value, name)}
	}
	all := []dicom.Item{
		coded(dcm("121049", "Language of Content Item and Descendants"), code("en", "RFC5646", "English")), observer("121007", "Device"),
		{Relation: dicom.Context, Name: dcm("121012", "Device Observer UID"), UID: dicom.UID("device " + r.Serial)},
		text(dicom.Context, "121013", "Device Observer Name", "MrPrism"), text(dicom.Context, "121015", "Device Observer Model Name", r.Report.Model),
	}
	if r.corrected() || r.Accepted {
		all = append(all, observer("121006", "Person"), dicom.Item{Relation: dicom.Context, Name: dcm("121008", "Person Observer Name"), Person: "Unnamed^Person"})
	}
	return all
}

// algorithm identifies the model (TID 4019).
func (r *reporter) algorithm() []dicom.Item {
	return []dicom.Item{
		text(dicom.Modifies, "111001", "Algorithm Name", "MrPrism: "+r.Report.Model), text(dicom.Modifies, "111003", "Algorithm Version", cmp.Or(r.Version, "unnamed")),
		text(dicom.Modifies, "111002", "Algorithm Parameters", "weights "+r.Serial),
	}
}

// ofEye is the group of an eye (TID 6001).
func (r *reporter) ofEye(eye *segment.Eye, figures []figure) []dicom.Item {
	all := []dicom.Item{
		coded(sct("363698007", "Finding Site"), sct("81745001", "Eye"), coded(sct("272741003", "Laterality"), sides[eye.Side])),
		text(dicom.Context, "112039", "Tracking Identifier", eye.Side+" eye"),
	}
	for _, f := range figures {
		all = append(all, f.item(f.sources(dicom.InferredFrom, "121112", "Source of Measurement")...))
	}
	r.comments = append(r.comments, fmt.Sprintf("Eye: %s, by %s.", eye.Side, eye.By))
	if len(eye.Against) > 0 {
		r.comments = append(r.comments, "Eye: the other one by "+strings.Join(eye.Against, ", ")+".")
	}
	return []dicom.Item{{Relation: dicom.Contains, Name: dcm("125007", "Measurement Group"), Template: "6001", Items: all}}
}

// ofSegments are a group for each structure with an area (TID 1410), and one for ratios (TID 1501).
func (r *reporter) ofSegments(ratios, areas []figure) (all []dicom.Item) {
	add := func(template, name string, items ...dicom.Item) {
		all = append(all, dicom.Item{Relation: dicom.Contains, Name: dcm("125007", "Measurement Group"), Template: template, Items: slices.Concat([]dicom.Item{
			text(dicom.Context, "112039", "Tracking Identifier", name),
			{Relation: dicom.Context, Name: dcm("112040", "Tracking Unique Identifier"), UID: dicom.UID(r.Instance + name)},
		}, r.algorithm(), items)})
	}
	for _, f := range areas {
		name, items := r.Structures[f.segments[0]-1].Name, f.sources(dicom.Contains, "121233", "Source image for segmentation")
		if known, ok := dicom.TypeOf(name); ok {
			items = append(items, dicom.Item{Relation: dicom.Contains, Name: dcm("121071", "Finding"), Code: known})
		}
		add("1410", name, append(items, f.item())...)
	}
	for _, f := range ratios {
		add("1501", f.name.Meaning, f.item(f.sources(dicom.InferredFrom, "121112", "Source of Measurement")...))
	}
	return all
}

// usable says how far to trust a figure. ok is false if it is not to be used: a comment then says
// so.
func (r *reporter) usable(what string, v *trust.Verdict) (about string, ok bool) {
	if v == nil {
		return "Corrected by hand.", true
	}
	if about = strings.TrimSpace("Trust: " + v.Word + ". " + v.Reason); v.Word == trust.DoNotUse {
		r.comments = append(r.comments, fmt.Sprintf("There is no figure of %s. %s", what, about))
	}
	return about, v.Word != trust.DoNotUse
}

// areas are those of the structures, in mm² or, of an unknown scale, in pixels.
func (r *reporter) areas() (all []figure) {
	for i, drawn := range r.Structures {
		for _, s := range r.Figures.Structures {
			if s.Class != drawn.Name {
				continue
			}
			about, ok := r.usable(s.Class, s.Trust)
			if !ok || s.Area == 0 {
				continue
			}
			f, pixel := figure{name: dcm("130922", "Number of pixels"), unit: code("1", "UCUM", "no units"), about: about, segments: []int{i + 1}}, 1.
			if mm := r.Figures.Spacing; mm != nil {
				f.name, f.unit, pixel = sct("42798000", "Area"), mm2, mm[0]*mm[1]
			}
			if f.value = float64(s.Area) * pixel; s.Low != nil {
				f.low, f.high = float64(*s.Low)*pixel, float64(*s.High)*pixel
			}
			all = append(all, f)
		}
	}
	return all
}

// ratios are those of cup and disc (CID 4281).
func (r *reporter) ratios() (all []figure) {
	for i, ratio := range []*segment.Ratio{r.Figures.VerticalRatio, r.Figures.HorizontalRatio} {
		if ratio == nil || ratio.Value == nil {
			continue
		}
		f := figure{name: dcm("131257", "Cup to disc ratio vertical"), unit: code("{ratio}", "UCUM", "ratio"), value: *ratio.Value}
		if i == 1 {
			f.name = dcm("131258", "Cup to disc ratio horizontal")
		}
		var ok bool
		if f.about, ok = r.usable(f.name.Meaning, ratio.Trust); !ok {
			continue
		}
		if c := ratio.Certified; c != nil {
			f.about += fmt.Sprintf(" Certified on %s, %s, %d eyes.", c.Camera, c.Date, c.Eyes)
		}
		for n, s := range r.Structures {
			if s.Name == ratio.Outer || s.Name == ratio.Inner {
				f.segments = append(f.segments, n+1)
			}
		}
		if ratio.Low != nil {
			f.low, f.high = *ratio.Low, *ratio.High
		}
		all = append(all, f)
	}
	return all
}
