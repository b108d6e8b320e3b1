import assert from 'node:assert/strict';
import type { NativeImage } from 'electron';
import { trayImages } from './tray-images.ts';

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
