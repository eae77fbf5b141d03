package train

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"mrprism/internal/data/dataset"
	"mrprism/internal/segment/doubt"
	"mrprism/shaders/gpu"
	"mrprism/weights"
)

// LearnDoubt learns when to doubt the exported model and how far it errs, from the models of
// Options.Cross folds in their order, and writes that into the model's files. next is told of each
// image, and may end it by an error. A recipe that leaves the network as it was keeps what that one
// knew, and the report is nil.
func (t *Trainer) LearnDoubt(ctx context.Context, device gpu.Device, folds []string, next func(string) error) (*doubt.Report, error) {
	if t.of != nil {
		return nil, nil
	}
	l := &doubt.Learner{Device: device, Turns: t.Options.Turns, Next: next}
	for _, name := range folds {
		fold, err := weights.Load(name)
		if err != nil {
			return nil, err
		}
		l.Folds = append(l.Folds, fold)
	}
	read := map[string]bool{} // the rest could not be read, and was left out
	for _, c := range t.cases {
		read[c.Folder+"/"+c.Name] = true
	}
	all := t.Dataset.Training()
	for i, part := range dataset.Folds(all, len(folds)) {
		if read[all[i].Folder+"/"+all[i].Name] {
			l.Cases, l.Parts = append(l.Cases, all[i]), append(l.Parts, part)
		}
	}
	path := filepath.Join(t.Options.Out, t.Options.Name)
	m, err := weights.Load(path + smallSuffix)
	if err != nil {
		return nil, err
	}
	known, err := l.Learn(ctx, m)
	for _, suffix := range []string{floatSuffix, smallSuffix} {
		m, opened := weights.Load(path + suffix)
		if err = errors.Join(err, opened); err != nil {
			return nil, err
		}
		m.Metadata.Trust = known
		if err = m.Describe(&m.Metadata); err == nil {
			if c, few := l.Certificate(time.Now()); few == nil {
				m.Certify(*c)
			}
			m.Seal()
			_, err = writeFile(path+suffix, m.File)
		}
	}
	return l.Report(m, known), err
}
