/** All generated pages by path, with the functions that generate them. */
import { limitsPage } from './limits-page.ts';

export const GENERATED: Readonly<Record<string, () => Promise<string>>> = {
  'docs/limits.md': limitsPage,
};
