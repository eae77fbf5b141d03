package site

import (
	"testing"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	devpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// phone makes the page that of a telephone: touched, and as narrow.
func (p *page) phone() {
	p.t.Helper()
	p.run(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch),
		command(emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true}))
	p.until(`matchMedia("(pointer: coarse)").matches && innerWidth === 390`)
}

// choosing answers the browser's file dialogs with files, one after the other.
func (p *page) choosing(files ...string) {
	p.t.Helper()
	p.run(command(devpage.SetInterceptFileChooserDialog, devpage.SetInterceptFileChooserDialogParams{Enabled: true}))
	require.NoError(p.t, chromedp.Listen(p.ctx, func(event any) {
		opened, ok := event.(*devpage.EventFileChooserOpened)
		if !ok || len(files) == 0 {
			return
		}
		chosen := dom.SetFileInputFilesParams{Files: files[:1], BackendNodeID: opened.BackendNodeID}
		files = files[1:]
		go chromedp.Do(p.ctx, command(dom.SetFileInputFiles, chosen))
	}))
}

// On a phone a picture of the camera is an image like any other. One more makes a list of both.
func TestCamera(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	assert.False(t, get[bool](p, `document.querySelector("[data-action=camera]").checkVisibility()`), "no camera where a mouse points")
	p.phone()
	assert.Equal(t, []string{"image/*", "environment"}, get[[]string](p, `["accept", "capture"].map((name) => document.getElementById("camera").getAttribute(name))`))
	assert.GreaterOrEqual(t, get[float64](p, `document.querySelector("[data-action=camera]").getBoundingClientRect().height`), 44.)
	_, taken := folderOf(t, "IMG_1.jpg", "IMG_2.jpg")
	p.choosing(taken...)
	p.tap(`[data-action=camera]`)
	p.onStage("IMG_1.jpg")
	assert.False(t, p.visible("worklist"), "one image is no list")
	p.tap(`#panel [data-action=camera]`)
	p.onStage("IMG_2.jpg")
	assert.True(t, p.visible("worklist"))
	p.said("IMG_1.jpg", "done")
	p.clean()
}
