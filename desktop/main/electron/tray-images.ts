import { join } from 'node:path';
import type { NativeImage, NativeTheme } from 'electron';
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

type Theme = Pick<
  NativeTheme,
  'shouldUseDarkColors' | 'shouldUseDarkColorsForSystemIntegratedUI' | 'themeSource'
>;

/** Desktops on Linux whose bar has the colour of their windows; the bars of the others are dark. */
const BAR_LIKE_WINDOWS: ReadonlySet<string> = new Set(['KDE', 'LXQt']);

/**
 * Whether the bar with the tray is dark. The theme that was chosen for the app's own window says nothing about that.
 *
 * @param desktops `$XDG_CURRENT_DESKTOP`: names with colons between them
 */
export function barColour(theme: Theme, platform: NodeJS.Platform, desktops: string): () => boolean {
  if (platform !== 'linux') return () => theme.shouldUseDarkColorsForSystemIntegratedUI;
  if (!desktops.split(':').some((desktop) => BAR_LIKE_WINDOWS.has(desktop))) return () => true;
  // While the app has a theme of its own, Electron does not say what the desktop's is.
  let isDark = theme.shouldUseDarkColors;
  return () => {
    if (theme.themeSource === 'system') isDark = theme.shouldUseDarkColors;
    return isDark;
  };
}
