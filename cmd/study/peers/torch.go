//go:build !js

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"mrprism/cmd/bench/measure"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
	"mrprism/weights/disk"
)

// python is Debian's Python, which finds python3-torch. It runs with -I, and so imports nothing
// from the working directory.
var python = "/usr/bin/python3"

// stepSides are the sides of compared steps without -side.
var stepSides = []int{128, 256}

// stepAgreement limits the relative difference of losses and gradients. Both programs sum float32
// in their own order, and random labels make gradients that nearly cancel.
const stepAgreement = 1e-3

// errNoTorch is the error of a machine without PyTorch.
var errNoTorch = errors.New("PyTorch is missing (on Debian: apt-get install python3-torch libopenblas0-openmp)")

// findTorch returns an error if PyTorch cannot be imported.
func findTorch(ctx context.Context) error {
	output, err := exec.CommandContext(ctx, python, "-I", "-c", "import torch").CombinedOutput()
	if err != nil && ctx.Err() == nil {
		lines := strings.Split(strings.TrimSpace(string(output)), "\n")
		return fmt.Errorf("%w: %s: %v: %s", errNoTorch, python, err, lines[len(lines)-1])
	}
	return ctx.Err()
}

// torchStep is a training step of PyTorch in its own process.
type torchStep struct {
	process *exec.Cmd
	ask     io.WriteCloser
	answers *bufio.Scanner
	name    string
	errors  strings.Builder
}

// torchAnswer is the result of a step: the loss before the update, and for the first step the norms
// of the gradients.
type torchAnswer struct {
	MS    float64            `json:"ms"`
	Loss  float64            `json:"loss"`
	Norms map[string]float64 `json:"norms"`
}

// newTorchStep starts the process with the step in a folder.
func newTorchStep(ctx context.Context, folder string) (*torchStep, error) {
	script, err := measure.Source("cmd/study/peers/pytorch.py")
	if err != nil {
		return nil, err
	}
	p := &torchStep{process: exec.CommandContext(ctx, python, "-I", "-B", script, "--serve", folder)}
	p.process.Stderr = &p.errors
	p.process.Env = append(os.Environ(), fmt.Sprintf("OMP_NUM_THREADS=%d", runtime.GOMAXPROCS(0)))
	if p.ask, err = p.process.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := p.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.answers = bufio.NewScanner(output)
	p.answers.Buffer(nil, 1<<20)
	if err := p.process.Start(); err != nil {
		return nil, err
	}
	var about struct {
		Torch   string `json:"torch"`
		Threads int    `json:"threads"`
		BLAS    string `json:"blas"` // files
	}
	if err := p.answer(&about); err != nil {
		p.close()
		return nil, err
	}
	p.name = fmt.Sprintf("PyTorch %s, CPU, %d threads", about.Torch, about.Threads)
	if about.BLAS != "" {
		p.name += ", " + about.BLAS
	}
	return p, nil
}

// answer reads a line of JSON.
func (p *torchStep) answer(into any) error {
	if !p.answers.Scan() {
		_ = p.process.Wait()
		return fmt.Errorf("pytorch.py ended: %s", strings.TrimSpace(p.errors.String()))
	}
	return json.Unmarshal(p.answers.Bytes(), into)
}

// run takes a step.
func (p *torchStep) run() (a torchAnswer, err error) {
	if _, err = io.WriteString(p.ask, "step\n"); err == nil {
		err = p.answer(&a)
	}
	return a, err
}

func (p *torchStep) close() {
	_ = p.ask.Close()
	_ = p.process.Wait()
}

// sides are the sides of compared steps.
func (r *request) sides() []int {
	if r.sideGiven {
		return []int{r.Side}
	}
	return stepSides
}

// besideTorch compares our step with PyTorch's at every side.
func (r *request) besideTorch(ctx context.Context, d gpu.Device, tell func(string)) (out []match, err error) {
	if !d.Info().InGo() {
		return nil, fmt.Errorf("PyTorch computes on the CPU: add -device processor")
	}
	if err := findTorch(ctx); err != nil {
		return nil, err
	}
	for _, side := range r.sides() {
		o := r.Options
		o.Side = side
		m, err := matchStep(ctx, d, o, tell)
		if err != nil {
			return out, err
		}
		out = append(out, m)
	}
	return out, nil
}

// matchStep compares loss and gradients of the first step, and then times steps in turn.
func matchStep(ctx context.Context, d gpu.Device, o measure.Options, tell func(string)) (match, error) {
	part := fmt.Sprintf("training step, %d×%d², %d threads", o.Batch, o.Side, runtime.GOMAXPROCS(0))
	tell(part + ": compiling")
	config, err := model.NewConfig(o.Config, o.Raters, o.Classes)
	if err != nil {
		return match{}, err
	}
	s, err := measure.NewStep(ctx, d, config, o, nil)
	if err != nil {
		return match{}, err
	}
	defer s.Release()
	if err := s.Begin(); err != nil {
		return match{}, err
	}
	folder, err := os.MkdirTemp("", "mrprism-step")
	if err != nil {
		return match{}, err
	}
	defer os.RemoveAll(folder)
	if err := export(ctx, s, folder, o); err != nil {
		return match{}, err
	}
	theirs, err := newTorchStep(ctx, folder)
	if err != nil {
		return match{}, err
	}
	defer theirs.close()
	m := match{Part: part, OursName: d.Info().String(), TheirsName: theirs.name, Agreement: stepAgreement}
	tell(part + ": comparing with " + theirs.name)
	loss, norms, err := gradients(ctx, d, config, o)
	if err != nil {
		return match{}, err
	}
	first, err := theirs.run() // which also warms it up
	if err != nil {
		return match{}, err
	}
	if err := s.Run(ctx); err != nil {
		return match{}, err
	}
	if m.Difference, err = largestDifference(loss, norms, first); err != nil {
		return match{}, err
	}
	err = m.time(o.Repeats, func(i int) { tell(fmt.Sprintf("%s: step %d of %d", part, i+1, o.Repeats)) },
		func() (float64, error) { return measure.Timed(ctx, s.Run) },
		func() (float64, error) { a, err := theirs.run(); return a.MS, err })
	return m, err
}

