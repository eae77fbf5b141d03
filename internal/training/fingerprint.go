package training

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"mrprism/model"
)

// fingerprint names every choice that a resumed run must share with the run that wrote the checkpoint; what the version of the program decides, as how
// far views stray, is not among them, and the user is told where that is another. What was added to it later is left out where
// it is as it was before, so that older checkpoints are still resumed.
func (o Options) fingerprint() string {
	recipe := fmt.Sprintf("%+v", o.Recipe)
	for _, asBefore := range []string{"DiceWeight:0 ", "NoSSIM:false "} {
		recipe = strings.Replace(recipe, asBefore, "", 1)
	}
	text := fmt.Sprintf("config=%s recipe=%s phases=%v batch=%d seed=%d anchor=%s data=%s",
		o.Config, recipe, o.Phases, o.Batch, o.Seed, o.Anchor, strings.Join(o.Data, ","))
	if o.Warmup != 0 {
		text += fmt.Sprintf(" warmup=%d", o.Warmup)
	}
	if o.accumulate() > 1 {
		text += fmt.Sprintf(" accumulate=%d", o.Accumulate)
	}
	if o.Clip != 0 {
		text += fmt.Sprintf(" clip=%v", o.Clip)
	}
	if o.Standardise {
		text += " standardise=true"
	}
	if o.SinglePieces {
		text += " pieces=single"
	}
	if o.AnyOrientation {
		text += " orientation=any"
	}
	if o.Elastic != 0 {
		text += fmt.Sprintf(" elastic=%v", o.Elastic)
	}
	if o.Grain != 0 {
		text += fmt.Sprintf(" grain=%v", o.Grain)
	}
	if o.Swell != 0 {
		text += fmt.Sprintf(" swell=%v", o.Swell)
	}
	if len(o.Also) > 0 {
		text += fmt.Sprintf(" also=%s", strings.Join(o.Also, ","))
	}
	if o.Turns {
		text += " turns=true"
	}
	if o.Away != 0 {
		text += fmt.Sprintf(" away=%v", o.Away)
	}
	if o.Distract != 0 {
		text += fmt.Sprintf(" distract=%v", o.Distract)
	}
	if o.Precision == model.F16 {
		text += " precision=f16"
	}
	if o.Validate != 0 {
		text += fmt.Sprintf(" validate=%v", o.Validate)
	}
	if o.Fold.Of != 0 {
		text += fmt.Sprintf(" fold=%v", o.Fold)
	}
	return text
}

// differences says, a line each, in what two fingerprints differ.
func differences(then, now string) string {
	had, has := choices(then), choices(now)
	all := maps.Clone(had)
	maps.Copy(all, has)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if had[name] != has[name] {
			lines = append(lines, fmt.Sprintf("  %s: then %q, now %q", cmp.Or(spoken[name], name), had[name], has[name]))
		}
	}
	return strings.Join(lines, "\n")
}

// spoken are a fingerprint's names of choices where users know them by others.
var spoken = map[string]string{"name": "recipe", "average": "ema", "diceweight": "dice", "nossim": "cross-entropy", "phases": "phases (or side and epochs)", "orientation": "any-orientation", "pieces": "single-pieces"}

// choice is where the value of a fingerprint's choice begins: NAME=VALUE, and within the recipe Name:VALUE.
var choice = regexp.MustCompile(`(?:^| |\{)(\w+)[=:]`)

// choices takes a fingerprint apart.
func choices(fingerprint string) map[string]string {
	out := map[string]string{}
	at := choice.FindAllStringSubmatchIndex(fingerprint, -1)
	for i, m := range at {
		end := len(fingerprint)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name, value := strings.ToLower(fingerprint[m[2]:m[3]]), strings.TrimRight(fingerprint[m[1]:end], "}")
		if name == "phases" { // as they are given: [{64 2} {128 1}] is 64:2,128:1
			value = strings.NewReplacer("[{", "", "} {", ",", "}]", "", " ", ":").Replace(value)
		}
		out[name] = value
	}
	return out
}
