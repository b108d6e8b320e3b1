import { join } from 'node:path';
import type { NativeImage } from 'electron';
import type { TrayIcon } from '../tray/tray-model.ts';

/**
 * macOS colours a template image itself; elsewhere there is one for light bars and one for dark bars.
 *
 * @param directory of the images; Electron finds the `@2x` beside each by itself
 */
export function trayImages(
  directory: string,
  platform: NodeJS.Platform,
  isDark: () => boolean,
  load: (path: string) => NativeImage,
): (icon: TrayIcon) => NativeImage {
  return (icon) => {
    if (platform !== 'darwin')
      return load(join(directory, `tray-${icon}-${isDark() ? 'dark' : 'light'}.png`));
    const image = load(join(directory, `tray-${icon}-light.png`));
    image.setTemplateImage(true);
    return image;
  };
}
