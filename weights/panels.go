package weights

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Panel is a group of people who marked images of their own. The file's tensors make the mask of
// the mean of all panels under their weights.
type Panel struct {
	Name   string    `json:"name"`
	Shift  []float64 `json:"shift"`  // by class: added to the mask's logits, it makes what these people would mark
	Weight float64   `json:"weight"` // from 0 on; all add up to 1
}

// WeighPanels gives the panels other weights, by name: the mask becomes that of another mean. bias
// names the tensor of the mask's bias, as float32. What the file says of trust was learned of the
// mask before, and goes.
func (f *File) WeighPanels(bias string, given map[string]float64) error {
	m, err := ParseMetadata(f.Metadata)
	if err != nil {
		return err
	}
	var names []string
	total := 0.
	for _, p := range m.Panels {
		names, total = append(names, p.Name), total+given[p.Name]
	}
	for name, weight := range given {
		if !slices.Contains(names, name) || !(weight >= 0) {
			return fmt.Errorf("%s=%v: give numbers from 0 on to the panels of %s, which are %s", name, weight, m.Name, strings.Join(names, ", "))
		}
	}
	if !(total > 0) {
		return fmt.Errorf("the weights of all panels of %s are 0: give one of them more", m.Name)
	}
	at := f.Tensor(bias)
	values, err := at.Float32()
	if err != nil {
		return err
	}
	for k := range m.Classes {
		mean := 0.
		for _, p := range m.Panels {
			mean += given[p.Name] / total * p.Shift[k]
		}
		values[k] += float32(mean)
		for i := range m.Panels {
			m.Panels[i].Shift[k] -= mean
		}
	}
	for i := range m.Panels {
		m.Panels[i].Weight = given[m.Panels[i].Name] / total
	}
	*at, m.Trust = NewF32(bias, at.Shape, values), nil
	return f.Describe(&m)
}

// meanPanels are the panels of files with the mean of their shifts; an error if their names or
// weights differ.
func meanPanels(names []string, files []*File) (mean []Panel, err error) {
	for i, f := range files {
		var panels []Panel
		if text := f.Metadata["panels"]; text != "" {
			if err := json.Unmarshal([]byte(text), &panels); err != nil {
				return nil, fmt.Errorf("%s: %w", names[i], err)
			}
		}
		if i == 0 {
			mean = panels
			continue
		}
		if !slices.EqualFunc(mean, panels, func(a, b Panel) bool { return a.Name == b.Name && a.Weight == b.Weight }) {
			return nil, fmt.Errorf("%s and %s have other panels, or other weights of them: they have no mean", names[0], names[i])
		}
		for p := range mean {
			for k, v := range panels[p].Shift {
				mean[p].Shift[k] += (v - mean[p].Shift[k]) / float64(i+1)
			}
		}
	}
	return mean, nil
}
