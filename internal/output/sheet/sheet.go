// Package sheet writes results as a CSV table for spreadsheets, with a line for each image. All
// lines have the same columns. The program segment and the page write it.
package sheet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mrprism/internal/data/metric"
	"mrprism/internal/files/cells"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/segment"
	"mrprism/internal/trust"
)

// Record is one image. Without a result only the fields before Result have values.
type Record struct {
	Image   string `json:"image"`
	Slice   int    `json:"slice"`  // of the file, from 1; 0: it has one picture, or nobody knows
	Slices  int    `json:"slices"` // pictures in the file; 0: one, or nobody knows
	Program string `json:"program"`
	Date    string `json:"date"`    // of the result, RFC 3339
	Options string `json:"options"` // of the run, by which it recognises its own lines
	Review  string `json:"review"`  // what a person decided: accepted, rejected or ""
	// DecidedBy is the person's own name for themselves, Decided when they did, RFC 3339, Comment
	// what they wrote, and Session names the page's session. They are "" where there is none.
	DecidedBy string `json:"decided_by"`
	Decided   string `json:"decided"`
	Comment   string `json:"comment"`
	Session   string `json:"session"`
	Error     string `json:"error"` // why there is no result
	// Classes and Raters say which columns the record has, with or without a result.
	Classes []string `json:"classes"`
	Raters  []string `json:"raters"`
	Result  *Result  `json:"result"`
	// Volumes are those of a series, whose Slice is 0; nil: the record is of a picture.
	Volumes *masks.Volumes `json:"volumes,omitempty"`
}

// Result is the findings in an image.
type Result struct {
	Width        int                  `json:"width"`
	Height       int                  `json:"height"`
	Model        string               `json:"model"`
	SHA256       string               `json:"sha256"` // of the weights
	Recurrences  int                  `json:"recurrences"`
	Region       imageio.Square       `json:"region"`
	RegionBy     string               `json:"region_by"` // found, by hand or whole image
	RaterWeights []float64            `json:"rater_weights"`
	Device       string               `json:"device"`
	Precision    string               `json:"precision"`
	Found        bool                 `json:"found"`
	Doubt        *float64             `json:"doubt"` // nil: the weights cannot tell
	Doubts       []segment.Doubt      `json:"doubts"`
	Quality      *segment.Quality     `json:"quality"` // nil: of no photograph that the model searched
	Measurements segment.Measurements `json:"measurements"`
	// Corrected are the masks that a person changed. Measurements are of the changed masks, ByModel
	// those before; nil: nobody changed any.
	Corrected     []Mask                `json:"corrected"`
	ByModel       *segment.Measurements `json:"by_model"`
	CorrectedBy   string                `json:"corrected_by"`    // the person's own name for themselves
	LessFellowEye *float64              `json:"less_fellow_eye"` // the vertical ratio less the other eye's
	FromFile      bool                  `json:"from_file"`       // a session's file says all this; nobody computed it here
}

// Mask is a mask of a rater, or of "you", the consensus.
type Mask struct {
	Rater string `json:"rater"`
	Class string `json:"class"`
	Area  int    `json:"area"` // pixels
}

// cell is a value under its column's name. value is a string, an int, a float64, a bool, or nil.
type cell struct {
	column string
	value  any
}

