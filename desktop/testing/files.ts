import assert from 'node:assert/strict';
import type { Files } from '../cli/command.ts';

/** A signed-out machine, in a folder without a `culvert.yml`. */
export const NO_FILES: Files = {
  readLogin: () => undefined,
  readProject: () => assert.fail('nobody asked for culvert.yml'),
};
