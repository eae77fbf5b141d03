package sheet

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mrprism/internal/files/cells"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/trust"
)

// fundus is a record with a result.
func fundus(image string) Record {
	return Record{
		Image: image, Program: "segment abc", Date: "2026-11-24T04:00:00Z", Options: "roi=auto", Review: "accepted", DecidedBy: "EM", Decided: "2026-11-24T05:00:00Z", Comment: "small; 0.5", Session: "s1", Classes: []string{"disc", "cup"}, Raters: []string{"ann"},
		Result: &Result{
			Width: 100, Height: 80, Model: "fundus", SHA256: "ab12", Recurrences: 3, Region: imageio.Square{X: -5, Y: 6, Side: 50}, RegionBy: "found",
			RaterWeights: []float64{0.2, 1}, Device: "a GPU", Precision: "f32", Found: true, Doubt: new(1.5), Doubts: []segment.Doubt{{Code: "unfamiliar"}, {Code: "blurred"}},
			Measurements: segment.Measurements{
				Structures: []segment.Structure{{Class: "disc", Area: 500, Low: new(400), High: new(600), Share: 1.0 / 16, Height: 30, Width: 20, Disagreement: new(12.5),
					Interval: &segment.Interval{Low: 380.5, High: 610, Coverage: 0.9}, Trust: &trust.Verdict{Word: trust.Trusted}}, {Class: "cup", Area: 100, Low: new(90), High: new(120), Share: 0.0125, Height: 15}},
				Spacing:         &[2]float64{0.01, 0.02},
				HorizontalRatio: &segment.Ratio{Inner: "cup", Outer: "disc", Value: new(2.0 / 3), Interval: &segment.Interval{Low: 0.5, High: 0.8, By: segment.ByCertificate}},
				VerticalRatio:   &segment.Ratio{Inner: "cup", Outer: "disc", Value: new(0.5), Low: new(0.45), High: new(0.6), Trust: &trust.Verdict{Word: trust.Check, Reason: "Look."}},
				Clinical: segment.Clinical{Rim: &[12]float64{12, 1}, RimLow: &[12]float64{11}, RimHigh: &[12]float64{13},
					NarrowestRim: &segment.NarrowestRim{Value: 0.1, Low: new(0.05), High: new(0.2), Hour: 12}, Eye: &segment.Eye{Side: "left", By: "user", Against: []string{"dicom", "name"}},
					ISNT: &segment.ISNT{Inferior: 4, Superior: 3, Nasal: 2, Temporal: 1, Holds: true, Agree: 3, Of: 4}, DDLS: &segment.DDLS{Withheld: segment.NoScale}},
			},
			ByModel:   &segment.Measurements{Structures: []segment.Structure{{Area: 480}, {Area: 100}}, VerticalRatio: &segment.Ratio{Value: new(0.55)}},
			Corrected: []Mask{{"you", "disc", 500}, {"ann", "cup", 77}}, CorrectedBy: "EM", LessFellowEye: new(-0.234567),
		},
	}
}

// byColumn reads a table's bytes: each line's texts by column.
func byColumn(t *testing.T, data []byte) (lines []map[string]string) {
	t.Helper()
	text, ok := strings.CutPrefix(string(data), "\ufeff")
	require.True(t, ok, "spreadsheets need the byte order mark")
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	for _, texts := range all[1:] {
		line := map[string]string{}
		for i, column := range all[0] {
			line[column] = texts[i]
		}
		lines = append(lines, line)
	}
	return lines
}

