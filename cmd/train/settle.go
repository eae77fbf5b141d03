package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/choice"
	"mrprism/internal/command/computing"
	"mrprism/internal/program/version"
	"mrprism/internal/train"
	"mrprism/model"
	"mrprism/shaders/gpu"
)

// settle turns the flags, and the file of -with, into the runner's options.
func (r *runner) settle(d *declared, rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("unexpected argument %q", rest[0])
	}
	if d.with != "" {
		if err := d.readFile(d.with, r.note); err != nil {
			return err
		}
	}
	if err := d.resolve(&r.options); err != nil {
		return err
	}
	if err := r.options.Check(); err != nil {
		return err
	}
	if r.options.Cross > 0 && (r.judge == "" || r.options.Fold.Of > 0) {
		return errors.New("-cross judges by K runs: give -judge MODEL, and leave -fold out")
	}
	r.initial = cmp.Or(r.options.Init, d.began)
	if r.judge != "" {
		if _, err := computing.Weights(r.judge); err != nil {
			return fmt.Errorf("-judge: %w", err)
		}
	}
	r.options.Share()
	if !(r.hours >= 0) {
		return fmt.Errorf("-hours %v: give a number from 0 on", r.hours)
	}
	if err := d.device.Check(); err != nil {
		return err
	}
	r.configuration, r.divided = d.file(), d.divided
	r.options.Note, r.stopFile = r.note, filepath.Join(r.options.Out, "stop")
	open := d.device.Open
	r.open = func(ctx context.Context) (gpu.Device, error) {
		defer func() { open = d.device.OpenNamed }() // the CPU does not replace a lost GPU
		return open(ctx, r.note)
	}
	return nil
}

// ensemble is a method that is no network of its own.
const ensemble = "ensemble"

// chooseArchitecture puts integration and method into the architecture's name, which run.yaml has
// without them.
func (d *declared) chooseArchitecture(o *train.Options) error {
	if m := model.MethodOf(d.config); m != nil {
		return fmt.Errorf("-config %s names a method: give it by -method %s", d.config, m.Name)
	}
	integration := o.Recipe.Integration
	if d.integration != "" {
		var err error
		if integration, err = model.ParseIntegration(d.integration); err != nil {
			return choice.Errorf("$integration: %w", err)
		}
	}
	o.Config = d.config
	if integration != model.Attention {
		o.Config += "-" + string(integration)
	}
	switch {
	case d.method == "":
		return nil
	case d.method == ensemble:
		return fmt.Errorf("-method %s: an ensemble is several runs and no network of its own. Train each with -recipe %s and its own -out, -name "+
			"and -seed (the next ones by -with RUN -seed 2), and join the files for evaluate, as in -weights A+B+C+D+E", ensemble, model.MaskAlone)
	case d.recipe != "default" && d.recipe != model.MaskAlone:
		return fmt.Errorf("-method %s has losses of its own and trains with -recipe %s: leave -recipe %s out", d.method, model.MaskAlone, d.recipe)
	}
	if _, err := model.FindMethod(d.method); err != nil {
		return fmt.Errorf("-method: %w", err)
	}
	o.Config += "-" + d.method
	d.recipe = model.MaskAlone
	var err error
	o.Recipe, err = model.NewRecipe(d.recipe)
	return err
}

