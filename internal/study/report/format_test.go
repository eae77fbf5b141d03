package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"

	"github.com/stretchr/testify/assert"
)

func TestIntervalsAreWritten(t *testing.T) {
	low, high := -0.00006, 0.0123
	i := metric.Interval{Mean: -0.00004, Low: &low, High: &high}
	assert.Equal(t, "+0.00 [-0.01, +1.23]", Signed(&i, 100, 2))
	assert.Equal(t, "0.00 [-0.01, 1.23]", Plain(&i, 100, 2))

	cell := Cell{Text: "reader-08 -1.00 [-2.00, -0.50]"}
	assert.Equal(t, "reader-08 −1.00", cell.Value(), "a name has no minus")
	assert.Equal(t, []string{"[−2.00, −0.50]"}, cell.Below())

	// Of few images there is a mean, and why there is nothing that says how far to trust it.
	one := statistics.Interval([]float64{.5})
	assert.Equal(t, "+50.0 [n = 1]", Signed(one, 100, 1))
	assert.Equal(t, "4.0 [n = 7]", Plain(statistics.Interval([]float64{1, 2, 3, 4, 5, 6, 7}), 1, 1))
	assert.NotContains(t, Plain(statistics.Interval([]float64{1, 2, 3, 4, 5, 6, 7, 8}), 1, 1), "n =")
	d := Document{Notes: []string{"a"}, Parts: []Part{{Tables: []Table{{Rows: []Row{{Cells: []Cell{{Text: "0.5"}}}}}}}}}
	assert.Equal(t, []string{"a"}, d.Remarks())
	d.Parts[0].Tables[0].Add("disc", Plain(one, 1, 1))
	assert.Equal(t, []string{"a", metric.FewSaid}, d.Remarks())
	text, err := json.Marshal(one)
	assert.NoError(t, err)
	assert.JSONEq(t, `{"mean": 0.5, "n": 1}`, string(text))
}

// A spreadsheet shows every letter of a name and runs none. Numbers below zero stay numbers.
func TestCSVForSpreadsheets(t *testing.T) {
	var out strings.Builder
	assert.NoError(t, WriteCSV(&out, []string{"image", "bias", "low", "high"}, func(line func(...any)) {
		line("ünï", &metric.Interval{Mean: -.5, Low: new(-1.), High: nil})
		line(`=HYPERLINK("x")`, math.NaN(), (*float64)(nil), "")
	}))
	assert.Equal(t, "\ufeffimage,bias,low,high\r\nünï,-0.5,-1,\r\n\"'=HYPERLINK(\"\"x\"\")\",,,\r\n", out.String())
}
