package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"slices"

	"mrprism/internal/files/text"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// DescriptionFile is the file that makes a folder a data set.
const DescriptionFile = "dataset.json"

// description is dataset.json; Open ignores further fields (source, licence, note, …), but refuses
// the field "label": somebody meant "labels", and agreement levels would be taken for people.
type description struct {
	Name    string          `json:"name"`
	Classes []string        `json:"classes"`
	Raters  []string        `json:"raters"`
	Labels  string          `json:"labels"`
	Label   json.RawMessage `json:"label"`
}

// describe reads and checks a dataset.json; nil if there is a problem.
func describe(path string, problems *Problems) *description {
	text, err := text.Read(path)
	if err != nil {
		problems.add("%s: cannot be read (%v); a data set folder has dataset.json, images and raters", path, err)
		return nil
	}
	line := func(offset int64) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }
	before := len(*problems)
	var desc description
	switch err := json.Unmarshal(text, &desc).(type) {
	case nil:
		checkNames(path, "classes", desc.Classes, problems)
		checkNames(path, "raters", desc.Raters, problems)
	case *json.UnmarshalTypeError:
		form := map[string]string{"": "fields in braces", "classes": `a list as ["disc", "cup"]`, "raters": `a list as ["ann", "bob"]`}[err.Field]
		problems.add("%s, line %d: %s must be %s, not %s", path, line(err.Offset), cmp.Or(err.Field, "it"), cmp.Or(form, "text in quotes"), err.Value)
	case *json.SyntaxError:
		problems.add("%s: not valid JSON, line %d: %v", path, line(err.Offset), err)
	default:
		problems.add("%s: not valid JSON: %v", path, err)
	}
	if n := len(desc.Name); n > 200 {
		problems.add("%s: name has %d bytes; shorten it to 200", path, n)
	}
	if desc.Label != nil {
		problems.add(`%s: there is no field "label"; did you mean "labels"?`, path)
	}
	if desc.Labels != "" && desc.Labels != LabelsRaters && desc.Labels != LabelsLevels {
		problems.add("%s: labels is %.100q; want %q or %q", path, desc.Labels, LabelsRaters, LabelsLevels)
	}
	if len(*problems) > before {
		return nil
	}
	return &desc
}

// checkNames adds a problem for names that are not distinct or that a model could not have.
func checkNames(path, field string, names []string, problems *Problems) {
	if len(names) == 0 {
		problems.add("%s: %s is empty or missing", path, field)
	}
	for i, n := range names {
		if !weights.IsName(n) {
			problems.add("%s: %s: %.100q is not letters (a to z), digits, hyphens and underscores; rename it, and its folders", path, field, n)
		}
		if slices.Contains(names[:i], n) {
			problems.add("%s: %s: %q appears twice", path, field, n)
		}
	}
}

// Description is the dataset.json that importers and generators write. Its labels are raters.
type Description struct {
	Classes []string `json:"classes"`
	Images  int      `json:"images"`
	Labels  string   `json:"labels"`
	Licence string   `json:"licence"`
	Name    string   `json:"name"`
	Note    string   `json:"note,omitempty"`
	Raters  []string `json:"raters"`
	Source  string   `json:"source"`
}

// Write writes dataset.json. It is the last file to be written: an interrupted writer leaves a
// folder that is not a data set.
func (d Description) Write(folder string) error {
	d.Labels = LabelsRaters
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return disk.WriteFile(folder, DescriptionFile, append(text, '\n'))
}

// WritePNG writes a picture into a folder, and makes the folders that lead to it.
func WritePNG(folder, name string, m image.Image, level png.CompressionLevel) error {
	var data bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: level}).Encode(&data, m); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return disk.WriteFile(folder, name, data.Bytes())
}
