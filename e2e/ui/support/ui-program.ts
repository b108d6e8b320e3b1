/** The program `culvert ui`, and a browser of its user. */
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Child } from '../../support/child.ts';
import { spawnCulvert } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { newContext, watchPage, WINDOW_SIZE } from './app-window.ts';

/** A running `culvert ui`. */
export interface UiProgram {
  readonly child: Child;
  /** opens the window, once */
  readonly link: string;
  readonly origin: string;
}

/** Starts `culvert ui`. @param home for its files */
export async function startUi(scope: Scope, home: string, args: readonly string[] = []): Promise<UiProgram> {
  const child = spawnCulvert(scope, ['ui', '--port', '0', '--no-open', ...args], uiEnvironment(home));
  const link = await child.line((line) => /^http:\S+$/.exec(line)?.[0]);
  return { child, link, origin: new URL(link).origin };
}

export function uiEnvironment(home: string): Record<string, string> {
  return { HOME: home, XDG_CONFIG_HOME: join(home, 'config'), APPDATA: home, LANG: 'en_US.UTF-8' };
}

/** Where `culvert ui` stores its files. */
export function uiFolder(home: string): string {
  return join(home, 'config', 'Culvert');
}

/** A context of its own, as a person's browser is. */
export async function newProfile(scope: Scope, browser: Browser): Promise<BrowserContext> {
  const context = await newContext(browser, { viewport: WINDOW_SIZE, reducedMotion: 'reduce' });
  scope.defer(() => context.close());
  return context;
}

/** Opens the window in it. Errors that it logs fail the end of the scope. */
export async function openLink(
  scope: Scope,
  context: BrowserContext,
  link: string,
  expected?: RegExp,
): Promise<Page> {
  const page = await context.newPage();
  watchPage(scope, page, expected);
  await page.goto(link);
  return page;
}
