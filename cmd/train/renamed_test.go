//go:build !js

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mrprism/internal/program/cli"
	"mrprism/internal/train"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Runs go on that versions since 21 November 2026 began, under the names that recipes had then. The
// texts are from checkpoints that those versions wrote.
func TestRunsOfEarlierVersionsGoOn(t *testing.T) {
	const (
		steered = "Recurrences:2 Rule:likelihood Permutations:2 Draws:1 ShuffleWeight:0.3 HeadsWeight:1 FadeWeight:1 FadeFloor:0.5 Threshold:false FuseLoss:true Levels:false Steered:true FixedStart:false"
		paper   = "Recurrences:3 Rule:code Permutations:3 Draws:0 ShuffleWeight:0.3 HeadsWeight:0 FadeWeight:0 FadeFloor:0 Threshold:true FuseLoss:true Levels:false Steered:false FixedStart:false"
		once    = "Recurrences:1 Rule:mean Permutations:0 Draws:0 ShuffleWeight:0.3 HeadsWeight:0 FadeWeight:1 FadeFloor:0.5 Threshold:false FuseLoss:false Levels:false Steered:false FixedStart:true"
		bce     = "Recurrences:1 Rule:mean Permutations:0 Draws:0 ShuffleWeight:0.3 HeadsWeight:0 FadeWeight:1 FadeFloor:1 NoSSIM:true Threshold:false FuseLoss:false Levels:false Steered:false FixedStart:true"
		heads   = "Recurrences:1 Rule:mean Permutations:0 Draws:0 ShuffleWeight:0.3 HeadsWeight:1 FadeWeight:1 FadeFloor:1 NoSSIM:true Threshold:false FuseLoss:false Levels:false Steered:false FixedStart:true Settles:2"
		fitted  = " Rate:0.002 Constant:false Decay:0 Average:0.98"
	)
	of21 := func(text string) string { return strings.Replace(text, " Threshold", " NoSSIM:false Threshold", 1) } // the version of 21 November
	data := writeData(t, 5)
	runs := map[string]string{} // of today, by arguments
	for _, c := range []struct{ then, now, text string }{
		{"default", "steered", of21(steered) + fitted},
		{"default", "steered", steered + fitted},
		{"recurrent", "steered", steered + fitted},
		{"recurrent", "steered -slots levels", "Recurrences:2 Rule:mean Permutations:0 Draws:0 ShuffleWeight:0.3 HeadsWeight:1 FadeWeight:1 FadeFloor:0.5 Threshold:false FuseLoss:false Levels:true Steered:false FixedStart:true" + fitted},
		{"unsteered", "unsteered", of21(strings.Replace(steered, "Steered:true", "Steered:false", 1)) + fitted},
		{"unsteered", "unsteered", strings.Replace(steered, "Steered:true", "Steered:false", 1) + fitted},
		{"alternating", "recurrent -dice 0", "Recurrences:3 Rule:code Permutations:0 Draws:0 ShuffleWeight:0 HeadsWeight:0 FadeWeight:1 FadeFloor:1 NoSSIM:true Threshold:false FuseLoss:true Levels:false Steered:false Integration:concat FixedStart:false" + fitted},
		{"paper", "paper", of21(paper) + " Rate:0.0001 Constant:true Decay:0 Average:0"},
		{"paper", "paper", paper + " Rate:0.0001 Constant:true Decay:0 Average:0"},
		{"baseline", "baseline", of21(once) + fitted},
		{"baseline", "baseline", once + fitted},
		{"one-pass", "one-pass", strings.Replace(strings.Replace(once, "Steered:false", "Steered:true", 1), "mean", "likelihood", 1) + fitted},
		{"bce", "bce", bce + fitted},
		{"default", "default -dice 0", heads + " MaskFirst:0.6" + fitted},
		{"default", "default", strings.Replace(heads, "NoSSIM", "DiceWeight:1 NoSSIM", 1) + " MaskFirst:0.6" + fitted},
		{"evidence", "evidence", heads + " Frozen:true" + fitted},
	} {
		about := c.then + ", now " + c.now
		if runs[c.now] == "" {
			out := filepath.Join(t.TempDir(), "run")
			args := append(strings.Fields("-recipe "+c.now), "-hours", "1e-9")
			if c.now == "evidence" {
				args = append(args, "-init", filepath.Join(runs["unsteered"], "eyes.f32.safetensors"))
			}
			code, _, stderr := invoke(t.Context(), arguments(data, out, "1", args...)...)
			require.Equal(t, cli.Done, code, stderr)
			runs[c.now] = out
		}
		out := filepath.Join(t.TempDir(), "run")
		require.NoError(t, os.CopyFS(out, os.DirFS(runs[c.now])))
		path := filepath.Join(out, train.Checkpoint)
		file, err := weights.Decode(readFile(t, path))
		require.NoError(t, err)
		before := file.Metadata["options"]
		file.Metadata["options"] = regexp.MustCompile(`recipe=\{[^}]*\}`).ReplaceAllLiteralString(before, "recipe={Name:"+c.then+" "+c.text+"}")
		require.NotEqual(t, before, file.Metadata["options"])
		delete(file.Metadata, "content")
		file.Seal()
		content, err := file.Encode()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, content, 0o644))
		flags := filepath.Join(out, configurationName)
		text := regexp.MustCompile(`(?m)^recipe: .*$`).ReplaceAll(readFile(t, flags), []byte("recipe: "+c.then))
		require.NoError(t, os.WriteFile(flags, text, 0o644))

		for _, steps := range []string{"2 of 2, 1 of them now", "2 steps, 2 done"} { // and once more
			code, _, stderr := invoke(t.Context(), "-with", out, "-resume", "-out", out, "-hours", "0")
			require.Equal(t, cli.Done, code, "%s: %s", about, stderr)
			assert.Contains(t, stderr, steps, about)
		}
		if now, _, _ := strings.Cut(c.now, " "); now != c.then { // as a new run, too
			other := filepath.Join(t.TempDir(), "run")
			code, _, stderr := invoke(t.Context(), "-with", out, "-out", other, "-rate", "0.001")
			require.Equal(t, cli.Done, code, "%s: %s", about, stderr)
			assert.Contains(t, string(readFile(t, other, configurationName)), "\nrecipe: "+now+"\n", about)
		}
	}
}
