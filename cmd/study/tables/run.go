//go:build !js

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/synthetic"
	"mrprism/weights/disk"
)

const (
	images      = 4           // in a batch
	drawnImages = 150         // of a generated set
	device      = "processor" // trains and scores
)

// runner trains and scores in processes of their own, one after the other, and goes on where an
// earlier one stopped: a run that has ended has a file named ended in its folder.
type runner struct {
	out, shared, programs string
	scores                string // folder of kept scores
	steps, seeds          int
	nice                  []string // what stands before train
}

const ended = "ended"

// run is a training: a row, on data, with a seed.
type run struct {
	data
	entry
	seed   int
	member int // which network of an ensemble, from 1 on; 0: the whole, or no ensemble
}

func (r run) name() string { return fmt.Sprintf("%s-seed%d", r.entry.name, r.seed) }

// folder holds a training; of an ensemble, the folders of its members.
func (r *runner) folder(x run) string {
	folder := filepath.Join(r.out, x.data.name, x.name())
	if x.member > 0 {
		folder = filepath.Join(folder, strconv.Itoa(x.member))
	}
	return folder
}

// members are the networks of an ensemble. They learn from the same images, with seeds of their own.
func (x run) members() (list []run) {
	for i := range x.networks {
		member := x
		member.networks, member.member = 0, i+1
		member.args = append(slices.Clone(x.args), "-seed", strconv.Itoa(100*x.seed+i))
		list = append(list, member)
	}
	return list
}

// weights are the weights of a run as "evaluate compare" takes them.
func (r *runner) weights(x run) string {
	if x.networks == 0 {
		return filepath.Join(r.folder(x), "model.f32.safetensors")
	}
	var all []string
	for _, member := range x.members() {
		all = append(all, r.weights(member))
	}
	return strings.Join(all, "+")
}

// fold is which fifth of the images a seed holds out: of real images, which are few, another one
// with each seed; of generated ones always the same.
func (d data) fold(seed int) int {
	if d.folder == "" {
		return 1
	}
	if d.held > 0 {
		return d.held
	}
	return (seed-1)%dataset.HoldOut + 1
}

// split is the flag of train and evaluate for the fifth that a seed holds out. Without the flag
// they hold out the first.
func (r *runner) split(d data, seed int, source string) ([]string, error) {
	fold := d.fold(seed)
	if fold == 1 && !d.patients {
		return nil, nil
	}
	set, err := dataset.Open(source)
	if err != nil {
		return nil, err
	}
	var s dataset.Split
	for i, part := range dataset.Folds(set.Cases, dataset.HoldOut) {
		if name := set.Cases[i].Name; (part+fold)%dataset.HoldOut == 0 {
			s.Test = append(s.Test, name)
		} else {
			s.Train = append(s.Train, name)
		}
	}
	folder, err := disk.Folder(r.out, filepath.Join(d.name, fmt.Sprintf("fold%d", fold)))
	if err != nil {
		return nil, err
	}
	return []string{"-split", filepath.Join(folder, dataset.SplitFile)}, s.Write(folder)
}

// source is the data set's folder. A generated one is drawn first, of panels one for each seed.
func (r *runner) source(ctx context.Context, d data, seed int) (string, error) {
	if d.teachers != "" {
		return r.those(d, d.teachers)
	}
	if d.folder != "" {
		return filepath.Join(r.shared, d.folder), nil
	}
	folder := filepath.Join(r.out, d.name, "data")
	if d.drawn != "" {
		folder += strconv.Itoa(seed)
	}
	if _, err := os.Stat(filepath.Join(folder, "dataset.json")); err == nil {
		return folder, nil
	}
	if d.drawn != "" {
		scenario, err := synthetic.FindScenario(d.drawn)
		if err != nil {
			return "", err
		}
		seed := firstPanel + uint64(seed)
		return folder, synthetic.WriteDataset(ctx, folder, panel(scenario, seed), drawnImages, d.side, seed)
	}
	return folder, r.call(ctx, nil, "train", "synthetic", d.name, folder, "-images", strconv.Itoa(drawnImages), "-side", strconv.Itoa(d.side), "-seed", "11")
}

// fused is the folder of fused labels. The network that some fusions need is that of the first seed
// that learned from the same images.
func (r *runner) fused(ctx context.Context, d data, seed int, source, fusion string) (string, error) {
	network := run{data: d, entry: fuser(fusion), seed: d.fold(seed)}
	if d.drawn != "" {
		network.seed = seed
	}
	folder := filepath.Join(r.out, d.name, fmt.Sprintf("fused%d-%s", network.seed, network.entry.name))
	if _, err := os.Stat(filepath.Join(folder, fusion)); err == nil {
		return filepath.Join(folder, fusion), nil
	}
	if err := r.train(ctx, network); err != nil {
		return "", err
	}
	split, err := r.split(d, seed, source)
	if err != nil {
		return "", err
	}
	args := []string{"fuse", "-data", source, "-on", "train", "-weights", r.weights(network), "-device", device, "-out", folder}
	return filepath.Join(folder, fusion), r.call(ctx, nil, "evaluate", append(args, split...)...)
}

