import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type LaunchOptions } from 'playwright-core';
import { temporaryDirectory } from './programs.ts';
import type { Scope } from './scope.ts';

/** Uses a seventh of the CPU time of the full browser to open a window. */
const SHELL = '/usr/bin/chromium-headless-shell';
/** Debian's Chromium. It has the same major version as the one in Electron. */
export const CHROMIUM = process.env['CULVERT_CHROMIUM'] ?? (existsSync(SHELL) ? SHELL : '/usr/bin/chromium');

/** Starts Chromium without a window; ends with the scope. For it, `*.localhost` is this machine. */
export async function startBrowser(scope: Scope, options: LaunchOptions = {}): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    // The sandbox of Chromium needs privileges that containers do not have. The pages are our own.
    chromiumSandbox: false,
    timeout: 180_000,
    ...options,
  });
  scope.defer(() => browser.close());
  return browser;
}

/**
 * Starts Chromium on a machine whose certificate store trusts another authority. No certificate error is ignored.
 *
 * @param root the authority's certificate, PEM; added with Debian's `certutil`
 * @param address that all names below `test` resolve to
 * @param executablePath its program
 */
export async function launchTrustingBrowser(
  scope: Scope,
  root: string,
  address: string,
  executablePath = CHROMIUM,
): Promise<Browser> {
  const home = temporaryDirectory(scope);
  const store = join(home, '.pki', 'nssdb');
  mkdirSync(store, { recursive: true });
  writeFileSync(join(home, 'root.pem'), root);
  const database = ['-d', `sql:${store}`];
  execFileSync('certutil', ['-N', '--empty-password', ...database]);
  execFileSync('certutil', ['-A', ...database, '-t', 'C,,', '-n', 'authority', '-i', join(home, 'root.pem')]);
  return await startBrowser(scope, {
    executablePath,
    args: [`--host-resolver-rules=MAP *.test ${address}`],
    env: { ...process.env, HOME: home },
  });
}
