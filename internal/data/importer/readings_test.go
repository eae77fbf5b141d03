package importer

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Two readers of three read two images with the model and without, in two sittings, and answer two
// questions. readings.csv has each reading, also of an image that is not there. The masks are those
// drawn without the model.
func TestReadings(t *testing.T) {
	source := t.TempDir()
	first, second := encoded(t, eye(40, 30, 1), ".png"), encoded(t, eye(40, 30, 2), ".png")
	put(t, first, source, "one.png")
	study := func(says fields) {
		says["study"] = fields{
			"id": "s", "structures": []string{"disc", "cup"}, "start": "both", "days": 7, "readers": []string{"ann", "ben", "cyd"},
			"questions": []fields{{"name": "Glaucoma", "options": []string{"1 no", "2 yes"}}, {"name": "Sure", "low": 0, "high": 9}},
		}
	}
	drawn := []fields{{"rater": "you", "class": "disc", "file": "drawn/1.png", "x": 0, "y": 0}, {"rater": "you", "class": "cup", "file": "drawn/2.png", "x": 0, "y": 0}}
	result := fields{"classes": []string{"disc", "cup"}, "measurements": fields{"structures": []fields{{"trust": fields{"word": "check"}}}, "verticalRatio": fields{"trust": fields{"word": "trusted"}}}}
	sat := func(sitting int, aided bool, decided string, more fields) fields {
		more["sitting"], more["aided"], more["decided"] = sitting, aided, decided
		return more
	}
	pngs := map[string][]byte{"drawn/1.png": greys(t, 20, 16, 255), "drawn/2.png": greys(t, 8, 8, 255), "masks/1_1.png": greys(t, 40, 30, 255), "masks/1_2.png": greys(t, 40, 30, 255)}
	writeSession(t, filepath.Join(source, "ann.mrprism"), "ann", "2026-11-27", []fields{
		read(first, "#1", "accepted", sat(1, false, "2026-11-01T10:00:00Z", fields{"drawn": drawn, "seconds": 31.25, "drawing": 20., "answering": 3., "answers": fields{"Glaucoma": "2 yes", "Sure": 4.5}})),
		read(second, "#2", "rejected", sat(1, true, "2026-11-01T10:02:00Z", fields{"reason": "=blurred", "seconds": 5})),
		read(first, "#3", "accepted", sat(1, false, "2026-11-01T10:01:00Z", fields{"drawn": drawn[:1]})),
		read(first, "#4", "accepted", sat(2, true, "2026-11-05T10:00:00Z", fields{"masks": shown, "result": result, "answers": fields{"Glaucoma": "=1", "Sure": fields{}}})),
		read(second, "#5", "", sat(2, false, "", fields{})),
	}, pngs, study)
	ahead := time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
	writeSession(t, filepath.Join(source, "ben.mrprism"), "ben", "2026-11-27", []fields{read(first, "#1", "accepted", sat(1, false, ahead, fields{"drawn": drawn}))}, pngs, study)
	writeSession(t, filepath.Join(source, "ben-older.mrprism"), "ben", "2026-11-20", []fields{read(first, "#1", "rejected", sat(1, false, "2026-11-01T10:00:00Z", fields{}))}, nil, study)

	destination := filepath.Join(t.TempDir(), "ours")
	s, err := FromSessions.Run(t.Context(), Options{Source: source, Destination: destination, Longest: 20})
	require.NoError(t, err)
	assert.Equal(t, []string{"ann", "ann-again", "ben"}, s.Raters, "nothing that was drawn with the model")
	text, err := os.ReadFile(filepath.Join(destination, "readings.csv"))
	require.NoError(t, err)
	lines, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	require.NoError(t, err)
	missing := sumOf(second)[:12]
	assert.Equal(t, [][]string{
		{"reader", "case", "group", "modality", "arm", "order", "repeat", "decision", "reason", "trust", "seconds", "seconds_drawing", "seconds_answering", "area_disc", "area_cup", "ratio", "Glaucoma", "Sure"},
		{"ann", missing, "", "with", "1", "2", "0", "rejected", "'=blurred", "", "5", "0", "0", "", "", "", "", ""},
		{"ann", "one", "", "with", "2", "4", "0", "accepted", "", "trusted", "0", "0", "0", "1200", "1200", "1", "'=1", ""},
		{"ann", "one", "", "without", "1", "1", "0", "accepted", "", "", "31.3", "20", "3", "320", "64", "0.5", "2 yes", "4.5"},
		{"ann", "one", "", "without", "1", "3", "1", "accepted", "", "", "0", "0", "0", "320", "0", "0", "", ""},
		{"ben", "one", "", "without", "1", "1", "0", "accepted", "", "", "0", "0", "0", "320", "64", "0.5", "", ""},
	}, lines)
	skipped := reasons(s)
	assert.Contains(t, skipped["ann.mrprism"], "began 4.0 days after the first one, of 7")
	assert.Contains(t, skipped["ben.mrprism, #1"], "the clock was wrong")
	assert.Contains(t, skipped["cyd"], "has come back")
	assert.Contains(t, skipped["ben-older.mrprism, #1"], "later session ben.mrprism")
	assert.Contains(t, skipped[missing], "put it there")
	assert.Contains(t, skipped["readings with the model"], "readings.csv alone")

	open, err := OpenSessions(Options{Source: source, Destination: destination, Lenient: true})
	require.NoError(t, err)
	defer open.Close()
	assert.Equal(t, []Returned{{"ann", 4, 1, 5, "2026-11-27"}, {"ben", 1, 0, 2, "2026-11-27"}}, open.Returned(), "ben's second sitting is to come")
}