// train trains a run, or goes on with it.
func (r *runner) train(ctx context.Context, x run) error {
	folder := r.folder(x)
	if _, err := os.Stat(filepath.Join(folder, ended)); err == nil {
		return nil
	}
	if x.networks > 0 {
		for _, member := range x.members() {
			if err := r.train(ctx, member); err != nil {
				return err
			}
		}
		return disk.WriteFile(folder, ended, nil)
	}
	args := []string{"-with", folder, "-resume"}
	if _, err := os.Stat(filepath.Join(folder, "checkpoint.safetensors")); err != nil {
		if args, err = r.arguments(ctx, x); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := r.call(ctx, r.nice, "train", args...); err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	fmt.Printf("%s trained in %v\n", folder, time.Since(began).Round(time.Second))
	return disk.WriteFile(folder, ended, nil)
}

// arguments are those of a new training.
func (r *runner) arguments(ctx context.Context, x run) ([]string, error) {
	source, err := r.source(ctx, x.data, x.seed)
	if err != nil {
		return nil, err
	}
	all, err := os.ReadDir(filepath.Join(source, "images"))
	if err != nil {
		return nil, err
	}
	learned := len(all) - len(all)/dataset.HoldOut
	steps := float64(cmp.Or(x.steps, r.steps) * max(1, x.longer))
	epochs := max(1, int(math.Round(steps/math.Ceil(float64(learned)/images))))
	args := []string{
		"-data", source, "-config", "compact", "-phases", fmt.Sprintf("%d:%d", x.side, epochs), "-batch", strconv.Itoa(images), "-seed", strconv.Itoa(x.seed),
		"-device", device, "-out", r.folder(x),
	}
	split, err := r.split(x.data, x.seed, source)
	if err != nil {
		return nil, err
	}
	fields := ""
	for _, arg := range slices.Concat(split, x.training, x.args) {
		if strings.Contains(arg, ": ") {
			fields += arg + "\n"
		} else {
			args = append(args, arg)
		}
	}
	if fields != "" {
		file := r.folder(x) + ".yaml"
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := disk.WriteFile(filepath.Dir(file), filepath.Base(file), []byte(fields)); err != nil {
			return nil, err
		}
		args = append(args, "-with", file)
	}
	if x.entry.fused != "" {
		labels, err := r.fused(ctx, x.data, x.seed, source, x.entry.fused)
		if err != nil {
			return nil, err
		}
		args = append(args, "-labels", labels)
	}
	return args, nil
}

// compare scores the runs of a data set and a seed that have ended. The first is what the others
// are tested against.
func (r *runner) compare(ctx context.Context, d data, seed int, runs []run) error {
	var weights []string
	newest := time.Time{}
	for _, x := range runs {
		info, err := os.Stat(filepath.Join(r.folder(x), ended))
		if err != nil {
			continue
		}
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		weights = append(weights, strings.TrimSuffix(x.name(), fmt.Sprintf("-seed%d", seed))+"="+r.weights(x))
	}
	out := r.compared(d, seed)
	if info, err := os.Stat(filepath.Join(out, "cases.csv")); len(weights) == 0 || err == nil && info.ModTime().After(newest) {
		return nil
	}
	if err := os.RemoveAll(out); err != nil { // compare takes a new folder
		return err
	}
	source, err := r.source(ctx, d, seed)
	if err != nil {
		return err
	}
	if d.judges != "" {
		if source, err = r.those(d, d.judges); err != nil {
			return err
		}
	}
	reference := "mean"
	if d.truth {
		reference = "truth"
	}
	split, err := r.split(d, seed, source)
	if err != nil {
		return err
	}
	args := []string{"compare", "-data", source, "-weights", strings.Join(weights, ","), "-reference", reference, "-device", device, "-out", out}
	if len(d.figures()) > len(masks) {
		args = append(args, "-draws", strconv.Itoa(draws))
	}
	return r.call(ctx, nil, "evaluate", append(args, split...)...)
}

func (r *runner) compared(d data, seed int) string {
	return filepath.Join(r.out, d.name, fmt.Sprintf("compare-seed%d", seed))
}

// call runs one of the programs on one core. If it fails, the error has the end of what it said.
func (r *runner) call(ctx context.Context, before []string, program string, args ...string) error {
	command := append(slices.Clone(before), append([]string{filepath.Join(r.programs, program)}, args...)...)
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Env = append(os.Environ(), "GOMAXPROCS=1")
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // train saves
	c.WaitDelay = time.Minute
	said, err := c.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		return errors.Join(fmt.Errorf("%s: %w", strings.Join(command, " "), err), errors.New(strings.Join(lines[max(0, len(lines)-8):], "\n")))
	}
	return nil
}
