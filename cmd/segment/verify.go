package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrprism/internal/command"
	"mrprism/internal/command/journal"
	"mrprism/internal/output/masks"
	"mrprism/internal/program/cli"
	"mrprism/internal/program/version"
	"mrprism/internal/segment"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// The verdicts about a result.
const (
	equal      = "equal"
	differs    = "differs"
	unprovable = "unprovable"
)

// proof is what -verify says of a result.
type proof struct {
	Result      string   `json:"result"` // the file of the entry
	Verdict     string   `json:"verdict"`
	Text        string   `json:"text"`        // a sentence for people
	Differences []string `json:"differences"` // empty, not null, without any
	Program     string   `json:"program"`     // that made the result

	entry   *journal.Entry
	image   string    // that it is computed from
	weights string    // by which
	day     time.Time // that files of DICOM have
}

func (p *proof) say(verdict, format string, args ...any) {
	p.Verdict, p.Text = verdict, fmt.Sprintf(format, args...)
}

// verify computes the results in a folder again, and compares every byte of their files and every
// figure of their entries. What each says of itself chooses image, weights and options.
func (r *request) verify(ctx context.Context, stdout, stderr io.Writer) error {
	entries, err := entriesIn(r.proves)
	if err != nil {
		return cli.Wrong("-verify %s: %w; name a folder of results", r.proves, disk.Cause(err))
	}
	work, err := os.MkdirTemp("", "mrprism-verify")
	if err != nil {
		return fmt.Errorf("no room to compute the results again: %w", err)
	}
	defer os.RemoveAll(work)
	images, _, _, err := imagesOf(r.named, r.proves, false)
	if err != nil {
		return cli.Wrong("%w", err)
	}
	given := map[string]string{} // images by sum
	for _, image := range images {
		sum, err := disk.SumOfFile(image)
		if err != nil {
			return err
		}
		given[sum.SHA256] = image
	}
	r.found = map[journal.Origin]found{}
	var all []*proof
	var results []*journal.Entry
	for i, path := range entries {
		p := &proof{Result: filepath.Base(path), Differences: []string{}}
		if err := r.open(p, path, given, filepath.Join(work, "images", strconv.Itoa(i))); err != nil {
			return err
		}
		if p.entry != nil {
			all, results = append(all, p), append(results, p.entry)
		}
	}
	if len(all) == 0 {
		return cli.Wrong("-verify %s: no result of segment is there", r.proves)
	}
	groups, flags := map[string][]*proof{}, map[string][]string{} // of one run
	for _, p := range all {
		if p.Verdict != "" {
			continue
		}
		args, why := p.entry.Again(results)
		if why != "" {
			p.say(differs, "its options are damaged: %s", why)
			continue
		}
		args = append(args, "-weights", p.weights, "-device", cmp.Or(string(*r.device), "processor"))
		key := fmt.Sprintf("%q", append(args, p.entry.Date))
		groups[key], flags[key] = append(groups[key], p), args
	}
	for i, key := range slices.Sorted(maps.Keys(groups)) {
		if err := r.prove(ctx, groups[key], flags[key], filepath.Join(work, strconv.Itoa(i)), stderr); err != nil {
			return err
		}
	}
	proven := true
	for _, p := range all {
		proven = proven && p.Verdict == equal
		if err := r.tell(p, stdout); err != nil {
			return err
		}
	}
	if !proven {
		return cli.Exit(cli.Failed)
	}
	return nil
}

// entriesIn are the paths of what may be entries.
func entriesIn(folder string) (paths []string, err error) {
	files, err := os.ReadDir(folder)
	for _, f := range files {
		if filepath.Ext(f.Name()) == ".json" {
			paths = append(paths, filepath.Join(folder, f.Name()))
		}
	}
	return paths, err
}

func (r *request) tell(p *proof, stdout io.Writer) (err error) {
	switch {
	case r.json != "":
		return json.NewEncoder(stdout).Encode(p)
	case r.quiet && p.Verdict == equal:
		return nil
	}
	_, err = fmt.Fprintln(stdout, cli.Message(fmt.Sprintf("%s: %s: %s", p.Result, strings.ToUpper(p.Verdict), p.Text)))
	for _, d := range p.Differences {
		fmt.Fprintln(stdout, "  "+cli.Message(d))
	}
	return err
}

