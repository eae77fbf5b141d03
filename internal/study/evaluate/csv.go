package evaluate

import (
	"fmt"
	"io"
	"strings"

	"mrprism/internal/study/report"
)

// csv writes a line for each image and marked structure of -data, or for each photograph of
// -centres. Shares are 0..1.
func (r *Report) csv(w io.Writer) error {
	if r.Data == "" && r.Centres != nil {
		return r.Centres.csv(w)
	}
	header := []string{"folder", "image", "found", "class"}
	for i := range r.Recurrences + 1 {
		header = append(header, fmt.Sprintf("soft_dice_rec%d", i))
	}
	for i := range r.Recurrences + 1 {
		header = append(header, fmt.Sprintf("dice_truth_rec%d", i), fmt.Sprintf("brier_truth_rec%d", i))
	}
	header = append(header, "hausdorff95_pixels", "fleiss_kappa", "energy_distance", "dice_max", "dice_match", "own_dice", "empty", "doubted", "doubt", "doubts")
	return report.WriteCSV(w, header, func(line func(...any)) {
		for _, image := range r.Cases {
			for k, class := range image.Classes {
				if class == nil {
					continue
				}
				cells := append([]any{image.Folder, image.Name, image.Found, r.Classes[k].Class}, class.cells(r.Recurrences)...)
				line(append(cells, image.Doubted, image.Doubt, strings.Join(image.Codes(), ";"))...)
			}
		}
	})
}

// cells are the figures of a structure.
func (c *classScore) cells(recurrences int) (cells []any) {
	for _, dice := range c.SoftDice {
		cells = append(cells, dice)
	}
	for i := range recurrences + 1 {
		if c.Truth == nil {
			cells = append(cells, "", "")
			continue
		}
		cells = append(cells, c.Truth[i].Dice, c.Truth[i].Brier)
	}
	cells = append(cells, c.Agreement.Hausdorff, c.Agreement.Kappa)
	if c.Set == nil {
		cells = append(cells, "", "", "")
	} else {
		cells = append(cells, c.Set.Energy, c.Set.Max, c.Set.Match)
	}
	own, _ := means(c.Heads)
	empty := ""
	switch {
	case c.BothEmpty:
		empty = "both"
	case c.Unmarked:
		empty = "marks"
	}
	return append(cells, own, empty)
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
