package site

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A kiosk's page closes what the last person opened, once nobody touches it.
func TestIdlePageStartsAnew(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	s.wishes, s.before = "?idle=3600", clockOfIdle
	p := open(t, s, 1200, 800)
	p.ready()
	p.sample()
	p.do(`globalThis.untouched = true, delete globalThis.idle`)
	p.press("ArrowRight", false)
	p.until(`globalThis.idle`) // the hour begins anew
	p.do(`idle()`)
	p.until(`globalThis.untouched === undefined && document.readyState === "complete"`)
	p.ready()
	assert.Empty(t, p.text("file-line"))
	assert.False(t, p.visible("save"))
	p.clean()
}