// cells are the cells of a record, in the order of the columns.
func (r Record) cells() []cell {
	v := r.Result
	if v == nil {
		v = &Result{}
	}
	of := func(value any) any { return given(r.Result != nil, value) } // a field of the result
	var codes, faults, weights, corrected []string
	for _, d := range v.Doubts {
		codes = append(codes, d.Code)
	}
	quality := cmp.Or(v.Quality, &segment.Quality{})
	for _, f := range quality.Faults {
		faults = append(faults, f.Code)
	}
	for _, w := range v.RaterWeights {
		weights = append(weights, text(w))
	}
	for _, m := range v.Corrected {
		name := m.Class
		if m.Rater != segment.Somebody {
			name = m.Rater + "/" + m.Class
		}
		corrected = append(corrected, name)
	}
	out := []cell{
		{"image", r.Image}, {"slice", given(r.Slice > 0, r.Slice)}, {"error", r.Error}, {"review", r.Review},
		{"decided_by", r.DecidedBy}, {"decided", r.Decided}, {"comment", r.Comment}, {"session", r.Session},
		{"found", of(v.Found)}, {"doubt", number(v.Doubt)}, {"doubts", strings.Join(codes, ";")},
		{"gradable", given(v.Quality != nil, quality.Gradable)}, {"faults", strings.Join(faults, ";")},
	}
	model := segment.Measurements{}
	if v.ByModel != nil {
		model = *v.ByModel
	}
	out = append(out, ratioCells(r.Classes, v.Measurements, model)...)
	for c, class := range r.Classes {
		out = append(out, structureCells(class, c, v.Measurements, model)...)
	}
	across, down := any(nil), any(nil)
	if s := v.Measurements.Spacing; s != nil {
		across, down = s[0], s[1]
	}
	out = append(out, cell{"mm_a_pixel_across", across}, cell{"mm_a_pixel_down", down})
	out = append(out, []cell{
		{"corrected", strings.Join(corrected, ";")}, {"corrected_by", v.CorrectedBy}, {"rater_weights", strings.Join(weights, ";")},
		{"slices", given(r.Slices > 1, r.Slices)}, {"width_px", of(v.Width)}, {"height_px", of(v.Height)}, {"region_x", of(v.Region.X)}, {"region_y", of(v.Region.Y)}, {"region_side", of(v.Region.Side)},
		{"region_by", v.RegionBy}, {"recurrences", of(v.Recurrences)}, {"model", v.Model}, {"weights_sha256", v.SHA256}, {"precision", v.Precision},
		{"device", v.Device}, {"program", r.Program}, {"date", r.Date}, {"options", r.Options},
	}...)
	if r.Volumes != nil {
		for c, class := range r.Classes {
			volume := masks.Volume{}
			if c < len(r.Volumes.Structures) {
				volume = r.Volumes.Structures[c]
			}
			out = append(out, cell{class + "_volume_ml", number(volume.ML)}, cell{class + "_volume_ml_low", number(volume.Low)}, cell{class + "_volume_ml_high", number(volume.High)})
		}
		out = append(out, cell{"mm_a_slice", given(r.Volumes.Step > 0, r.Volumes.Step)}, cell{"volume_withheld", r.Volumes.Withheld})
	}
	if v.LessFellowEye != nil {
		out = append(out, cell{"vertical_ratio_less_fellow_eye", *v.LessFellowEye})
	}
	if v.FromFile {
		out = append(out, cell{"figures_from", "a session's file"})
	}
	for _, m := range v.Corrected {
		if slices.Contains(r.Raters, m.Rater) {
			out = append(out, cell{fmt.Sprintf("%s_area_px_of_%s", m.Class, m.Rater), m.Area})
		}
	}
	return out
}

// ratioCells are the ratios of m, and of the model's own masks, model, if a person changed them.
func ratioCells(classes []string, m, model segment.Measurements) []cell {
	outer, inner := metric.DiscAndCup(classes)
	if outer < 0 || inner < 0 {
		return nil
	}
	var out []cell
	for _, one := range []struct {
		way        string
		own, model *segment.Ratio
	}{{"vertical", m.VerticalRatio, model.VerticalRatio}, {"horizontal", m.HorizontalRatio, model.HorizontalRatio}} {
		ratio, before := segment.Ratio{}, segment.Ratio{}
		if one.own != nil {
			ratio = *one.own
		}
		if one.model != nil {
			before = *one.model
		}
		name := fmt.Sprintf("%s_%s_%s_ratio", one.way, classes[inner], classes[outer])
		out = append(out, cell{name, number(ratio.Value)}, cell{name + "_of_model", number(before.Value)}, cell{name + "_low", number(ratio.Low)}, cell{name + "_high", number(ratio.High)})
		by := ""
		if ratio.Interval != nil {
			by = cmp.Or(ratio.Interval.By, "model")
		}
		out = append(append(out, intervalCells(name, ratio.Interval)...), cell{name + "_interval_by", by})
		out = append(out, trustCells(name, ratio.Trust)...)
	}
	return append(out, clinicalCells(m.Clinical)...)
}

func clinicalCells(m segment.Clinical) []cell {
	var eye segment.Eye
	var narrowest segment.NarrowestRim
	var ddls segment.DDLS
	if m.Eye != nil {
		eye = *m.Eye
	}
	if m.NarrowestRim != nil {
		narrowest, ddls = *m.NarrowestRim, *m.DDLS
	}
	isnt, known, rim := segment.ISNT{}, m.ISNT != nil, m.NarrowestRim != nil
	if known {
		isnt = *m.ISNT
	}
	out := []cell{
		{"eye", eye.Side}, {"eye_by", eye.By}, {"eye_against", strings.Join(eye.Against, ";")},
		{"narrowest_rim_disc_ratio", given(rim, narrowest.Value)}, {"narrowest_rim_disc_ratio_low", number(narrowest.Low)}, {"narrowest_rim_disc_ratio_high", number(narrowest.High)},
		{"narrowest_rim_hour", given(rim, narrowest.Hour)}, {"rim_absent_degrees", given(rim, narrowest.Absent)},
		{"isnt_holds", given(known, isnt.Holds)}, {"isnt_agree", given(known && isnt.Of > 0, isnt.Agree)}, {"isnt_of", given(known && isnt.Of > 0, isnt.Of)},
		{"rim_inferior_px", given(known, isnt.Inferior)}, {"rim_superior_px", given(known, isnt.Superior)}, {"rim_nasal_px", given(known, isnt.Nasal)}, {"rim_temporal_px", given(known, isnt.Temporal)},
		{"ddls_stage", number(ddls.Stage)}, {"ddls_stage_low", number(ddls.Low)}, {"ddls_stage_high", number(ddls.High)}, {"ddls_withheld", ddls.Withheld},
	}
	for i := range metric.Hours {
		hour := (i + 1) % metric.Hours
		name := fmt.Sprintf("rim_%d_oclock_px", i+1)
		for _, one := range []struct {
			end string
			rim *[metric.Hours]float64
		}{{"", m.Rim}, {"_low", m.RimLow}, {"_high", m.RimHigh}} {
			value := cell{name + one.end, nil}
			if one.rim != nil {
				value.value = one.rim[hour]
			}
			out = append(out, value)
		}
	}
	return out
}

