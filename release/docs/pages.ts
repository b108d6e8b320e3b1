/** Every generated page, from the root of the repository, and what makes it. */
import { limitsPage } from './limits-page.ts';

export const GENERATED: Readonly<Record<string, () => Promise<string>>> = {
  'docs/limits.md': limitsPage,
};
