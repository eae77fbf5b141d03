package importer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"mrprism/internal/data/metric"
	"mrprism/internal/files/cells"
)

// plan is a reading study, as site/study/study.js has it.
type plan struct {
	ID         string   `json:"id"`
	Structures []string `json:"structures"`
	Start      string   `json:"start"`
	Days       float64  `json:"days"` // between two sittings
	Readers    []string `json:"readers"`
	Questions  []struct{ Name string }
}

// bothWays says that each image is read with the model and without.
func (p *plan) bothWays() bool { return p != nil && p.Start == "both" }

// readingsHeader are the columns of readings.csv, a line of which is one person's reading of one
// image.
func (l *listing) readingsHeader() []string {
	header := []string{"reader", "case", "group", "modality", "arm", "order", "repeat", "decision", "reason", "trust", "seconds", "seconds_drawing", "seconds_answering"}
	for _, class := range l.classes {
		header = append(header, "area_"+class)
	}
	if disc, cup := metric.DiscAndCup(l.classes); disc >= 0 && cup >= 0 {
		header = append(header, "ratio")
	}
	for _, question := range l.questions {
		header = append(header, cells.Guarded(question))
	}
	return header
}

// tell adds to readings.csv a line for each reading of an image of w × h pixels. Both are 0 if the
// image is not there: its lines then have no figures.
func (g *graded) tell(w, h int) (left []Skip) {
	seen, before := map[string]*grey{}, map[string]int{}
	for _, r := range g.all {
		if r.Review == "" && len(r.Drawn) == 0 {
			continue
		}
		again := fmt.Sprint(r.session.rater, r.Sitting, r.Aided)
		line := []string{
			r.session.rater, g.name, "", r.modality(), whole(r.Sitting), strconv.Itoa(r.order), strconv.Itoa(before[again]), r.Review, cells.Guarded(r.Reason), r.trust(),
			tenths(r.Seconds), tenths(r.Drawing), tenths(r.Answering),
		}
		before[again]++
		figures, err := g.figures(r, w, h, seen)
		if err != nil {
			left = append(left, Skip{fmt.Sprintf("%s, %s", r.session.path, r.Image.Name), err.Error()})
		}
		line = append(line, figures...)
		for _, question := range g.questions {
			line = append(line, answer(r.Answers[question]))
		}
		g.lock.Lock()
		g.readings = append(g.readings, line)
		g.lock.Unlock()
	}
	return left
}

// figures are the areas of a reading's masks, and with disc and cup their vertical ratio; empty where
// there are none.
func (g *graded) figures(r *work, w, h int, seen map[string]*grey) (figures []string, err error) {
	figures = make([]string, len(g.classes), len(g.classes)+1)
	heights := make([]int, len(g.classes))
	for k, structure := range g.structures {
		if w == 0 {
			break
		}
		mask, wrong := r.mask(structure, w, h, seen)
		if wrong != nil {
			err = fmt.Errorf("%s: %w", structure, wrong)
		} else if mask != nil {
			figures[k] = strconv.Itoa(metric.Area(mask.values))
			heights[k] = metric.VerticalDiameter(mask.values, mask.Dx(), mask.Dy())
		}
	}
	disc, cup := metric.DiscAndCup(g.classes)
	if disc < 0 || cup < 0 {
		return figures, err
	}
	ratio := ""
	if heights[disc] > 0 && figures[cup] != "" {
		ratio = strconv.FormatFloat(metric.DiameterRatio(heights[disc], heights[cup]), 'g', -1, 64)
	}
	return append(figures, ratio), err
}

// modality is whether the model's outline was there.
func (r *work) modality() string {
	switch study := r.session.Study; {
	case study == nil:
		return ""
	case study.Start == "model" || study.bothWays() && r.Aided:
		return "with"
	}
	return "without"
}

// trust is what the reader saw of it: of the ratio, or else of the first structure.
func (r *work) trust() string {
	if r.Result == nil {
		return ""
	}
	words := ""
	for _, one := range append([]told{r.Result.Measurements.VerticalRatio}, r.Result.Measurements.Structures...) {
		words = cmp.Or(words, one.Trust.Word)
	}
	return words
}

// told is what the page said of how far a figure can be trusted.
type told struct {
	Trust struct{ Word string }
}

func whole(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
func tenths(seconds float64) string {
	return strconv.FormatFloat(math.Round(10*seconds)/10, 'f', -1, 64)
}

// answer is a text or a number; anything else is nothing.
func answer(value any) string {
	switch v := value.(type) {
	case string:
		return cells.Guarded(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}

// doubtful names what is odd about the times at which a session's readings were decided.
func (l *listing) doubtful(s *session) {
	var first, second, last time.Time // the end of the first sitting, the begin of the second
	back, ahead := 0, time.Now().Add(24*time.Hour)
	for i := range s.Readings {
		r := &s.Readings[i]
		at, err := time.Parse(time.RFC3339, r.Decided)
		switch {
		case err != nil || r.Review == "":
			continue
		case at.After(ahead):
			l.skip(fmt.Sprintf("%s, %s", s.path, r.Image.Name), "it was decided "+r.Decided+", which is to come: the clock was wrong. Its figures count")
		case at.Before(last):
			back++
		}
		last = at
		if r.Sitting < 2 && at.After(first) {
			first = at
		} else if r.Sitting == 2 && (second.IsZero() || at.Before(second)) {
			second = at
		}
	}
	if back > 0 && s.Study != nil {
		l.skip(s.path, fmt.Sprintf("%d readings were decided before the one in front of them: read in another order, or changed later. They count", back))
	}
	if days := second.Sub(first).Hours() / 24; !second.IsZero() && days < s.Study.Days {
		l.skip(s.path, fmt.Sprintf("the second sitting began %.1f days after the first one, of %g: by the clock of that machine. It counts", days, s.Study.Days))
	}
}

// Returned is how far a person's session is.
type Returned struct {
	Reader  string `json:"reader"`
	Read    int    `json:"read"`
	Refused int    `json:"refused"` // of these
	Of      int    `json:"of"`
	Saved   string `json:"saved"`
}

// Returned lists the sessions, of each person the one that counts.
func (s *Sessions) Returned() (all []Returned) {
	for _, one := range s.listing.sessions {
		r, images, second := Returned{Reader: one.rater, Of: len(one.Readings), Saved: one.Saved}, map[string]bool{}, false
		for _, reading := range one.Readings {
			images[fmt.Sprint(reading.Image.SHA256, reading.Image.Slice)] = true
			second = second || reading.Sitting == 2
			if reading.Review != "" {
				r.Read++
			}
			if reading.Review == "rejected" {
				r.Refused++
			}
		}
		if one.Study.bothWays() && !second { // the second sitting, which has not begun
			r.Of += len(images)
		}
		if one.rater != "" && !slices.ContainsFunc(all, func(a Returned) bool { return a.Reader == one.rater }) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b Returned) int { return cmp.Compare(a.Reader, b.Reader) })
	return all
}

// returned keeps the sessions that count. It names what is odd about them, and the readers of the
// study who have sent none.
func (l *listing) returned(kept []*session) {
	l.sessions = kept
	var readers []string
	for _, s := range kept {
		if s.Study != nil {
			readers = s.Study.Readers
		}
		l.doubtful(s)
	}
	if len(kept) > 0 && kept[0].Study.bothWays() {
		l.skip("readings with the model", "they count in readings.csv alone; agreement and the data set are of those without it")
	}
	for _, reader := range readers {
		if !slices.ContainsFunc(kept, func(s *session) bool { return s.Grader == reader }) {
			l.skip(reader, "no session of this reader has come back")
		}
	}
}