func structureCells(class string, c int, m, model segment.Measurements) []cell {
	names := []string{"_area_px", "_area_px_of_model", "_area_px_low", "_area_px_high", "_share_of_image", "_height_px", "_width_px", "_disagreement_px", "_area_mm2", "_height_mm", "_width_mm"}
	values, interval, verdict := make([]any, len(names)), (*segment.Interval)(nil), (*trust.Verdict)(nil)
	if c < len(m.Structures) {
		s := m.Structures[c]
		verdict = s.Trust
		before, mm := any(nil), make([]any, 3)
		if c < len(model.Structures) {
			before = model.Structures[c].Area
		}
		if p := m.Spacing; p != nil {
			mm = []any{float64(s.Area) * p[0] * p[1], float64(s.Height) * p[1], float64(s.Width) * p[0]}
		}
		values, interval = append([]any{s.Area, before, number(s.Low), number(s.High), s.Share, s.Height, s.Width, number(s.Disagreement)}, mm...), s.Interval
	}
	var out []cell
	for i, name := range names {
		out = append(out, cell{class + name, values[i]})
	}
	return append(append(out, intervalCells(class+"_area_px", interval)...), trustCells(class, verdict)...)
}

// trustCells are a verdict and its reason. They are empty for a figure that a person drew.
func trustCells(name string, v *trust.Verdict) []cell {
	if v == nil {
		v = &trust.Verdict{}
	}
	return []cell{{name + "_trust", v.Word}, {name + "_trust_reason", v.Reason}}
}

func intervalCells(name string, i *segment.Interval) []cell {
	if i == nil {
		return []cell{{name + "_interval_low", nil}, {name + "_interval_high", nil}, {name + "_coverage", nil}}
	}
	return []cell{{name + "_interval_low", i.Low}, {name + "_interval_high", i.High}, {name + "_coverage", i.Coverage}}
}

// digits are the significant digits of a measured figure. Counts of pixels are whole.
const digits = 4

// given is a value that is there, or nil.
func given(there bool, value any) any {
	if !there {
		return nil
	}
	return value
}

func number[N int | float64](v *N) any {
	if v == nil {
		return nil
	}
	return *v
}

// text is a value as the file has it, a measured one with four significant digits.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case float64:
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
		return strconv.FormatFloat(rounded, 'f', -1, 64)
	case string:
		return cells.Guarded(v)
	}
	return fmt.Sprint(value)
}

// Table is lines of records.
type Table struct{ cells.Table }

// New makes the table of records. It has the columns of all of them.
func New(records ...Record) *Table {
	t := &Table{}
	for _, r := range records {
		t.Add(r)
	}
	return t
}

// Widen adds the columns of a record that the table lacks. Each comes after the column that it
// follows in the record.
func (t *Table) Widen(r Record) {
	at := 0
	for _, c := range r.cells() {
		if i := slices.Index(t.Columns, c.column); i >= 0 {
			at = i + 1
			continue
		}
		t.Columns = slices.Insert(t.Columns, at, c.column)
		for i, line := range t.Lines {
			t.Lines[i] = slices.Insert(line, at, "")
		}
		at++
	}
}

// Add adds the line of a record.
func (t *Table) Add(r Record) {
	t.Widen(r)
	line := make([]string, len(t.Columns))
	for _, c := range r.cells() {
		value := text(c.value)
		if _, ok := c.value.(float64); ok && t.Semicolons {
			value = strings.Replace(value, ".", ",", 1)
		}
		line[slices.Index(t.Columns, c.column)] = value
	}
	t.Lines = append(t.Lines, line)
}

// Put replaces line i by a record, or adds the record if i is −1.
func (t *Table) Put(i int, r Record) {
	t.Add(r)
	if last := len(t.Lines) - 1; i >= 0 {
		t.Lines[i], t.Lines = t.Lines[last], t.Lines[:last]
	}
}

// Find returns the first line that has the record's texts in some of the table's columns, or −1.
func (t *Table) Find(r Record, columns ...string) int {
	of := r.cells()
	return slices.IndexFunc(t.Lines, func(line []string) bool {
		for _, c := range of {
			if slices.Contains(columns, c.column) && line[slices.Index(t.Columns, c.column)] != text(c.value) {
				return false
			}
		}
		return true
	})
}

// Read reads a table that Bytes wrote. It leaves out a last line that is cut off.
func Read(data []byte) (t *Table, cut bool, err error) {
	read, cut, err := cells.Read(data)
	return &Table{read}, cut, err
}