// open reads an entry and finds what it was made of. A file that is no entry stays without one.
func (r *request) open(p *proof, path string, given map[string]string, spare string) error {
	text, err := disk.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, disk.Cause(err))
	}
	e := new(journal.Entry)
	if err := json.Unmarshal(text, e); err != nil {
		p.entry = e
		p.say(differs, "the file is cut or damaged")
		return nil
	}
	if e.Image == "" && e.Program == "" {
		return nil
	}
	p.entry, p.Program = e, e.Program
	sealed, whole := journal.Sealed(text)
	switch {
	case !sealed || e.Content == "" || e.Options == "":
		p.say(unprovable, "it has no sums: %s made it, and no earlier version can be proved", cmp.Or(e.Program, "an earlier version"))
		return nil
	case !whole:
		p.say(differs, "%s has changed since it was written", p.Result)
		return nil
	}
	for _, f := range e.Files.All {
		if err := f.Sum.Check(filepath.Join(r.proves, filepath.Base(f.File))); err != nil {
			p.Differences = append(p.Differences, err.Error())
		}
	}
	if len(p.Differences) > 0 {
		p.say(differs, "%d of its %d files are not what was written", len(p.Differences), len(e.Files.All))
		return nil
	}
	if p.day, err = time.Parse(time.RFC3339, e.Date); err != nil {
		p.say(differs, "its date is damaged: %s", e.Date)
		return nil
	}
	found, known := r.found[e.Weights]
	if !known {
		found = r.weightsOf(e)
		r.found[e.Weights] = found
	}
	why := found.why
	if p.weights = found.name; why == "" {
		p.image, why = imageOf(e, given, spare)
	}
	if why != "" {
		p.say(unprovable, "%s", why)
	}
	return nil
}

// found names the weights of results, or says why there are none.
type found struct{ name, why string }

// weightsOf finds the weights of a result: those that are given, those that it names, or shipped
// ones.
func (r *request) weightsOf(e *journal.Entry) found {
	names := append([]string{*r.weightsName, e.Weights.Given}, weights.Shipped().Names()...)
	for i, name := range names {
		if name == "" || i > 1 && weights.Shipped().Models[i-2].SHA256 != e.Weights.SHA256 {
			continue
		}
		m, err := segment.LoadEnsemble(name)
		switch {
		case err == nil && m.SHA256 == e.Weights.SHA256:
			return found{name: name}
		case i == 0 && err != nil:
			return found{why: err.Error()}
		}
	}
	return found{why: fmt.Sprintf("it is by weights %q with the SHA-256 %s, which are not here: give -weights FILE", e.Weights.Title, e.Weights.SHA256)}
}

// imageOf finds the image of a result: among those that are given, or where it was. The name is the
// same: it may say which eye it is. Or it says why there is none.
func imageOf(e *journal.Entry, given map[string]string, spare string) (path, why string) {
	path, found := given[e.Content]
	if info, err := os.Stat(e.Image); !found && err == nil {
		if info.IsDir() { // of a series; what is computed has its sum
			return e.Image, ""
		}
		sum, err := disk.SumOfFile(e.Image)
		if err == nil && sum.SHA256 != e.Content {
			return "", fmt.Sprintf("%s is another image than the result's, or has changed", e.Image)
		}
		path, found = e.Image, err == nil
	}
	if !found {
		return "", fmt.Sprintf("its image, %s with the SHA-256 %s, is not here: name it after -verify DIR", e.Image, e.Content)
	}
	if name := filepath.Base(e.Image); filepath.Base(path) != name {
		data, err := disk.ReadFile(path)
		if path = filepath.Join(spare, name); err == nil {
			err = disk.WriteFile(spare, name, data)
		}
		if err != nil {
			return "", err.Error()
		}
	}
	return path, ""
}

// prove computes results of one run into a folder, and compares.
func (r *request) prove(ctx context.Context, all []*proof, args []string, out string, stderr io.Writer) error {
	again := &request{formats: masks.Formats[:1]}
	flags := again.flags()
	_, err := flags.Parse(append(args, "-out", out, "-quiet"))
	for _, p := range all {
		again.named = append(again.named, p.image) // batch leaves out what is named twice
	}
	if again.given = flags.Given(); err == nil {
		err = again.check()
	}
	var said bytes.Buffer
	var b *batch
	var items []journal.Item
	if err == nil {
		b, items, err = again.batch(io.Discard, &said)
	}
	if err != nil {
		for _, p := range all {
			p.say(unprovable, "its options cannot be repeated: %v", err)
		}
		return nil
	}
	defer b.Session.Close()
	b.Day = all[0].day.Local()
	b.progress = command.NewProgress(stderr, len(items))
	if err := again.prepare(ctx, b); err != nil {
		return err
	}
	if err := again.make(ctx, b, items); ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil && said.Len() == 0 {
		return err
	}
	b.progress.Clear()
	made, err := entriesIn(out)
	if err != nil {
		return err
	}
	computed := map[string]*journal.Entry{}
	files := map[string]string{}
	for _, path := range made {
		e, err := journal.Read(path)
		if err != nil {
			return err
		}
		computed[e.Key()], files[e.Key()] = e, path
	}
	for _, p := range all {
		switch e := computed[p.entry.Key()]; {
		case e != nil:
			if err := p.compare(r.proves, e, files[p.entry.Key()], b.Session.Exact()); err != nil {
				return err
			}
		case said.Len() > 0:
			p.say(unprovable, "it cannot be computed again: %s", strings.TrimSpace(said.String()))
		default:
			p.say(differs, "the image gives another picture")
		}
	}
	return nil
}

