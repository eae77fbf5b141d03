package doubt

import (
	"context"
	"fmt"
	"time"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/segment"
	"mrprism/internal/trust"
	"mrprism/weights"
)

// Certify measures a model's vertical ratio on the cases, and makes a certificate of it. The model
// has not seen them. eyes are those with marks and a result. The error may be a trust.TooFew.
func (l *Learner) Certify(ctx context.Context, m *weights.Model) (c *weights.Certificate, eyes []trust.Eye, err error) {
	if disc, cup := metric.DiscAndCup(m.Metadata.Classes); disc < 0 || cup < 0 {
		return nil, nil, fmt.Errorf("the model marks no disc and cup, and a certificate is of their ratio: give weights such as fundus")
	}
	l.units = dataset.Units(l.Cases)
	err = l.with(ctx, m, m, func(e *segment.Engine) error {
		return l.each(ctx, e, false, func(int) bool { return true }, l.certify)
	})
	if err != nil {
		return nil, nil, err
	}
	c, err = l.Certificate(time.Now())
	return c, l.eyes, err
}

// certify keeps the ratio of an eye and the figures of its photograph.
func (l *Learner) certify(i int, loaded *dataset.Loaded, r *segment.Result) {
	if value, majority, ok := ratios(loaded, r); ok {
		l.eyes, l.looks = append(l.eyes, trust.Eye{Patient: l.units[i], Predicted: value, Marked: majority}), append(l.looks, r.Appearance)
	}
}

// Certificate is that of the ratios which Certify, or Learn by folds, has measured. Images of
// several data sets have none: they are those of several cameras.
func (l *Learner) Certificate(day time.Time) (*weights.Certificate, error) {
	for _, one := range l.Cases {
		if one.Folder != l.Cases[0].Folder {
			return nil, fmt.Errorf("%s and %s are two data sets, and a certificate is of one camera: give one folder", l.Cases[0].Folder, one.Folder)
		}
	}
	c, err := trust.Certify(l.eyes)
	if err != nil {
		return nil, err
	}
	if c.Camera, c.Date, c.Photographs = l.Cases[0].Folder, day.Format(time.DateOnly), l.looks; len(l.Folds) > 0 {
		c.Method = fmt.Sprintf("learned, and shift and slope by %d folds", len(l.Folds))
	}
	return &c, nil
}