// export writes the beginning of the step for pytorch.py.
func export(ctx context.Context, s *measure.Step, folder string, o measure.Options) error {
	var floats []byte
	var tensors, draws []any
	add := func(name string, shape []int, values []float32) {
		tensors = append(tensors, map[string]any{"name": name, "shape": shape})
		floats = append(floats, gpu.Float32Bytes(values)...)
	}
	parameters := s.Set.Variables(tensor.Parameter)
	values, err := s.Set.Read(ctx, parameters...)
	if err != nil {
		return err
	}
	for i, v := range parameters {
		add("param."+v.Name, v.Shape, values[i])
	}
	b := s.Batch
	add("x", s.X.Shape(), b.X)
	add("z", s.Z.Shape(), b.Z)
	add("valid", s.Valid.Shape(), b.Valid)
	add("w0", s.W0.Shape(), b.W0)
	if s.Prior != nil {
		add("prior", s.Prior.Shape(), b.Prior)
	}
	for _, row := range b.Shuffles {
		var drawn []any
		for _, w := range row {
			drawn = append(drawn, map[string]any{"order": w.Order, "scale": w.Scale, "offset": w.Offset})
		}
		draws = append(draws, drawn)
	}
	text, err := json.Marshal(map[string]any{
		"config": strings.TrimSuffix(o.Config, "-steered"), "raters": o.Raters, "classes": o.Classes, "threads": runtime.GOMAXPROCS(0),
		"fade": s.Recipe.FadeWeight, "rate": s.Recipe.Rate, "tensors": tensors, "draws": draws,
	})
	return errors.Join(err, disk.WriteFile(folder, "step.json", text), disk.WriteFile(folder, "step.f32", floats))
}

// gradients are the loss and the norms of the gradients of the first step, computed without an
// update.
func gradients(ctx context.Context, d gpu.Device, config model.Config, o measure.Options) (loss float64, norms map[string]float64, err error) {
	s, err := measure.NewStep(ctx, d, config, o, func(s *measure.Step) {
		for _, v := range s.Set.Variables(tensor.Parameter) {
			s.Graph.Variable(v).Gradient().Keep()
		}
	})
	if err != nil {
		return 0, nil, err
	}
	defer s.Release()
	if err := s.Begin(); err != nil {
		return 0, nil, err
	}
	if err := s.Write(s.Plan, s.Batch, s.Recipe.FadeWeight); err != nil {
		return 0, nil, err
	}
	if err := s.Plan.Run(ctx); err != nil {
		return 0, nil, err
	}
	parameters := s.Set.Variables(tensor.Parameter)
	wanted := []*tensor.Tensor{s.Total}
	for _, v := range parameters {
		wanted = append(wanted, s.Graph.Variable(v).Gradient())
	}
	values, err := s.Plan.Read(ctx, wanted...)
	if err != nil {
		return 0, nil, err
	}
	norms = map[string]float64{}
	for i, v := range parameters {
		sum := 0.0
		for _, g := range values[i+1] {
			sum += float64(g) * float64(g)
		}
		norms[v.Name] = math.Sqrt(sum)
	}
	return float64(values[0][0]), norms, nil
}

// largestDifference is the largest relative difference of the losses and of the norms. Norms differ
// relative to at least a thousandth of the largest norm: smaller ones are rounding.
func largestDifference(loss float64, norms map[string]float64, theirs torchAnswer) (float64, error) {
	if len(norms) != len(theirs.Norms) {
		return 0, fmt.Errorf("%d parameters have gradients here and %d in PyTorch", len(norms), len(theirs.Norms))
	}
	largest := 0.0
	for _, n := range norms {
		largest = max(largest, n)
	}
	most := 0.0
	compared := func(what string, a, b, least float64) error {
		difference := math.Abs(a-b) / max(math.Abs(a), least)
		if !(difference < tooFar) {
			return fmt.Errorf("%s is %v here and %v in PyTorch: not the same step", what, a, b)
		}
		most = max(most, difference)
		return nil
	}
	err := compared("the loss", loss, theirs.Loss, 0)
	for name, n := range norms {
		if _, ok := theirs.Norms[name]; !ok {
			return 0, fmt.Errorf("PyTorch has no gradient of %s", name)
		}
		err = errors.Join(err, compared("the norm of the gradient of "+name, n, theirs.Norms[name], largest/1000))
	}
	return most, err
}
