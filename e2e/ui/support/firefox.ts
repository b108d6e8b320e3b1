/** Debian's Firefox for the window tests. */
import { writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { type Browser, type BrowserContextOptions, firefox } from 'playwright-core';
import { temporaryDirectory } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';

/** Read by firefox-program.ts. */
const MEDIA_FILE = 'media.json';

const PREFERENCES = {
  // A mouse, which a machine without a screen lacks: fine, and hovers.
  'ui.primaryPointerCapabilities': 6,
  'ui.allPointerCapabilities': 6,
  // Processes that stand ready for further pages cost CPU time.
  'dom.ipc.processPrelaunch.enabled': false,
};

type Media = Pick<BrowserContextOptions, 'colorScheme' | 'forcedColors' | 'reducedMotion'>;

/** Starts Firefox without a window; ends with the scope. */
export async function startFirefox(scope: Scope): Promise<Browser> {
  // Firefox also writes outside of its profile.
  const home = temporaryDirectory(scope);
  const browser = await firefox.launch({
    // Drives it over WebDriver BiDi instead of a protocol that only Playwright's own build has.
    channel: 'moz-firefox',
    executablePath: join(import.meta.dirname, 'firefox-program.ts'),
    firefoxUserPrefs: PREFERENCES,
    env: {
      ...process.env,
      // That program runs in the Node.js that runs the tests.
      PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
      HOME: home,
    },
    timeout: 180_000,
  });
  scope.defer(() => browser.close());
  emulateMedia(browser, join(home, MEDIA_FILE));
  return browser;
}

/** Makes pages emulate also the media features that Playwright does not send to Firefox. */
function emulateMedia(browser: Browser, file: string): void {
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options = {}) => {
    const context = await newContext(options);
    const newPage = context.newPage.bind(context);
    context.newPage = async () => {
      const page = await newPage();
      const emulate = page.emulateMedia.bind(page);
      const { colorScheme = 'light', forcedColors = 'none', reducedMotion = 'no-preference' } = options;
      let media: Media = { colorScheme, forcedColors, reducedMotion };
      page.emulateMedia = async (changed = {}) => {
        media = { ...media, ...(changed as Media) };
        writeFileSync(file, JSON.stringify(media));
        await emulate({ colorScheme: media.colorScheme ?? null });
      };
      await page.emulateMedia();
      return page;
    };
    return context;
  };
}
