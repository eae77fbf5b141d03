package evaluate

import (
	"io"
	"strings"

	"mrprism/cmd/study/internal/display"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/report"
)

// csv writes a line for each image and marked structure of -data, or for each photograph of
// -centres. Shares are 0..1.
func (r *Report) csv(w io.Writer) error {
	if r.Data == "" && r.Centres != nil {
		return r.Centres.csv(w)
	}
	figures := statistics.Filter(figures(r.Recurrences), func(f display.Figure[*classScore]) bool { return f.CSV != "" })
	header := []string{"folder", "image", "found", "class"}
	for _, f := range figures {
		header = append(header, f.CSV)
	}
	return report.WriteCSV(w, append(header, "empty", "one_empty", "doubted", "doubt", "doubts"), func(line func(...any)) {
		for _, image := range r.Cases {
			for k, class := range image.Classes {
				if class == nil {
					continue
				}
				cells := []any{image.Folder, image.Name, image.Found, r.classes[k].name}
				for _, f := range figures {
					cells = append(cells, f.Of(class))
				}
				line(append(cells, class.empty(), class.OneEmpty, image.Doubted, image.Doubt, strings.Join(image.Codes(), ";"))...)
			}
		}
	})
}

// empty says whether the marks are, or the mask above one half as well.
func (c *classScore) empty() string {
	switch {
	case c.BothEmpty:
		return "both"
	case c.Unmarked:
		return "marks"
	}
	return ""
}

// csv writes a line for each photograph in each guise.
func (r *centresReport) csv(w io.Writer) error {
	header := strings.Split("set,image,turned,change,present,found,distance,area,right,doubted,doubt,vertical_ratio,doubts", ",")
	return report.WriteCSV(w, header, func(line func(...any)) {
		for _, c := range r.Pictures {
			line(c.Set, c.Name, c.Turned, c.Change, c.Present, c.Found, c.Distance, c.Area, c.Right, c.Doubted, c.Doubt, c.Ratio, strings.Join(c.Codes(), ";"))
		}
	})
}
