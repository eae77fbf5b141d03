package site

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestScreenshotsOfTheList writes what people see of a list, as TestScreenshots does. If MRPRISM_AXE
// names the script of axe, it looks for what keeps people from using it.
func TestScreenshotsOfTheList(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("MRPRISM_SCREENSHOTS")
	if folder == "" {
		t.Skip("MRPRISM_SCREENSHOTS names no folder")
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	axe, _ := os.ReadFile(os.Getenv("MRPRISM_AXE"))
	p := open(t, mock(t, nil), 1440, 900)
	p.ready()
	p.saving()
	names := []string{"right-2026-11-24-0001.png", "left-2026-11-24-0002.png", "odd-2026-11-24-with-a-long-name-0003.png", "notes.txt", "nodisc-5.png"}
	for _, n := range []string{"6", "7", "8", "9", "10", "11", "12"} {
		names = append(names, "eye "+n+".png")
	}
	_, paths := folderOf(t, append(names, "slow-13.png", "slow-14.png")...)
	p.upload("file", paths...)
	p.said("eye 12.png", "done")
	p.click("work-pause")
	p.press("a", false)
	p.press("n", false)
	p.press("n", false)
	p.onStage(names[2])
	p.press("x", false)
	p.pick("eye 7.png")
	p.onStage("eye 7.png")
	p.click("correct-start")
	p.press(" ", false)
	p.said("eye 7.png", "corrected")
	p.press("Escape", false)
	p.click("session-keep")
	p.drop("other.mrprism", repacked(t, p.sessionOf(), func(s map[string]any) { // two versions of the image on the stage, and one image that is not there
		s["readings"].([]any)[6].(map[string]any)["review"] = "rejected"
		s["readings"].([]any)[5].(map[string]any)["image"].(map[string]any)["sha256"] = strings.Repeat("ab", 32)
	}))
	p.said("eye 7.png", "two versions")
	p.until(`document.getElementById("session-line").textContent.includes("Kept in this browser")`)
	for _, size := range []struct {
		name          string
		width, height int64
	}{{"desk", 1440, 900}, {"small", 1024, 768}, {"phone", 390, 844}} {
		p.run(chromedp.EmulateViewport(size.width, size.height))
		for _, theme := range []string{"light", "dark"} {
			p.run(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}))
			for _, state := range []string{"unfolded", "folded"} {
				p.still()
				p.shot(filepath.Join(folder, "list-"+size.name+"-"+theme+"-"+state+".png"))
				if axe != nil {
					violations := get[[]string](p, string(axe)+`; axe.run({ exclude: [["#language"]] }, { resultTypes: ["violations"] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 160)).join(" | ")))`)
					t.Log(size.name, theme, state, "axe:", violations)
					require.Empty(t, violations)
				}
				p.click("work-open")
			}
		}
	}
	p.clean()
}
