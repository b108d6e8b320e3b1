import type { Page } from 'playwright-core';
import type { ScriptedMain } from '../support/scripted-main.ts';

/** The time on every screen, so that the pictures are always the same. */
export const NOW = Date.UTC(2026, 10, 21, 10, 30);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

export interface Scene {
  readonly name: string;
  /** what the picture shows, for people who cannot see it */
  readonly alt: string;
  readonly main: () => ScriptedMain;
  /** leads from the main list to the screen */
  readonly go?: (page: Page) => Promise<void>;
}