func TestTable(t *testing.T) {
	brain := Record{Image: "b.png", Slice: 3, Slices: 7, Classes: []string{"brain"}, Result: &Result{Found: true,
		Measurements: segment.Measurements{Structures: []segment.Structure{{Class: "brain", Area: 9}}}}}
	failed := Record{Image: `cut, "off".jpg`, Classes: []string{"disc", "cup"}, Error: "cut.jpg: it ends early; open it\nagain"}
	table := New(fundus("a.png"), failed, brain)
	data, err := table.Bytes()
	require.NoError(t, err)
	require.Contains(t, string(data), "\r\n")
	german := &Table{Table: cells.Table{Semicolons: true}}
	german.Add(fundus("a.png"))
	opened, err := german.Bytes()
	require.NoError(t, err)
	require.Contains(t, string(opened), `image;slice;error;`)
	require.Contains(t, string(opened), `EM;2026-11-24T05:00:00Z;"small; 0.5";s1;true;1,5;`)
	lines := byColumn(t, data)
	require.Len(t, lines, 3)
	for column, want := range map[string]string{
		"decided_by": "EM", "decided": "2026-11-24T05:00:00Z", "comment": "small; 0.5", "session": "s1", "horizontal_cup_disc_ratio": "0.6667", "horizontal_cup_disc_ratio_interval_by": "certificate", "vertical_cup_disc_ratio_interval_by": "", "horizontal_cup_disc_ratio_of_model": "",
		"vertical_cup_disc_ratio_of_model": "0.55", "disc_area_px_of_model": "480", "disc_area_mm2": "0.1", "disc_height_mm": "0.6", "disc_width_mm": "0.2", "mm_a_pixel_down": "0.02",
		"image": "a.png", "slice": "", "error": "", "review": "accepted", "found": "true", "doubt": "1.5", "doubts": "unfamiliar;blurred",
		"vertical_cup_disc_ratio": "0.5", "vertical_cup_disc_ratio_low": "0.45", "vertical_cup_disc_ratio_high": "0.6", "vertical_cup_disc_ratio_interval_low": "",
		"rim_12_oclock_px": "12", "rim_12_oclock_px_low": "11", "rim_12_oclock_px_high": "13", "rim_1_oclock_px": "1", "narrowest_rim_disc_ratio": "0.1",
		"narrowest_rim_disc_ratio_low": "0.05", "narrowest_rim_disc_ratio_high": "0.2", "narrowest_rim_hour": "12", "rim_absent_degrees": "0", "eye": "left", "eye_by": "user",
		"eye_against": "dicom;name", "isnt_holds": "true", "isnt_agree": "3", "isnt_of": "4", "rim_nasal_px": "2", "ddls_stage": "", "ddls_withheld": "There is no scale in millimetres.",
		"disc_trust": "trusted", "disc_trust_reason": "", "cup_trust": "", "vertical_cup_disc_ratio_trust": "check", "vertical_cup_disc_ratio_trust_reason": "Look.",
		"disc_area_px": "500", "disc_area_px_low": "400", "disc_area_px_high": "600", "disc_share_of_image": "0.0625", "disc_height_px": "30",
		"disc_disagreement_px": "12.5", "disc_area_px_interval_low": "380.5", "disc_area_px_interval_high": "610", "disc_area_px_coverage": "0.9",
		"cup_area_px": "100", "cup_area_px_coverage": "", "brain_area_px": "", "corrected": "disc;ann/cup", "corrected_by": "EM", "cup_area_px_of_ann": "77", "vertical_ratio_less_fellow_eye": "-0.2346",
		"rater_weights": "0.2;1", "width_px": "100", "height_px": "80", "region_x": "-5", "region_y": "6", "region_side": "50", "region_by": "found", "recurrences": "3",
		"model": "fundus", "weights_sha256": "ab12", "precision": "f32", "device": "a GPU", "program": "segment abc", "date": "2026-11-24T04:00:00Z", "options": "roi=auto",
	} {
		got, ok := lines[0][column]
		require.True(t, ok, column)
		require.Equal(t, want, got, column)
	}
	require.Equal(t, []string{`cut, "off".jpg`, "cut.jpg: it ends early; open it\nagain"}, []string{lines[1]["image"], lines[1]["error"]})
	for _, column := range []string{"found", "doubt", "width_px", "disc_area_px", "vertical_cup_disc_ratio", "region_x", "rim_1_oclock_px", "narrowest_rim_hour", "isnt_holds", "isnt_agree"} {
		require.Empty(t, lines[1][column], "%s of an image without a result", column)
	}
	require.Equal(t, []string{"3", "7"}, []string{lines[2]["slice"], lines[2]["slices"]})
	require.Empty(t, lines[0]["slices"])
	require.Equal(t, []string{"9", "", "true"}, []string{lines[2]["brain_area_px"], lines[2]["disc_area_px"], lines[2]["found"]})

	read, cut, err := Read(data)
	require.NoError(t, err)
	require.False(t, cut)
	require.Equal(t, table, read)
	table.Lines = table.Lines[:1]
	head, err := table.Bytes()
	require.NoError(t, err)
	for n := len(head) + 1; n < len(data)-2; n++ { // wherever a line is cut, those before it are whole
		read, cut, err := Read(data[:n])
		require.NoError(t, err)
		require.Equal(t, table.Lines[0], read.Lines[0])
		require.LessOrEqual(t, len(read.Lines), 2)
		require.True(t, cut || data[n-1] == '\n')
	}
	require.Equal(t, New(fundus("a")).Columns[:2], []string{"image", "slice"})
}

