package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mrprism/internal/choice"
	"mrprism/internal/data/dataset"
	"mrprism/internal/segment"
	"mrprism/internal/train/optim"
	"mrprism/model"
	"mrprism/shaders/adam"
	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// ErrDiverged means that a step's loss or gradient was not finite. The saved files stay.
var ErrDiverged = errors.New("the loss or its gradient is not finite")

// Report describes a step. Its JSON is a line of a run's log.
type Report struct {
	Step     int                `json:"step"`
	Steps    int                `json:"steps"` // of the run
	Epoch    int                `json:"epoch"`
	Side     int                `json:"side"`
	Rate     float64            `json:"rate"`
	Loss     float64            `json:"loss"`
	Terms    map[string]float64 `json:"terms"`               // weighted sums over the recurrences
	SoftDice *float64           `json:"soft_dice,omitempty"` // of averaged weights; nil: no score
	// Norm of the gradient before it is clipped; 0: unknown or not finite.
	Norm    float64 `json:"gradient_norm,omitempty"`
	Scale   float64 `json:"loss_scale,omitempty"` // in f16; otherwise 0
	Skipped bool    `json:"skipped,omitempty"`    // a gradient was too large for f16: no update
	Images  int     `json:"images"`
	Seconds float64 `json:"seconds"`
	// DataSeconds of Seconds were spent waiting for data.
	DataSeconds float64 `json:"data_seconds"`
	// DeviceSeconds of Seconds passed from submitting commands to reading losses.
	DeviceSeconds float64 `json:"device_seconds"`
	// RanksSeconds of Seconds were spent waiting for means over the ranks.
	RanksSeconds float64 `json:"ranks_seconds,omitempty"`

	Epochs  int           `json:"-"` // of the run
	Best    float64       `json:"-"` // highest SoftDice of the run
	Left    time.Duration `json:"-"` // estimate for the rest of the run
	Picture *Picture      `json:"-"` // nil: not in this step

	Preview *Preview `json:"preview,omitempty"` // nil: not after this step
}

// Trainer is a run in progress.
type Trainer struct {
	Options Options
	Dataset *dataset.Dataset
	Config  model.Config

	device    gpu.Device
	cases     []*dataset.Sample // to learn from
	aside     []*dataset.Loaded // to score by
	content   string            // of the files of both
	set       *tensor.Set
	engine    *segment.Engine // for scoring; nil until the first score
	best      best
	pieces    [][2]int        // image set aside and class, where the best mask was in several pieces
	previewed *dataset.Loaded // the image of previews, if it is known
	apart     bool            // the run does not learn from it
	step      int             // steps done
	scaled    scaling
	of        *weights.Metadata // of Options.Init, if its network does not learn; otherwise nil
	kept      []weights.Panel   // of Options.Init, if its mask does not learn
	finder    *weights.File     // of Options.Init, or nil
	adam      adam.Options
	group     *group // of the ranks; nil: this process trains alone
	ended     bool   // the run stops before its last step

	held         io.Closer // the lock of the run's folder; nil: a dry run
	saved        time.Time // when the state was last saved
	checkpointed int       // the step of the whole checkpoint in the run's folder, or noCheckpoint
}

