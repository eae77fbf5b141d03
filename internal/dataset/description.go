package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"slices"

	"mrprism/weights"
)

// description is dataset.json; further fields (source, licence, note, …) are for people.
type description struct {
	Name    string          `json:"name"`
	Classes []string        `json:"classes"`
	Raters  []string        `json:"raters"`
	Labels  string          `json:"labels"`
	Label   json.RawMessage `json:"label"` // refused: agreement levels would be taken for persons
}

// describe reads and checks a dataset.json; nil where there is a problem.
func describe(path string, problems *Problems) *description {
	text, err := os.ReadFile(path)
	if err != nil {
		problems.add("%s: cannot be read (%v); a data set folder has dataset.json, images and raters, see train -h", path, cause(err))
		return nil
	}
	line := func(offset int64) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }
	var desc description
	switch err := json.Unmarshal(text, &desc).(type) {
	case nil:
	case *json.UnmarshalTypeError:
		form := map[string]string{"": "fields in braces", "classes": `a list as ["disc", "cup"]`, "raters": `a list as ["ann", "bob"]`}[err.Field]
		problems.add("%s, line %d: %s must be %s, not %s", path, line(err.Offset), cmp.Or(err.Field, "it"), cmp.Or(form, "text in quotes"), err.Value)
		return nil
	case *json.SyntaxError:
		problems.add("%s: not valid JSON, line %d: %v", path, line(err.Offset), err)
		return nil
	default:
		problems.add("%s: not valid JSON: %v", path, err)
		return nil
	}
	before := len(*problems)
	checkNames(path, "classes", desc.Classes, problems)
	checkNames(path, "raters", desc.Raters, problems)
	if desc.Label != nil {
		problems.add(`%s: there is no field "label"; did you mean "labels"?`, path)
	}
	if desc.Labels != "" && desc.Labels != LabelsRaters && desc.Labels != LabelsLevels {
		problems.add("%s: labels is %q; want %q or %q", path, desc.Labels, LabelsRaters, LabelsLevels)
	}
	if len(*problems) > before {
		return nil
	}
	return &desc
}

// checkNames wants distinct names that a model can bear too.
func checkNames(path, field string, names []string, problems *Problems) {
	if len(names) == 0 {
		problems.add("%s: %s is empty or missing", path, field)
	}
	for i, n := range names {
		if !weights.IsName(n) {
			problems.add("%s: %s: %q is not letters (a to z), digits, hyphens and underscores; rename it, and its folders", path, field, n)
		}
		if slices.Contains(names[:i], n) {
			problems.add("%s: %s: %q appears twice", path, field, n)
		}
	}
}
