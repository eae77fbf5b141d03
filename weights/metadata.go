package weights

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Kinds of label a model was trained on, as in dataset.json.
const (
	LabelsRaters          = "raters"           // each rater is a person
	LabelsAgreementLevels = "agreement-levels" // "at least j of the experts", PAPER.md §3.13
	LabelsPanels          = "panels"           // of results alone: each rater stands for a Panel
)

// LayoutHWIO names the only layout of convolution weights we write: height, width, input, output.
const LayoutHWIO = "HWIO"

// Metadata describes a model. In the header each field is one string (lists and maps as JSON). The
// comments name the key.
type Metadata struct {
	Name          string   // name: short, the file's stem
	Title         string   // title: one line for people
	Configuration string   // configuration: compact, mobile, paper, small or tiny, each also with the suffix -steered
	Recipe        string   // recipe: a name of model.NewRecipe
	Task          string   // task: what the images show, e.g. "fundus photograph"
	Classes       []string // classes: structures in channel order
	Raters        []string // raters: in channel order, or the levels' names
	Labels        string   // labels: LabelsRaters or LabelsAgreementLevels
	Anchor        string   // anchor: the class to search whole photographs for; empty: no search
	Independent   bool     // nesting "none": a structure need not lie inside the one before it
	SinglePieces  bool     // pieces "single": a structure is one piece, only its largest is kept
	// mirrored "averaged": every map is averaged with the map of the mirror image. This takes twice
	// the time.
	Mirrored bool
	// orientation "any": images may be turned by any multiple of 90°. A search that finds nothing
	// tries the other three directions.
	Turned bool
	Side   int // side: pixels of the square that the network sees
	// normalisation: (x − Mean)/Deviation for each RGB channel with values in 0..1. If Standardise
	// is set, the function Standardise follows instead.
	Mean, Deviation [3]float32
	Standardise     bool
	Data            string             // data: the training data and what was held out
	Commit          string             // commit: of the program that trained it
	Metrics         map[string]float64 // metrics: on the held-out images
	Seed            uint64             // seed
	Layout          string             // layout: LayoutHWIO
	Quantization    string             // quantization: empty (F32 or F16) or Int8PerChannel
	Trust           *Trust             // trust: when to believe a result; may be nil
	Ranges          map[string]float32 // ranges: largest |input| by layer, for int8; may be missing
	Panels          []Panel            // panels: may be missing
	Certificate     *Certificate       // certificate: of the ratio on one camera; may be nil
}

// flag is a boolean of Metadata. If it is true, the header has the value under the key; if it is
// false, the header lacks the key.
type flag struct {
	key, value string
	set        *bool
}

func (m *Metadata) flags() []flag {
	return []flag{
		{"nesting", "none", &m.Independent}, {"pieces", "single", &m.SinglePieces},
		{"mirrored", "averaged", &m.Mirrored}, {"orientation", "any", &m.Turned},
	}
}

// texts are the fields that the header holds unchanged, by key.
func (m *Metadata) texts() map[string]*string {
	return map[string]*string{
		"name": &m.Name, "title": &m.Title, "configuration": &m.Configuration, "recipe": &m.Recipe, "task": &m.Task, "labels": &m.Labels,
		"anchor": &m.Anchor, "data": &m.Data, "commit": &m.Commit, "layout": &m.Layout, "quantization": &m.Quantization,
	}
}

// normalisation is the JSON form of Mean, Deviation and Standardise.
type normalisation struct {
	Mean        [3]float32 `json:"mean"`
	Deviation   [3]float32 `json:"deviation"`
	Standardise bool       `json:"standardise,omitempty"`
}

// Map returns the header's string map, after Validate.
func (m *Metadata) Map() (map[string]string, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	metrics := m.Metrics
	if metrics == nil {
		metrics = map[string]float64{}
	}
	values := map[string]string{
		"format": "mrprism", "classes": asJSON(m.Classes), "raters": asJSON(m.Raters), "side": asJSON(m.Side), "seed": asJSON(m.Seed),
		"normalisation": asJSON(normalisation{m.Mean, m.Deviation, m.Standardise}), "metrics": asJSON(metrics),
	}
	for key, text := range m.texts() {
		values[key] = *text
	}
	for _, f := range m.flags() {
		if *f.set {
			values[f.key] = f.value
		}
	}
	if m.Trust != nil {
		values["trust"] = asJSON(m.Trust)
	}
	if len(m.Ranges) > 0 {
		values["ranges"] = asJSON(m.Ranges)
	}
	if len(m.Panels) > 0 {
		values["panels"] = asJSON(m.Panels)
	}
	return values, nil
}

// Describe gives a file the metadata m. What the file says beyond them stays.
func (f *File) Describe(m *Metadata) error {
	values, err := m.Map()
	if err != nil {
		return err
	}
	all := maps.Clone(f.Metadata)
	// Map leaves out the first two if there are none. Older files have the third. A certificate is
	// of what the file said before.
	for _, key := range []string{"mirrored", "trust", "colours", certificateKey} {
		delete(all, key)
	}
	maps.Copy(all, values)
	f.Metadata = all
	return nil
}

