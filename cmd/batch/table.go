package main

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"regexp"
	"slices"

	"mrprism/internal/command/journal"
	"mrprism/internal/files/cells"
	"mrprism/internal/output/sheet"
)

// Names of tables, without their ending.
const (
	resultsName = "results"
	deadName    = "dead-letters"
)

// ours matches the names that tableName makes.
var ours = regexp.MustCompile(`^(?:results|dead-letters)(?:-\d{5,}-of-\d{5,})?\.csv$`)

// perTable is the most files that a table has on the mean: each is held in memory once.
var perTable = 100_000

// shard gives an outcome the number of its table, by the file's name.
type shard struct{ Shards int }

func (s *shard) ProcessElement(o Outcome) (int, Outcome) { return s.numberOf(o.Path), o }

func (s *shard) numberOf(path string) int {
	h := fnv.New32a()
	h.Write([]byte(path))
	return int(h.Sum32() % uint32(s.Shards))
}

// tables writes the table and the dead letters of a shard, in the order of the files' names.
type tables struct {
	Task   Task
	Shards int
}

func (t *tables) ProcessElement(_ context.Context, number int, next func(*Outcome) bool) (sum Summary, err error) {
	s, err := t.Task.segmenter()
	if err != nil {
		return sum, err
	}
	all := sorted(next)
	results, dead := sheet.Table{}, sheet.Table{Table: cells.Table{Columns: []string{"image", "sha256", "step", "error"}}}
	for _, o := range all {
		r, err := s.recordOf(o)
		if err != nil {
			return sum, err
		}
		sum = plus(sum, count(r))
		results.Add(r)
		if o.Failed != "" {
			dead.Lines = append(dead.Lines, []string{results.Text(len(results.Lines)-1, "image"), o.Key, o.Failed, results.Text(len(results.Lines)-1, "error")})
		}
	}
	insertKeys(&results, all)
	return sum, cmp.Or(t.write(resultsName, number, &results), t.write(deadName, number, &dead))
}

// sorted are the outcomes by their files' names.
func sorted(next func(*Outcome) bool) (all []Outcome) {
	for o := (Outcome{}); next(&o); o = (Outcome{}) {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b Outcome) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// recordOf is the line of an outcome, by the journal or for a failure. A failure has no date, so
// that a rerun writes the same line.
func (s *segmenter) recordOf(o Outcome) (r sheet.Record, err error) {
	if o.Failed != "" {
		r = s.Record(journal.Item{Image: o.Path})
		r.Error = o.Error
		return r, nil
	}
	e, err := journal.Read(s.task.donePath(o.Key))
	if err != nil {
		return r, fmt.Errorf("%w; all workers must see the folder of -out", err)
	}
	r = e.Record()
	r.Image = o.Path
	return r, nil
}

// insertKeys makes the outcomes' keys the second column.
func insertKeys(t *sheet.Table, outcomes []Outcome) {
	t.Columns = slices.Insert(t.Columns, 1, "sha256")
	for i, o := range outcomes {
		t.Lines[i] = slices.Insert(t.Lines[i], 1, o.Key)
	}
}

// write writes a table, unless the file is the same already.
func (t *tables) write(name string, number int, table *sheet.Table) error {
	data, err := table.Bytes()
	if err != nil {
		return err
	}
	return t.Task.write(t.Task.path(tableName(name, number, t.Shards)), data)
}

func tableName(name string, number, shards int) string {
	if shards > 1 {
		name += fmt.Sprintf("-%05d-of-%05d", number, shards)
	}
	return name + ".csv"
}

// tidy removes the tables of earlier runs, with other files or another number of tables.
func (b *batch) tidy(paths []string) error {
	by, keep := shard{b.shards}, map[string]bool{}
	for _, p := range paths {
		keep[tableName(resultsName, by.numberOf(p), b.shards)] = true
		keep[tableName(deadName, by.numberOf(p), b.shards)] = true
	}
	entries, err := os.ReadDir(b.task.Out)
	for _, e := range entries {
		if ours.MatchString(e.Name()) && !keep[e.Name()] {
			err = cmp.Or(err, os.Remove(b.task.path(e.Name())))
		}
	}
	return err
}

// Summary counts files. A copy of a file under another name counts as well.
type Summary struct {
	Files     int `json:"files"`
	Segmented int `json:"segmented"`
	NotFound  int `json:"not_found"` // of these: without a structure
	Doubted   int `json:"doubted"`   // of these: with doubts
	Failed    int `json:"failed"`
}

// count is the summary of one file.
func count(r sheet.Record) Summary {
	if r.Error != "" || r.Result == nil {
		return Summary{Files: 1, Failed: 1}
	}
	s := Summary{Files: 1, Segmented: 1}
	if !r.Result.Found {
		s.NotFound = 1
	}
	if len(r.Result.Doubts) > 0 {
		s.Doubted = 1
	}
	return s
}

func plus(a, b Summary) Summary {
	return Summary{a.Files + b.Files, a.Segmented + b.Segmented, a.NotFound + b.NotFound, a.Doubted + b.Doubted, a.Failed + b.Failed}
}

// summarise writes summary.json.
type summarise struct{ Task Task }

func (s *summarise) ProcessElement(sum Summary) error {
	return s.Task.writeJSON(s.Task.path(summaryName), struct {
		Summary
		Weights string `json:"weights"`
		SHA256  string `json:"weights_sha256"`
		Device  string `json:"device"`
	}{sum, s.Task.Weights, s.Task.SHA256, s.Task.Device})
}