// New opens and checks the data, declares the network and reads the checkpoint or the initial
// weights, if the options name them. It checks everything else before it reads the images and
// reports progress.
func New(ctx context.Context, device gpu.Device, o Options, progress func(done, total int)) (*Trainer, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if err := o.Precision.Runs(device.Info()); err != nil {
		return nil, err
	}
	if err := o.introduce(device.Info()); err != nil {
		return nil, err
	}
	if !o.DryRun && !o.Follows() {
		if err := o.vacant(); err != nil {
			return nil, err
		}
	}
	begin, err := o.openInitial()
	if err != nil {
		return nil, err
	}
	data, err := o.open()
	if err != nil {
		return nil, err
	}
	if o.Anchor != "" && !slices.Contains(data.Classes, o.Anchor) {
		return nil, choice.Errorf("$anchor %s is no class of %s, which has %s", o.Anchor, data.Name, strings.Join(data.Classes, ", "))
	}
	if _, err := o.metadata(data, len(data.Training()), 0).Map(); err != nil {
		return nil, fmt.Errorf("a model of this data could not be exported: %w", err)
	}
	if o.DryRun || o.Follows() {
		return load(ctx, device, o, data, begin, progress)
	}
	held, err := o.claim()
	if err != nil {
		return nil, err
	}
	t, err := load(ctx, device, o, data, begin, progress)
	if err != nil {
		_ = os.Remove(filepath.Join(o.Out, disk.LockFile))
		held.Close()
		_ = os.Remove(o.Out) // fails if the folder has files
		return nil, err
	}
	t.held = held
	return t, nil
}

