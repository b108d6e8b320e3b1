import assert from 'node:assert/strict';
import type { NativeImage } from 'electron';
import { barColour, trayImages } from './tray-images.ts';

const pathOf = (image: NativeImage): string => (image as unknown as { path: string }).path;

describe('trayImages', () => {
  it('are for the colour of the bar, and a template on macOS', () => {
    const templates: boolean[] = [];
    const load = (path: string): NativeImage =>
      ({ path, setTemplateImage: (is: boolean) => void templates.push(is) }) as unknown as NativeImage;
    assert.equal(pathOf(trayImages('/a', 'linux', () => true, load)('idle')), '/a/tray-idle-dark.png');
    assert.equal(pathOf(trayImages('/a', 'win32', () => false, load)('online')), '/a/tray-online-light.png');
    assert.equal(
      pathOf(trayImages('/a', 'darwin', () => true, load)('offline')),
      '/a/tray-offline-light.png',
    );
    assert.deepEqual(templates, [true]);
  });
});

const theme = (app: boolean, bar: boolean) => ({
  shouldUseDarkColors: app,
  shouldUseDarkColorsForSystemIntegratedUI: bar,
  themeSource: 'system' as 'system' | 'light' | 'dark',
});

describe('barColour', () => {
  it('is what Windows says of its bar, whatever theme the app has', () => {
    assert.equal(barColour(theme(false, true), 'win32', '')(), true);
    assert.equal(barColour(theme(true, false), 'win32', '')(), false);
  });

  it('is dark on Linux', () => {
    assert.equal(barColour(theme(false, false), 'linux', 'ubuntu:GNOME')(), true);
    assert.equal(barColour(theme(false, false), 'linux', '')(), true);
  });

  it("is the desktop's on KDE, also while the app has a theme of its own", () => {
    const plasma = theme(false, false);
    const isDark = barColour(plasma, 'linux', 'KDE');
    assert.equal(isDark(), false);
    plasma.themeSource = 'dark';
    plasma.shouldUseDarkColors = true;
    assert.equal(isDark(), false);
    plasma.themeSource = 'system';
    assert.equal(isDark(), true);
  });
});