// Names of files are what others have chosen: no spreadsheet may run them. Numbers below zero stay
// numbers.
func TestFormulasAreDefused(t *testing.T) {
	for _, name := range []string{`=HYPERLINK("http://x","y").png`, "+1.png", "-1.png", "@sum.png", "\tx.png", "＝1.png", "\n=1.png"} {
		table := New(fundus(name))
		data, err := table.Bytes()
		require.NoError(t, err)
		line := byColumn(t, data)[0]
		require.Equal(t, "'"+name, line["image"])
		require.Equal(t, name, cells.Bare(line["image"]))
		require.Equal(t, "-5", line["region_x"])
		require.Zero(t, table.Find(fundus(name), "image", "options"), "its line is found all the same")
		require.Equal(t, -1, table.Find(fundus(name+"x"), "image"))
	}
}

// Figures that a session's file says are told from those that were computed.
func TestFromFile(t *testing.T) {
	read, computed := fundus("a"), fundus("b")
	result := *read.Result
	result.FromFile, read.Result = true, &result
	data, err := New(read, computed).Bytes()
	require.NoError(t, err)
	lines := byColumn(t, data)
	require.Equal(t, []string{"a session's file", ""}, []string{lines[0]["figures_from"], lines[1]["figures_from"]})
}

// A line takes the place of another one, and later columns stand beside those of their kind.
func TestPutAndWiden(t *testing.T) {
	table := New(Record{Image: "a", Classes: []string{"disc"}}, Record{Image: "b", Classes: []string{"disc"}})
	r := fundus("a")
	table.Put(table.Find(r, "image"), r)
	table.Put(table.Find(fundus("c"), "image"), fundus("c"))
	require.Len(t, table.Lines, 3)
	require.Equal(t, []string{"a", "b", "c"}, []string{table.Lines[0][0], table.Lines[1][0], table.Lines[2][0]})
	require.Equal(t, New(r).Columns, table.Columns)
	for _, line := range table.Lines {
		require.Len(t, line, len(table.Columns))
	}
}

func TestReadRefuses(t *testing.T) {
	for _, text := range []string{"", "a,b\nc\n", "a,\"b\n"} {
		_, _, err := Read([]byte(text))
		require.Error(t, err, "%q", text)
	}
}

// Every table, also of evaluate, is UTF-8, whatever bytes a name has.
func TestGuardedIsUTF8(t *testing.T) {
	require.Equal(t, `caf\xe9, ü`, cells.Guarded("caf\xe9, ü"))
	require.Equal(t, `'=\xff`, cells.Guarded("=\xff"))
}