// load reads the images and gives the network its first values.
func load(ctx context.Context, device gpu.Device, o Options, data *dataset.Dataset, begin initial, progress func(done, total int)) (*Trainer, error) {
	learn, apart, err := o.divide(data)
	if err != nil {
		return nil, err
	}
	if data, learn, err = o.teach(data, learn); err != nil {
		return nil, err
	}
	cases, aside, err := o.read(ctx, data, learn, apart, progress)
	if err != nil {
		return nil, err
	}
	content, err := contents(ctx, slices.Concat(learn, apart))
	if err != nil {
		return nil, err
	}
	if data.Levels {
		o.Recipe = o.Recipe.ForLevels()
	}
	c, err := o.network(data, learn, cases, begin.about)
	if err != nil {
		return nil, err
	}
	t := &Trainer{
		Options: o, Dataset: data, Config: c, device: device, cases: cases, aside: aside, content: content, set: tensor.NewSet(), checkpointed: noCheckpoint, scaled: newScaling(o.Precision),
		adam: adam.Options{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Decay: float32(o.Recipe.Decay)}, group: newGroup(o.Ranks),
	}
	if o.SyncNorm && t.group != nil {
		t.Config.Group = t.group
	}
	if err := t.declare(ctx, begin); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// declare declares every variable, allocates them and gives them their first values.
func (t *Trainer) declare(ctx context.Context, begin initial) error {
	t.build(t.Options.Phases[0].Side, t.Options.Batch, t.Options.Recipe)
	model.Declare(t.set, t.Config) // the export also has parts that the recipe does not train
	if err := t.set.Allocate(ctx, t.device); err != nil {
		return err
	}
	if err := t.start(ctx, begin); err != nil {
		return err
	}
	return t.agree(ctx)
}

// build makes the graph of a step and the graph of its update. They are one graph unless gradients
// are summed over several batches or ranks.
func (t *Trainer) build(side, batch int, recipe model.Recipe) (s *model.Step, loss *tensor.Tensor, u *model.Update) {
	s = model.NewStep(t.set, t.Config, recipe, batch, side)
	loss = s.Loss()
	s.Backward(loss)
	switch {
	case t.group != nil:
		return s, loss, s.Accumulate(t.set, t.adam, t.Options.Clip, t.group)
	case t.Options.accumulate() > 1:
		return s, loss, s.Accumulate(t.set, t.adam, t.Options.Clip, nil)
	}
	return s, loss, s.Update(t.set, t.adam, t.Options.Clip)
}

// start gives the variables their first values: from the checkpoint, from given weights, or random.
func (t *Trainer) start(ctx context.Context, from initial) error {
	if t.Options.Resume {
		return t.restore()
	}
	if err := t.set.Initialise(t.Options.Seed); err != nil {
		return err
	}
	if from.file != nil {
		if err := t.begin(from); err != nil {
			return fmt.Errorf("%s: %w", t.Options.Init, err)
		}
		if t.Options.Recipe.Frozen && from.names == nil {
			t.of = &from.about
		}
		if r := t.Options.Recipe; r.Frozen || r.HeadsFirst == 1 {
			t.kept = from.about.Panels
		}
		if err := t.keepFinder(from.file); err != nil {
			return fmt.Errorf("%s: %w", t.Options.Init, err)
		}
	}
	return t.beginAverages(ctx)
}

// keepFinder keeps the finder of a file, unless the run trains for another anchor or side.
func (t *Trainer) keepFinder(file *weights.File) error {
	small, err := file.Attached()
	if small == nil || err != nil {
		return err
	}
	about, err := t.Options.metadata(t.Dataset, 0, 0).Map()
	if err != nil {
		return err
	}
	if err := (&weights.File{Metadata: about}).Join(small); err != nil {
		t.Options.tell(fmt.Sprintf("the finder of %s stays behind: %v", t.Options.Init, err))
		return nil
	}
	t.finder = small
	return nil
}

// beginAverages sets the averages to the parameters. If they began at 0, they would be too small
// after the first steps, and stay 0 in a run whose steps were all skipped.
func (t *Trainer) beginAverages(ctx context.Context) error {
	for _, v := range t.set.Variables(tensor.Parameter) {
		average := t.set.Lookup(model.AveragePrefix + v.Name)
		if average == nil {
			continue
		}
		values, err := t.set.Read(ctx, v)
		if err != nil {
			return err
		}
		if err := t.set.Write(average, values[0]); err != nil {
			return err
		}
	}
	return nil
}

func (o Options) tell(text string) {
	if o.Note != nil {
		o.Note(text)
	}
}

// Close frees the GPU memory and unlocks the run's folder.
func (t *Trainer) Close() {
	if t.held != nil {
		t.held.Close()
	}
	if t.engine != nil {
		t.engine.Close()
	}
	t.set.Release()
}

// Images is the number of images trained on.
func (t *Trainer) Images() int { return len(t.cases) }

// Aside are the names, FOLDER/NAME, of the images set aside for scores.
func (t *Trainer) Aside() (names []string) {
	for _, c := range t.aside {
		names = append(names, c.Folder+"/"+c.Name)
	}
	return names
}

// Done is the number of steps done.
func (t *Trainer) Done() int { return t.step }

// Run trains to the end, or until patience is out. If the context is cancelled, Run finishes the
// step, saves and returns the context's error. If another rank's context is cancelled, the rank
// that reports returns context.Canceled, and ranks that follow return no error.
func (t *Trainer) Run(ctx context.Context, report func(Report)) error {
	t.saved = time.Now()
	last := 0
	for _, phase := range t.Options.Phases {
		last += phase.Epochs * t.epochSteps()
		for _, until := range []int{min(last, t.first()), last} {
			if t.step >= until {
				continue
			}
			if err := t.decide(ctx); err != nil {
				return err
			}
			if !t.ended {
				if err := t.phase(ctx, phase, until, report); err != nil {
					return err
				}
			}
		}
	}
	if err := t.save(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if t.step >= last || t.outOfPatience() {
		t.adviceOnPieces()
	}
	if t.outOfPatience() {
		t.Options.tell(fmt.Sprintf("stopped: epoch %d scored %.4f, and %d later epochs did not score better; the model of that epoch is %s", t.best.Epoch, t.best.Score,
			t.Options.Patience, filepath.Join(t.Options.Out, t.Options.Name+BestSuffix+smallSuffix)))
		return nil
	}
	switch {
	case t.step >= last:
		return nil
	case ctx.Err() == nil && !t.Options.Follows():
		return fmt.Errorf("another rank was told to end: %w", context.Canceled)
	}
	return ctx.Err()
}

// first is the number of steps at the beginning of the run in which the mask alone learns, or all
// but the mask. A run that keeps the best weights has none of the mask alone, since the best mask
// might have untrained heads.
func (t *Trainer) first() int {
	share := t.Options.Recipe.HeadsFirst
	if share == 0 && !t.Options.validates() {
		share = t.Options.Recipe.MaskFirst
	}
	return int(share * float64(t.Steps()))
}

// Steps is the length of the whole run.
func (t *Trainer) Steps() int {
	n := 0
	for _, p := range t.Options.Phases {
		n += p.Epochs * t.epochSteps()
	}
	return n
}

func (t *Trainer) epochSteps() int {
	images := t.Options.images()
	if n := t.ownImages(); n < len(t.cases) { // every second batch is from Options.Also
		return (2*n + images - 1) / images
	}
	return (len(t.cases) + images - 1) / images
}

// ownImages is the number of images that the data set's own raters marked. An epoch sees each of
// them once.
func (t *Trainer) ownImages() (n int) {
	for _, c := range t.cases {
		if !c.Others() {
			n++
		}
	}
	return n
}

// phase trains at one image side until last steps are done or the context is cancelled.
func (t *Trainer) phase(ctx context.Context, phase Phase, last int, report func(Report)) error {
	working := context.WithoutCancel(ctx) // a cancelled run finishes its step
	t.Options.tell(fmt.Sprintf("preparing the network for images of %d²", phase.Side))
	recipe := t.Options.Recipe
	if last <= t.first() {
		recipe = recipe.First()
	}
	p, err := t.prepare(working, phase.Side, recipe)
	if err != nil {
		return err
	}
	defer p.release()
	var pace pace
	for t.step < last && !t.ended {
		now, err := t.takeStep(working, p)
		if err != nil {
			return err
		}
		if now.SoftDice, err = t.score(working); err != nil {
			return fmt.Errorf("after step %d: %w", t.step, err)
		}
		if now.Preview, err = t.preview(working); errors.Is(err, gpu.ErrLost) {
			return fmt.Errorf("after step %d: %w", t.step, err)
		} else if err != nil { // such as for want of memory: the run goes on
			t.Options.tell(fmt.Sprintf("no more previews: %v", err))
			t.Options.Previews = 0
		}
		now.Best = t.best.Score
		now.Left = pace.left(now.Seconds, phase.Side, t.remaining(t.step))
		report(*now)
		if err := t.decide(ctx); err != nil {
			return err
		}
		if time.Since(t.saved).Seconds() >= t.Options.CheckpointSeconds {
			if err := t.save(working); err != nil {
				return err
			}
		}
	}
	if t.step < t.Steps() && !t.ended {
		return t.save(working) // the next phase may need more memory than there is
	}
	return nil
}

// schedule is the learning rate over the run.
func (t *Trainer) schedule() optim.Schedule {
	r, total, warmup := t.Options.Recipe, t.Steps(), t.Options.Warmup
	if warmup == 0 && !r.Constant {
		warmup = max(1, total/10)
	}
	return optim.Schedule{Peak: r.Rate, Warmup: warmup, Total: total, Last: 0.01, Constant: r.Constant}
}

// remaining is the number of steps left at each image side after done steps.
func (t *Trainer) remaining(done int) map[int]int {
	left := map[int]int{}
	for _, p := range t.Options.Phases {
		steps := p.Epochs * t.epochSteps()
		skipped := min(done, steps)
		done -= skipped
		left[p.Side] += steps - skipped
	}
	return left
}

// pace estimates the time left from the recent mean of a step's seconds. It takes a step's time as
// proportional to the image's area.
type pace struct{ mean float64 }

func (p *pace) left(seconds float64, side int, remaining map[int]int) time.Duration {
	if p.mean == 0 {
		p.mean = seconds
	}
	p.mean += 0.1 * (seconds - p.mean)
	total := 0.0
	for s, n := range remaining {
		total += float64(n) * p.mean * float64(s*s) / float64(side*side)
	}
	return time.Duration(total * float64(time.Second))
}
