package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"mrprism/internal/compute/gpu/chromium"
)

// kiosk keeps a browser open at an address, full-screen.
type kiosk struct {
	browser, address string
	flags            []string // of the user
	log              io.Writer
	wait             func(ctx context.Context, d time.Duration) // until a new start
}

// screen is the kiosk of the options; nil without -kiosk.
func (o *options) screen(log io.Writer) (*kiosk, error) {
	if !o.kiosk {
		return nil, nil
	}
	browser, err := chromium.Find()
	if err != nil {
		return nil, fmt.Errorf("-kiosk: %w; %s=PROGRAM names another browser of its kind", err, chromium.Variable)
	}
	return &kiosk{browser: browser, flags: strings.Fields(o.browserFlags), log: log, wait: sleep}, nil
}

// trust makes the browser take a certificate that no authority signed.
func (k *kiosk) trust(pair tls.Certificate) {
	if k != nil {
		k.flags = append(k.flags, "--ignore-certificate-errors-spki-list="+keyHash(pair))
	}
}

// show runs the browser at an address until ctx ends. The channel closes when the browser has ended;
// at once without a kiosk.
func (k *kiosk) show(ctx context.Context, address string) (closed chan struct{}) {
	closed = make(chan struct{})
	if k == nil {
		close(closed)
		return closed
	}
	k.address = address
	go func() {
		defer close(closed)
		k.run(ctx)
	}()
	return closed
}

const (
	shortest = time.Second      // from the end of a browser to its next start
	longest  = 30 * time.Second // the same, after several that ended at once
	settled  = time.Minute      // a browser that ran this long started well
)

// run starts the browser, and starts it again when it ends, until ctx ends. Each start has a fresh
// profile, which is removed: nothing of one session is there in the next.
func (k *kiosk) run(ctx context.Context) {
	pause := shortest
	for {
		began := time.Now()
		err := k.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= settled {
			pause = shortest
		}
		fmt.Fprintf(k.log, "the browser ended (%v); starting it again in %v\n", err, pause)
		k.wait(ctx, pause)
		if ctx.Err() != nil {
			return
		}
		pause = min(2*pause, longest)
	}
}

// session runs the browser once.
func (k *kiosk) session(ctx context.Context) error {
	profile, err := os.MkdirTemp("", "mrprism-kiosk-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(profile)
	c := exec.CommandContext(ctx, k.browser, k.arguments(profile)...)
	c.WaitDelay = 5 * time.Second
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	if runtime.GOOS == "windows" {
		c.Cancel = nil // no interrupts there: the process is killed
	}
	if err := c.Run(); err != nil {
		return err
	}
	return errors.New("it was closed")
}

// arguments are the browser's flags. Chrome asks nobody anything, reports nothing, and computes on
// Linux on the graphics card.
func (k *kiosk) arguments(profile string) []string {
	flags := []string{
		"--kiosk", "--user-data-dir=" + profile, "--no-first-run", "--no-default-browser-check", "--noerrdialogs",
		"--disable-session-crashed-bubble", "--disable-features=Translate", "--overscroll-history-navigation=0",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--password-store=basic",
	}
	if runtime.GOOS == "linux" {
		flags = append(flags, "--enable-unsafe-webgpu", "--enable-features=Vulkan")
	}
	return append(append(flags, k.flags...), k.address)
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
