package main

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mrprism/internal/output/table"
	"mrprism/internal/train"
	"mrprism/internal/train/tensorboard"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// boardFolder has TensorBoard's event files in the run's folder.
const boardFolder = "tensorboard"

// previewName is the drawing of -previews in the run's folder.
const previewName = "preview.svg"

// curvesName is the picture of the curves in the run's folder.
const curvesName = "curves.svg"

// recorder writes the reports of a run into the log and TensorBoard's event files.
type recorder struct {
	out     string // the run's folder
	log     *disk.Records
	board   *tensorboard.Writer
	note    func(string)
	failing bool // the last step was not recorded
	totals
}

// totals sum up the steps of this process.
type totals struct {
	began                               time.Time
	images, steps                       int
	seconds, dataSeconds, deviceSeconds float64
	last                                train.Report
	mean                                map[string]float64 // of the recent terms, and of "loss"
	current                             *float64           // soft Dice; nil before the first score
	best                                float64
}

// openRecorder continues the records in the run's folder after the steps that are done.
func openRecorder(out string, done int, note func(string)) (*recorder, error) {
	log, err := openLog(filepath.Join(out, logName), done)
	if err != nil {
		return nil, err
	}
	var board *tensorboard.Writer
	folder, err := disk.Folder(out, boardFolder)
	if err == nil {
		board, err = tensorboard.Create(folder, done+1)
	}
	if err != nil {
		log.Close()
		return nil, err
	}
	return &recorder{out: out, log: log, board: board, note: note, totals: totals{began: time.Now(), mean: map[string]float64{}}}, nil
}

func (r *recorder) close() {
	r.log.Close()
	r.board.Close()
}

// step records one step. If it cannot be written, as on a full disk, training goes on until a
// checkpoint cannot be written either. Later steps are recorded once there is room.
func (r *recorder) step(report train.Report) {
	r.add(report)
	err := r.write(report)
	if err != nil && !r.failing {
		r.note(fmt.Sprintf("step %d could not be recorded: %v; training goes on: make room before the next checkpoint is due", report.Step, err))
	}
	r.failing = err != nil
}

// write writes one step into the log and the event file. It tries both and returns the first error.
func (r *recorder) write(report train.Report) error {
	scalars := []tensorboard.Scalar{
		{Tag: "loss/all", Value: report.Loss}, {Tag: "rate", Value: report.Rate}, {Tag: "epoch", Value: float64(report.Epoch)},
		{Tag: "speed/images per second", Value: float64(report.Images) / report.Seconds},
		{Tag: "speed/share of time not on the device", Value: 1 - report.DeviceSeconds/report.Seconds},
	}
	for _, name := range slices.Sorted(maps.Keys(report.Terms)) {
		scalars = append(scalars, tensorboard.Scalar{Tag: "loss/" + name, Value: report.Terms[name]})
	}
	if report.Norm > 0 {
		scalars = append(scalars, tensorboard.Scalar{Tag: "gradient norm", Value: report.Norm})
	}
	if report.Scale > 0 {
		scalars = append(scalars, tensorboard.Scalar{Tag: "loss scale", Value: report.Scale})
	}
	if report.SoftDice != nil {
		scalars = append(scalars, tensorboard.Scalar{Tag: "soft Dice, set aside", Value: *report.SoftDice})
	}
	var drawn error
	if report.Preview != nil { // before the log, which has it known
		drawn = weights.WriteFile(filepath.Join(r.out, previewName), report.Preview.SVG)
	}
	failed := []error{drawn, logStep(r.log, report), r.board.Scalars(report.Step, scalars...)}
	if report.Picture != nil {
		failed = append(failed, r.board.Image(report.Step, "image, votes, mask after each recurrence", tiles(report.Picture)))
	}
	return cmp.Or(failed...)
}

// add adds a step to the sums.
func (r *totals) add(report train.Report) {
	r.images += report.Images
	r.seconds += report.Seconds
	r.dataSeconds += report.DataSeconds
	r.deviceSeconds += report.DeviceSeconds
	values := maps.Clone(report.Terms)
	values["loss"] = report.Loss
	for name, v := range values {
		if r.steps == 0 {
			r.mean[name] = v
		}
		r.mean[name] += 0.05 * (v - r.mean[name])
	}
	if s := report.SoftDice; s != nil {
		r.current, r.best = s, report.Best
	}
	r.steps++
	r.last = report
	r.last.Picture, r.last.Preview = nil, nil
}

// tiles draws a row for each class: the image, the share of the raters' votes, and the mask after
// each recurrence.
func tiles(p *train.Picture) image.Image {
	const gap = 2
	columns := 2 + len(p.Masks)
	out := image.NewRGBA(image.Rect(0, 0, columns*(p.Side+gap)-gap, p.Classes*(p.Side+gap)-gap))
	level := func(v float32) uint8 { return uint8(min(max(v, 0), 1)*255 + 0.5) }
	for k := range p.Classes {
		for i := range p.Side * p.Side {
			x, y := i%p.Side, i/p.Side+k*(p.Side+gap)
			out.SetRGBA(x, y, color.RGBA{level(p.Image[3*i]), level(p.Image[3*i+1]), level(p.Image[3*i+2]), 255})
			for c, values := range append([][]float32{p.Votes}, p.Masks...) {
				v := level(values[i*p.Classes+k])
				out.SetRGBA(x+(c+1)*(p.Side+gap), y, color.RGBA{v, v, v, 255})
			}
		}
	}
	return out
}

// megabytes is a file's size for people.
func megabytes(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.3g kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.3g MB", float64(n)/1e6)
}

// summary prints how the run went, and its files.
func (r *recorder) summary(w io.Writer, files ...string) {
	if r.steps == 0 {
		return
	}
	t := table.New(3, 0)
	row := func(name, format string, args ...any) { t.Line("  %s\t%s", name, fmt.Sprintf(format, args...)) }
	t.Line("")
	row("steps", "%d of %d, %d of them now (epoch %d of %d, %d²)", r.last.Step, r.last.Steps, r.steps, r.last.Epoch, r.last.Epochs, r.last.Side)
	row("time", "%s; a step %.3g s, %.1f images/s", time.Since(r.began).Round(time.Second), r.seconds/float64(r.steps), float64(r.images)/r.seconds)
	row("not on the device", "%.1f %% of a step, %.1f %% waiting for data", 100*(1-r.deviceSeconds/r.seconds), 100*r.dataSeconds/r.seconds)
	var terms []string
	for _, name := range slices.Sorted(maps.Keys(r.last.Terms)) {
		terms = append(terms, fmt.Sprintf("%s %.4f", name, r.mean[name]))
	}
	row("loss", "%.4f: %s (recent means)", r.mean["loss"], strings.Join(terms, ", "))
	if r.current != nil {
		row("soft Dice, set aside", "%.4f, best %.4f", *r.current, r.best)
	}
	head := "files"
	for _, name := range files {
		info, err := os.Stat(filepath.Join(r.out, name))
		if err != nil {
			continue
		}
		size := ""
		if !info.IsDir() {
			size = "  " + megabytes(info.Size())
		}
		row(head, "%s%s", filepath.Join(r.out, name), size)
		head = ""
	}
	_ = t.Print(w) // the run is saved
}
