package evaluate

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"mrprism/internal/study/report"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"
)

// row is a line of the CSV: one structure in one image.
type row struct {
	image *caseScore
	name  string // of the structure
	*classScore
}

// column is a column of the CSV. Cells are empty where a figure is not defined.
type column struct {
	name string
	cell func(r row) string
}

// csvColumns are the columns for Rec0 to RecN. Shares are 0..1.
func csvColumns(recurrences int) []column {
	all := []column{
		{"folder", func(r row) string { return r.image.Folder }},
		{"image", func(r row) string { return r.image.Name }},
		{"found", func(r row) string { return strconv.FormatBool(r.image.Found) }},
		{"class", func(r row) string { return r.name }},
	}
	add := func(name string, figure func(r row) *float64) {
		all = append(all, column{name, func(r row) string { return report.Digits(figure(r)) }})
	}
	for i := range recurrences + 1 {
		add(fmt.Sprintf("soft_dice_rec%d", i), func(r row) *float64 { return &r.SoftDice[i] })
	}
	for i := range recurrences + 1 {
		truth := func(r row) score.Truth {
			if r.Truth == nil {
				return score.Truth{Dice: math.NaN(), Brier: math.NaN()}
			}
			return r.Truth[i]
		}
		add(fmt.Sprintf("dice_truth_rec%d", i), func(r row) *float64 { return statistics.Defined(truth(r).Dice) })
		add(fmt.Sprintf("brier_truth_rec%d", i), func(r row) *float64 { return statistics.Defined(truth(r).Brier) })
	}
	set := func(r row) score.Set {
		if r.Set == nil {
			return score.Set{Energy: math.NaN(), Max: math.NaN()}
		}
		return *r.Set
	}
	add("hausdorff95_pixels", func(r row) *float64 { return r.Agreement.Hausdorff })
	add("fleiss_kappa", func(r row) *float64 { return r.Agreement.Kappa })
	add("energy_distance", func(r row) *float64 { return statistics.Defined(set(r).Energy) })
	add("dice_max", func(r row) *float64 { return statistics.Defined(set(r).Max) })
	add("dice_match", func(r row) *float64 { return set(r).Match })
	add("own_dice", func(r row) *float64 { own, _ := means(r.Heads); return statistics.Defined(own) })
	all = append(all, column{"empty", func(r row) string {
		switch {
		case r.BothEmpty:
			return "both"
		case r.Unmarked:
			return "marks"
		}
		return ""
	}})
	all = append(all, column{"doubted", func(r row) string { return strconv.FormatBool(r.image.Doubted) }})
	add("doubt", func(r row) *float64 { return r.image.Doubt })
	return append(all, column{"doubts", func(r row) string { return strings.Join(r.image.Codes(), ";") }})
}

// csv writes a line for each image and marked structure of -data, or for each photograph of
// -centres.
func (r *Report) csv(w io.Writer) error {
	if r.Data == "" && r.Centres != nil {
		return r.Centres.csv(w)
	}
	columns := csvColumns(r.Recurrences)
	cells := func(cell func(c column) string) []string {
		return statistics.Tabulate(len(columns), func(i int) string { return cell(columns[i]) })
	}
	return report.WriteCSV(w, cells(func(c column) string { return c.name }), func(line func(...string)) {
		for _, image := range r.Cases {
			for k, class := range image.Classes {
				if class != nil {
					line(cells(func(c column) string { return c.cell(row{image, r.Classes[k].Class, class}) })...)
				}
			}
		}
	})
}

// csv writes a line for each photograph in each guise.
func (r *centresReport) csv(w io.Writer) error {
	header := strings.Split("set,image,turned,change,present,found,distance,area,right,doubted,doubt,vertical_ratio,doubts", ",")
	return report.WriteCSV(w, header, func(line func(...string)) {
		for _, c := range r.Pictures {
			line(c.Set, c.Name, strconv.Itoa(c.Turned), c.Change, strconv.FormatBool(c.Present), strconv.FormatBool(c.Found), report.Digits(c.Distance), report.Digits(c.Area),
				strconv.FormatBool(c.Right), strconv.FormatBool(c.Doubted), report.Digits(c.Doubt), report.Digits(c.Ratio), strings.Join(c.Codes(), ";"))
		}
	})
}