// ParseMetadata reads the header's string map. It ignores unknown keys.
func ParseMetadata(values map[string]string) (Metadata, error) {
	if values["mrprism_checkpoint"] != "" {
		return Metadata{}, fmt.Errorf("weights: this is the checkpoint of a run, from which it resumes; the run's weights are in the NAME.safetensors beside it")
	}
	if values["format"] != "mrprism" {
		return Metadata{}, fmt.Errorf("weights: metadata has no \"format\": \"mrprism\"; this is a safetensors file of another program")
	}
	var m Metadata
	for key, text := range m.texts() {
		*text = values[key]
	}
	for _, f := range m.flags() {
		*f.set = values[f.key] == f.value
	}
	var n normalisation
	for _, field := range []struct {
		key      string
		into     any
		optional bool
	}{
		{"classes", &m.Classes, false}, {"raters", &m.Raters, false}, {"metrics", &m.Metrics, false}, {"normalisation", &n, false},
		{"side", &m.Side, false}, {"seed", &m.Seed, false}, {"ranges", &m.Ranges, true}, {"trust", &m.Trust, true}, {"panels", &m.Panels, true},
		{certificateKey, &m.Certificate, true},
	} {
		text, ok := values[field.key]
		if !ok && field.optional {
			continue
		}
		if err := json.Unmarshal([]byte(text), field.into); err != nil {
			return Metadata{}, fmt.Errorf("weights: metadata %q is %.100q: %w", field.key, text, err)
		}
	}
	m.Mean, m.Deviation, m.Standardise = n.Mean, n.Deviation, n.Standardise
	switch { // names of earlier versions
	case m.Recipe == "recurrent" && strings.Contains(m.Configuration, "-steered"):
		m.Recipe = "steered"
	case m.Recipe == "alternating":
		m.Recipe = "recurrent"
	}
	return m, m.Validate()
}

const MaxClasses, MaxRaters = 16, 64 // of a model

// MostShift is above every number of Panel.Shift.
const MostShift = 100

// Validate returns one error that names every missing or wrong field.
func (m *Metadata) Validate() error {
	var faults []string
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	fault(!IsName(m.Name), "name %q is not letters, digits, hyphens and underscores", m.Name)
	fault(m.Configuration == "", "configuration is empty")
	fault(m.Recipe == "", "recipe is empty")
	fault(len(m.Classes) == 0 || len(m.Classes) > MaxClasses, "%d classes, 1 to %d are possible", len(m.Classes), MaxClasses)
	fault(len(m.Raters) == 0 || len(m.Raters) > MaxRaters, "%d raters, 1 to %d are possible", len(m.Raters), MaxRaters)
	for _, list := range [][]string{m.Classes, m.Raters} {
		for i, name := range list {
			fault(!IsName(name), "class or rater name %q is not letters, digits, hyphens and underscores", name)
			fault(slices.Contains(list[:i], name), "class or rater name %q is used twice", name)
		}
	}
	fault(m.Labels != LabelsRaters && m.Labels != LabelsAgreementLevels, "labels %q is neither %q nor %q", m.Labels, LabelsRaters, LabelsAgreementLevels)
	fault(m.Anchor != "" && !slices.Contains(m.Classes, m.Anchor), "anchor %q is not one of the classes", m.Anchor)
	fault(m.Side < 64 || m.Side > 1024 || m.Side%64 != 0, "side %d is not a multiple of 64 from 64 to 1024", m.Side)
	for c := range m.Mean {
		fault(m.Mean[c] != m.Mean[c] || math.Abs(float64(m.Mean[c])) > 10 || !(m.Deviation[c] > 0.001 && m.Deviation[c] < 100),
			"normalisation mean %v, deviation %v of channel %d", m.Mean[c], m.Deviation[c], c)
	}
	for key, v := range m.Metrics {
		fault(math.IsNaN(v) || math.IsInf(v, 0), "metric %q is %v", key, v)
	}
	if m.Trust != nil {
		faults = append(faults, m.Trust.Faults(m.Classes)...)
	}
	if m.Certificate != nil {
		faults = append(faults, m.Certificate.faults()...)
	}
	for layer, v := range m.Ranges {
		fault(!(v > 0 && v < math.MaxFloat32), "range of %s is %v", layer, v)
	}
	total := 0.
	for _, p := range m.Panels {
		total += p.Weight
		far := func(v float64) bool { return !(math.Abs(v) < MostShift) }
		fault(!IsName(p.Name) || len(p.Shift) != len(m.Classes) || slices.ContainsFunc(p.Shift, far) || !(p.Weight >= 0), "panel %v", p)
	}
	fault(len(m.Panels) > 0 && !(math.Abs(total-1) < 1e-3), "the panels' weights add up to %v and not to 1", total)
	fault(m.Layout != LayoutHWIO, "layout %q is not %q", m.Layout, LayoutHWIO)
	fault(m.Quantization != "" && m.Quantization != Int8PerChannel, "quantization %q is not known, %q is", m.Quantization, Int8PerChannel)
	if len(faults) > 0 {
		slices.Sort(faults) // Metrics and Ranges are maps, which have no order
		return fmt.Errorf("weights: metadata: %s", strings.Join(slices.Compact(faults), "; "))
	}
	return nil
}

// IsName says whether a model, class or rater may have this name: 1 to 64 ASCII letters, digits,
// hyphens and underscores. These are safe in a file name, a URL and a column heading.
func IsName(s string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	return s != "" && len(s) <= 64 && strings.Trim(s, allowed) == ""
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("weights: %v as JSON: %v", v, err)) // Validate refuses values that JSON cannot hold
	}
	return string(b)
}
