/** Every generated page, with the function that generates it. */
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { ROOT } from '../repository.ts';
import { culvertPage } from './culvert-page.ts';
import { errorsPage } from './errors-page.ts';
import { exitCodesPage } from './exit-codes-page.ts';
import { limitsPage } from './limits-page.ts';
import { logEventsPage, metricsPage } from './monitoring-pages.ts';
import { projectPage } from './project-page.ts';
import { culvertRelayPage, settingsPage } from './relay-page.ts';
import { restPage } from './rest-page.ts';
import { shortcutsPage } from './shortcuts-page.ts';

const PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
  'docs/reference/culvert.md': culvertPage,
  'docs/reference/culvert-relay.md': culvertRelayPage,
  'docs/reference/culvert-yml.md': projectPage,
  'docs/reference/errors.md': errorsPage,
  'docs/reference/exit-codes.md': exitCodesPage,
  'docs/reference/limits.md': limitsPage,
  'docs/reference/log-events.md': logEventsPage,
  'docs/reference/metrics.md': metricsPage,
  'docs/reference/rest.md': restPage,
  'docs/reference/settings.md': settingsPage,
  'docs/reference/shortcuts.md': shortcutsPage,
};

export const GENERATED: readonly string[] = Object.keys(PAGES);

/** @returns the text of a generated page, formatted */
export async function generate(path: string): Promise<string> {
  const make = PAGES[path];
  if (make === undefined) throw new Error(`${path} is not generated`);
  const options = await resolveConfig(join(ROOT, path));
  return await format(await make(), { ...options, parser: 'markdown' });
}