// compare compares a result with one that was computed, by an exact device or not.
func (p *proof) compare(folder string, e *journal.Entry, path string, exact bool) error {
	unnamed := 0
	for _, f := range p.entry.Files.All {
		at := slices.IndexFunc(e.Files.All, func(other journal.Saved) bool {
			return other.Format == f.Format && other.By == f.By && other.Structure == f.Structure
		})
		if at < 0 {
			p.Differences = append(p.Differences, f.File+": not computed")
			continue
		}
		theirs, err := disk.ReadFile(filepath.Join(folder, filepath.Base(f.File)))
		if err != nil {
			return err
		}
		ours, err := disk.ReadFile(filepath.Join(filepath.Dir(path), e.Files.All[at].File))
		switch {
		case err != nil:
			return err
		case bytes.Equal(theirs, ours):
		case strings.HasPrefix(f.Format, "dicom") && !strings.Contains(p.entry.Options, " identity"):
			unnamed++ // its identifiers are new in every run
		default:
			p.Differences = append(p.Differences, f.File+": "+pixels(theirs, ours))
		}
	}
	if n := len(e.Files.All) - len(p.entry.Files.All); n > 0 {
		p.Differences = append(p.Differences, fmt.Sprintf("%d files are missing", n))
	}
	theirs, err := figures(filepath.Join(folder, p.Result))
	if err != nil {
		return err
	}
	ours, err := figures(path)
	if err != nil {
		return err
	}
	n := 0
	p.Differences = append(p.Differences, apartIn("", theirs, ours, &n)...)
	switch {
	case len(p.Differences) == 0:
		p.say(equal, "%d files and %d figures are what %s makes of its image", len(p.entry.Files.All)-unnamed, n, e.Device)
		if unnamed > 0 {
			p.Text += fmt.Sprintf("; %d files of DICOM have identifiers of their own run, and were not compared", unnamed)
		}
	case p.entry.Program != e.Program:
		p.say(unprovable, "%s made it, and this is %s, which computes otherwise: the version that made it can prove it", p.entry.Program, version.Source())
	case !exact:
		p.say(unprovable, roundsAlone, e.Device)
	case !strings.HasSuffix(p.entry.Device, "[processor, processor]"), strings.Contains(p.entry.Device, "in SIMD128 ["), strings.Contains(p.entry.Device, " on "):
		p.say(unprovable, roundsAlone, p.entry.Device)
	default:
		p.say(differs, "its image, weights and options give another result")
	}
	return nil
}

const roundsAlone = "%s computed it, and rounds in its own way: only the device processor on amd64 or in WebAssembly, with fused multiplications, makes results that anybody can prove"

// pixels says how two files differ: PNGs by their pixels.
func pixels(theirs, ours []byte) string {
	a, failed := png.Decode(bytes.NewReader(theirs))
	b, err := png.Decode(bytes.NewReader(ours))
	x, grey := a.(*image.Gray)
	y, also := b.(*image.Gray)
	if failed != nil || err != nil || !grey || !also || len(x.Pix) != len(y.Pix) {
		return fmt.Sprintf("other bytes (%d, computed %d)", len(theirs), len(ours))
	}
	apart, most, sides := 0, 0, 0
	for i, v := range x.Pix {
		if v != y.Pix[i] {
			apart, most = apart+1, max(most, int(v)-int(y.Pix[i]), int(y.Pix[i])-int(v))
		}
		if v>>7 != y.Pix[i]>>7 {
			sides++
		}
	}
	return fmt.Sprintf("%d of %d pixels differ, by at most %d of 255; %d are inside of one mask and outside of the other", apart, len(x.Pix), most, sides)
}

// figures are what an entry has that is computed.
func figures(path string) (map[string]any, error) {
	text, err := disk.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var all map[string]any
	err = d.Decode(&all)
	for _, of := range []string{"image", "device", "device_why", "times_ms", "program", "date", "weights", "evidence", "options", "files", journal.Seal} {
		delete(all, of)
	}
	return all, err
}

// apartIn lists the values that differ, and counts all.
func apartIn(name string, theirs, ours any, n *int) (out []string) {
	switch a := theirs.(type) {
	case map[string]any:
		b, _ := ours.(map[string]any)
		both := maps.Clone(a)
		maps.Copy(both, b)
		for _, key := range slices.Sorted(maps.Keys(both)) {
			out = append(out, apartIn(strings.TrimPrefix(name+"."+key, "."), a[key], b[key], n)...)
		}
		return out
	case []any:
		if b, is := ours.([]any); is && len(a) == len(b) {
			for i := range a {
				out = append(out, apartIn(fmt.Sprintf("%s[%d]", name, i), a[i], b[i], n)...)
			}
			return out
		}
	}
	if *n++; !reflect.DeepEqual(theirs, ours) {
		out = []string{fmt.Sprintf("%s: %s, computed %s", name, shown(theirs), shown(ours))}
	}
	return out
}

// shown is a value as an entry has it.
func shown(v any) string {
	text, _ := json.Marshal(v) // of JSON
	if len(text) > 100 {
		return string(text[:97]) + "..."
	}
	return string(text)
}
