/** Programs to install: the page, the scripts and the files, at the relay's own address. Nobody needs a key. */
import { finished, pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import type { Router } from '@koa/router';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { escapeHtml, page } from '../../shared/page.ts';
import { networkOf } from '../address-network.ts';
import { type Downloads, type System, SYSTEMS } from '../downloads/downloads.ts';
import { powerShellScript, shellScript, UNIX_FOLDER } from '../downloads/install-scripts.ts';
import { Turnstile } from '../turnstile.ts';
import type { ApiContext, ApiState } from './guards.ts';
import { respondWithPage, wantsPage } from './pages.ts';
import { type ApiDeps, idOf } from './route.ts';

/**
 * Maximum number of programs that a relay sends at the same time.
 * @limit operator: Simultaneous downloads of a program | 429 `rate-limited`
 */
export const DOWNLOADS_MAX = 32;
/**
 * Maximum number of programs that a relay sends to one visitor address at the same time.
 * @limit operator: Simultaneous downloads of a program from one IP address | 429 `rate-limited`
 */
export const ADDRESS_DOWNLOADS_MAX = 4;
/** Seconds after which a download may find a place. */
const RETRY_AFTER_SECONDS = 10;

const whenFinished = promisify(finished);

/**
 * The lines that install Culvert.
 *
 * @param systems that there is a program for
 * @param token of an invitation that they also accept
 */
export function installLines(
  systems: readonly System[],
  origin: string,
  token?: string,
): { readonly unix?: string; readonly windows?: string } {
  const script = `irm ${origin}/install.ps1`;
  return {
    ...(systems.some((system) => !system.startsWith('windows')) && {
      unix: `curl -fsSL ${origin}/install.sh | sh${token === undefined ? '' : ` -s -- ${token}`}`,
    }),
    ...(systems.includes('windows-x64') && {
      windows: token === undefined ? `${script} | iex` : `& ([scriptblock]::Create((${script}))) ${token}`,
    }),
  };
}

/** Adds them to the relay's own pages, which the OpenAPI document leaves out. */
export function addDownloads(
  router: Router<ApiState>,
  downloads: Downloads,
  { addresses, contact }: Pick<ApiDeps, 'addresses' | 'contact'>,
): void {
  const { origin } = addresses.publicUrl;
  const places = new Turnstile({ atOnce: { all: DOWNLOADS_MAX, group: ADDRESS_DOWNLOADS_MAX } });

  /** @throws ApiError 404 if there is nothing to install */
  async function offered(): Promise<System[]> {
    const systems = await downloads.systems();
    if (systems.length === 0) throw new ApiError(API_ERRORS.notFound);
    return systems;
  }

  router.get('/install', async function showInstall(ctx: ApiContext): Promise<void> {
    const systems = await offered();
    if (wantsPage(ctx)) return respondWithPage(ctx, 200, installPage(systems, origin, contact));
    const lines = Object.values(installLines(systems, origin));
    respondWithText(ctx, `${lines.join('\n')}\n`);
  });

  for (const [path, script] of [
    ['/install.sh', shellScript],
    ['/install.ps1', powerShellScript],
  ] as const)
    router.get(path, async function sendScript(ctx: ApiContext): Promise<void> {
      await offered();
      respondWithText(ctx, script(origin));
    });

  router.get('/download/culvert-:system.sha256', async function sendDigest(ctx: ApiContext): Promise<void> {
    const system = idOf(ctx);
    const digest = await downloads.digest(system);
    if (digest === undefined) throw new ApiError(API_ERRORS.notFound);
    respondWithText(ctx, `${digest}  culvert-${system}\n`);
  });

  router.get('/download/culvert-:system', async function sendProgram(ctx: ApiContext): Promise<void> {
    const system = idOf(ctx);
    const address = ctx.req.headers['x-forwarded-for']?.toString() ?? '';
    const sent = Promise.withResolvers<void>();
    const place = places.runNow(networkOf(address), () => sent.promise);
    if (place === undefined)
      throw new ApiError(API_ERRORS.rateLimited, { 'Retry-After': String(RETRY_AFTER_SECONDS) });
    const free = (): void => sent.resolve();
    whenFinished(ctx.res).then(free, free);
    const download = await downloads.open(system);
    if (download === undefined) throw new ApiError(API_ERRORS.notFound);
    const { file, size } = download;
    const name = system.startsWith('windows') ? 'culvert.exe' : 'culvert';
    ctx.set({
      'Content-Type': 'application/octet-stream',
      'Content-Disposition': `attachment; filename="${name}"`,
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      Vary: 'Accept-Encoding',
    });
    const compressed = file.createReadStream();
    if (ctx.acceptsEncodings('gzip', 'identity') === 'gzip') {
      ctx.set('Content-Encoding', 'gzip');
      ctx.length = size;
      ctx.body = compressed;
    } else ctx.body = pipeline(compressed, createGunzip(), () => {});
  });
}

function respondWithText(ctx: ApiContext, text: string): void {
  ctx.type = 'text/plain; charset=utf-8';
  ctx.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
  ctx.body = text;
}

function installPage(systems: readonly System[], origin: string, contact: string | undefined): string {
  const { unix, windows } = installLines(systems, origin);
  const files = systems.map(
    (system) =>
      `<li><a href="/download/culvert-${system}">${SYSTEMS[system]}</a>, <a href="/download/culvert-${system}.sha256">SHA-256</a></li>`,
  );
  return page(
    'Install Culvert',
    [
      '<p>Culvert gives a server on your computer a public address. It is one file, for you alone, and needs no administrator rights.</p>',
      unix === undefined
        ? ''
        : `<p>On Linux and macOS, run this in a terminal. It puts <code>culvert</code> into <code>${UNIX_FOLDER}</code>:</p>\n<p><code>${escapeHtml(unix)}</code></p>`,
      windows === undefined
        ? ''
        : `<p>On Windows, run this in PowerShell:</p>\n<p><code>${escapeHtml(windows)}</code></p>`,
      `<p>If you have an invitation, open its address instead: it shows a line that also signs you in.</p>`,
      `<p>Or download the program yourself:</p>\n<ul>\n${files.join('\n')}\n</ul>`,
    ]
      .filter((part) => part !== '')
      .join('\n'),
    undefined,
    contact,
  );
}