// ablate changes the recipe as the fields of the paper's Table 4, and rule, say.
func (d *declared) ablate(r *model.Recipe) error {
	if d.recurrences == 0 && d.multiHead == -1 && d.shuffle == -1 && d.rule == "" {
		return nil
	}
	if !r.FuseLoss {
		return choice.Errorf("$recurrences, ${multi-head}, $shuffle and $rule change the paper's alternation, which recipe %s has not: use them with recipe recurrent, steered, unsteered or paper", r.Name)
	}
	if d.recurrences < 0 || !(d.multiHead >= 0 || d.multiHead == -1) || !(d.shuffle >= 0 || d.shuffle == -1) {
		return choice.Errorf("$recurrences, ${multi-head} and $shuffle are numbers from 0 on")
	}
	if !r.Heads() && (d.multiHead > 0 || d.shuffle > 0) {
		return choice.Errorf("${multi-head} and $shuffle teach raters' masks, and weights of recipe %s have none: use them with recipe steered, unsteered or paper", r.Name)
	}
	r.Recurrences = cmp.Or(d.recurrences, r.Recurrences)
	if d.multiHead >= 0 {
		r.HeadsWeight = d.multiHead
	}
	if d.shuffle >= 0 {
		r.ShuffleWeight = d.shuffle
	}
	if r.ShuffleWeight == 0 {
		r.Permutations, r.Draws = 0, 0
	}
	switch rule := model.Rule(d.rule); rule {
	case "":
	case model.RuleMean:
		r.Rule, r.FuseLoss = rule, false // the mean vote does not depend on DivP
	case model.RuleCode, model.RuleLikelihood, model.RuleAgreement:
		r.Rule = rule
	default:
		return choice.Errorf("$rule %s: choose code, likelihood, agreement or mean", rule)
	}
	return nil
}

// list splits a text at commas; nil for an empty text.
func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// resolve works out the options, and writes the values of defaults into the flags for run.yaml.
func (d *declared) resolve(o *train.Options) (err error) {
	o.Commit, o.Pictures = version.Commit(), 50
	o.Data, o.Also = list(d.data), list(d.also)
	o.Phases = []train.Phase{{Side: d.side, Epochs: d.epochs}}
	if d.phases != "" {
		if o.Phases, err = train.ParsePhases(d.phases); err != nil {
			return err
		}
	}
	if d.fold != "" {
		if o.Fold, err = train.ParseFold(d.fold); err != nil {
			return err
		}
	}
	turned := orientations[d.orientation]
	if turned == nil {
		return fmt.Errorf("-orientation: %w", choice.Known("orientation", d.orientation, slices.Sorted(maps.Keys(orientations))))
	}
	turned(&o.Views)
	return cmp.Or(d.augmented(o), d.resolveRecipe(o))
}

// resolveRecipe works out the recipe and the architecture.
func (d *declared) resolveRecipe(o *train.Options) (err error) {
	folder := d.folder
	if o.Resume {
		folder = o.Out
	}
	name, entropy := strings.CutSuffix(d.recipe, byEntropy)
	if d.folder == "" && slices.Contains(model.Studied, name) {
		return fmt.Errorf("-recipe %s is for studies: write \"recipe: %[1]s\" into a file, and name the file by -with", name)
	}
	d.recipe = train.Renamed(folder, name, d.folder != "")
	if o.Recipe, err = model.NewRecipe(d.recipe); err != nil {
		return fmt.Errorf("-recipe: %w", err)
	}
	if err := cmp.Or(d.chooseArchitecture(o), d.ablate(&o.Recipe)); err != nil {
		return err
	}
	if o.Precision, err = model.ParsePrecision(d.precision); err != nil {
		return err
	}
	if entropy {
		o.Recipe, d.recipe = o.Recipe.CrossEntropy(), d.recipe+byEntropy
	}
	if d.rate != 0 {
		o.Recipe.Rate = d.rate
	}
	if d.average != -1 {
		o.Recipe.Average = d.average
	}
	if d.dice != -1 {
		o.Recipe.DiceWeight = d.dice
	}
	switch d.schedule {
	case "":
	case "cosine", "constant":
		o.Recipe.Constant = d.schedule == "constant"
	default:
		return choice.Errorf("$schedule %s: cosine or constant", d.schedule)
	}
	o.Recipe.Decay, o.Recipe.HeadsFirst = d.decay, d.headsFirst
	d.rate, d.average, d.dice = o.Recipe.Rate, o.Recipe.Average, o.Recipe.DiceWeight
	d.schedule = map[bool]string{false: "cosine", true: "constant"}[o.Recipe.Constant]
	return nil
}
