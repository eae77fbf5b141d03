package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// labelStudio is Label Studio's form JSON.
var labelStudio = Layout{
	Name: "label-studio",
	Description: `Label Studio (export as JSON): one or more files, with the images beside them; polygons and brushes.
           Who completed an annotation is the rater. A second one of the same person becomes NAME-again`,
	list: func(o *Options) (*listing, error) { return listShapes(o, ".json", parseLabelStudio) },
}

// studioResult is a region, or what is said of it under the same ID.
type studioResult struct {
	ID, Type string
	From     string  `json:"from_name"`
	Width    int     `json:"original_width"`
	Height   int     `json:"original_height"`
	Rotation float64 `json:"image_rotation"`
	Value    struct {
		Points                                      [][2]float64 // per cent
		RLE                                         []uint8
		Choices, Labels, PolygonLabels, BrushLabels []string
	}
}

// parseLabelStudio reads a file. Source: https://labelstud.io/guide/task_format and
// label_studio_converter/brush.py.
func parseLabelStudio(path string, data []byte) (entries []entry, err error) {
	var tasks []struct {
		ID          int
		Data        map[string]any
		Upload      string `json:"file_upload"`
		Annotations *[]struct {
			By        json.RawMessage `json:"completed_by"`
			Cancelled bool            `json:"was_cancelled"`
			Result    []studioResult
		}
	}
	if err := json.Unmarshal(data, &tasks); err != nil {
		return nil, err
	}
	for _, t := range tasks {
		if t.Annotations == nil {
			return nil, errors.New("has a task without annotations; export as JSON, not as JSON-MIN")
		}
		name := t.Upload
		for _, key := range slices.Sorted(maps.Keys(t.Data)) {
			if text, is := t.Data[key].(string); is && name == "" {
				text = text[strings.Index(text, "?d=")+1:] // of a local file: what follows
				name, _ = url.PathUnescape(strings.TrimPrefix(text, "d="))
			}
		}
		for _, a := range *t.Annotations {
			e, by := entry{image: name, person: "annotator-" + string(a.By), read: true}, struct{ Email string }{}
			if json.Unmarshal(a.By, &by) == nil && by.Email != "" {
				e.person = by.Email
			}
			if err := e.take(a.Result); err != nil {
				return nil, fmt.Errorf("its task %d: %w", t.ID, err)
			}
			if !a.Cancelled {
				entries = append(entries, e)
			}
		}
	}
	return entries, nil
}

// take adds the shapes of an annotation's results.
func (e *entry) take(results []studioResult) error {
	all := map[string]*shape{} // by ID
	for _, r := range results {
		if r.Rotation != 0 {
			return errors.New("the image is turned; turn it before it is annotated")
		}
		s, v := caseOf(all, r.ID), r.Value
		if s.attributes == nil {
			s.attributes = map[string]any{}
		}
		for _, choice := range v.Choices {
			s.attributes[r.From] = choice
		}
		for _, label := range slices.Concat(v.Labels, v.PolygonLabels, v.BrushLabels) {
			s.label = label
		}
		if r.Width > 0 {
			e.w, e.h = r.Width, r.Height
		}
		switch kind := strings.TrimSuffix(r.Type, "labels"); kind {
		case "polygon":
			s.region = polygon(flat(v.Points, float64(r.Width)/100, float64(r.Height)/100)...)
		case "brush":
			s.region = brush(v.RLE)
		case "", "choices": // of another region, or of the image
		default:
			s.kind = "a " + kind
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if s := all[id]; s.region != nil || s.kind != "" {
			e.shapes = append(e.shapes, *s)
		}
	}
	return nil
}
