package train

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"mrprism/model"
)

// fingerprint names every choice that a resumed run must share with the run that wrote the
// checkpoint. It omits choices that depend on the program's version, since the user is told of
// another version. Only choices that are set count, so that checkpoints from before a choice existed
// can still be resumed.
func (o Options) fingerprint() string {
	text := fmt.Sprintf("config=%s recipe=%+v phases=%v batch=%d seed=%d anchor=%s data=%s",
		o.Config, o.Recipe, o.Phases, o.Batch, o.Seed, o.Anchor, strings.Join(o.Data, ","))
	for _, later := range []struct {
		set   bool
		name  string
		value any
	}{
		{o.Warmup != 0, "warmup", o.Warmup},
		{o.accumulate() > 1, "accumulate", o.accumulate()},
		{o.SyncNorm, "sync-norm", true},
		{o.Clip != 0, "clip", o.Clip},
		{o.Standardise, "standardise", true},
		{o.SinglePieces, "pieces", "single"},
		{o.AnyOrientation, "orientation", "any"},
		{o.Elastic != 0, "elastic", o.Elastic},
		{o.Grain != 0, "grain", o.Grain},
		{o.Swell != 0, "swell", o.Swell},
		{len(o.Also) > 0, "also", strings.Join(o.Also, ",")},
		{o.Turns, "turns", true},
		{o.Away != 0, "away", o.Away},
		{o.Distract != 0, "distract", o.Distract},
		{o.Balance != "", "balance", o.Balance},
		{o.Slots != "" && o.Slots != SlotsPeople, "slots", o.Slots},
		{o.Restyle != 0, "restyle", o.Restyle},
		{o.Precision == model.F16, "precision", model.F16},
		{o.Validate != 0, "validate", o.Validate},
		{o.Fold.Of != 0, "fold", o.Fold},
		{o.Cross != 0, "cross", o.Cross},
		{o.Upright, "upright", true},
		{o.Labels != "", "labels", o.Labels},
	} {
		if later.set {
			text += fmt.Sprintf(" %s=%v", later.name, later.value)
		}
	}
	return text
}

// differences lists the differences of two fingerprints, one in each line, with words for the first
// and the second. There is none between a recipe and the same under its former name.
func differences(one, other, first, second string) string {
	had, has := choices(one), choices(other)
	if model.Renamed[had["name"]] == has["name"] {
		had["name"] = has["name"]
	}
	all := maps.Clone(had)
	maps.Copy(all, has)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if had[name] != has[name] {
			lines = append(lines, fmt.Sprintf("  %s: %s %q, %s %q", cmp.Or(spoken[name], name), first, had[name], second, has[name]))
		}
	}
	return strings.Join(lines, "\n")
}

// Renamed is today's name of a recipe by which the run in a folder began. A file of flags keeps the
// former name, and once the run was resumed its checkpoint has today's. A name alone does not tell:
// settling passes and integration, which no flag changes in a recipe, part the recipes that have had
// one name.
func Renamed(folder, name string, fromFile bool) string {
	had := choices(last(folder).Metadata["options"])
	r, err := model.NewRecipe(name)
	is := choices(Options{Recipe: r}.fingerprint())
	now, other := model.Renamed[name], err != nil || had["settles"] != is["settles"] || had["integration"] != is["integration"]
	if now != "" && (had["name"] == name && other || had["name"] == now && fromFile) {
		return now
	}
	return name
}

// spoken has the flags of choices that have another name in the fingerprint.
var spoken = map[string]string{
	"name": "recipe", "average": "ema", "diceweight": "dice", "nossim": "cross-entropy", "phases": "phases (or side and epochs)",
	"turns": "orientation quarters", "upright": "orientation upright", "pieces": "single-pieces",
}

// choices returns the values in a fingerprint that are set, by name: NAME=VALUE, and within the
// recipe Name:VALUE.
func choices(fingerprint string) map[string]string {
	out, name, from := map[string]string{}, "", 0 // the choice before, and where its value begins
	keep := func(end int) {
		value := strings.TrimRight(fingerprint[from:end], "}")
		if name == "phases" { // as in the flag: [{64 2} {128 1}] is 64:2,128:1
			value = strings.NewReplacer("[{", "", "} {", ",", "}]", "", " ", ":").Replace(value)
		}
		if name != "" && value != "0" && value != "false" {
			out[name] = value
		}
	}
	other := func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for i := range fingerprint {
		if i > 0 && fingerprint[i-1] != ' ' && fingerprint[i-1] != '{' {
			continue
		}
		if n := strings.IndexFunc(fingerprint[i:], other); n > 0 && (fingerprint[i+n] == '=' || fingerprint[i+n] == ':') {
			keep(max(0, i-1))
			name, from = strings.ToLower(fingerprint[i:i+n]), i+n+1
		}
	}
	keep(len(fingerprint))
	return out
}
